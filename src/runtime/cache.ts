/** All that the operator has read, one store a kind, and how fresh it is. Stands behind Source and KubernetesReader. */
import { Clock, Context, Effect, Latch, Layer } from "effect"
import { Forbidden, Rejected, Unavailable } from "../errors.ts"
import type { Kind } from "../kubernetes/access.ts"
import type { Index, Objects } from "../kubernetes/kubernetes.ts"
import { type Change, Source } from "./source.ts"
import { Store } from "./store.ts"

/** Where the reflector of a kind stands. */
export type WatchState =
  /** Not started: nobody asked for this kind. */
  | "unwatched"
  | "listing"
  | "watching"
  /** Between two connections; the next resumes where the last one ended. */
  | "reconnecting"
  /** The server does not serve the kind: its CRD is missing. Asked again every 10 s. */
  | "missing"
  /** The server says no: no right to list or watch, or credentials it does not know. */
  | "refused"

/** One kind's reflector, for readiness, metrics and people. */
export interface WatchStatus {
  readonly state: WatchState
  /** True once a whole list is there. */
  readonly synced: boolean
  /** Milliseconds since the server was heard of this kind; `Infinity` before the first time. */
  readonly silence: number
  /** Why the last connection ended; one line, `""` when there is nothing to say. */
  readonly detail: string
}

/**
 * Milliseconds. Once the watch is lost, its kind may be read for this long. While it stands, a bookmark comes every 60 s
 * (measured on 1.36), and the reflector's own stall guard ends it after 100 s of silence.
 */
export const longestBlindness = 60_000

interface Cached<K extends keyof Objects> {
  readonly store: Store<Objects[K]>
  readonly listeners: Set<(change: Change<K>) => void>
  /** Opens at the first whole list, and when there can be none. */
  readonly settled: Latch.Latch
  state: WatchState
  synced: boolean
  /** Monotonic milliseconds. */
  contact: number
  detail: string
  refusal: Forbidden | Rejected | undefined
}

/** What the reflector of a kind tells. Synchronous: a change is in the cache, and heard of, before the next line is read. */
export interface Sink<K extends keyof Objects> {
  readonly replace: (objects: ReadonlyArray<Objects[K]>, resourceVersion: string) => void
  readonly upsert: (object: Objects[K]) => void
  readonly remove: (object: Objects[K]) => void
  /** The server was heard: a list, an accepted watch, a line, a bookmark. */
  readonly heard: () => void
  readonly enter: (state: WatchState, detail: string, refusal?: Forbidden | Rejected) => void
}

export class Cache extends Context.Service<
  Cache,
  {
    readonly get: <K extends keyof Objects>(
      kind: K,
      namespace: string | undefined,
      name: string,
    ) => Effect.Effect<Objects[K] | undefined, Unavailable>
    readonly list: <K extends keyof Objects>(kind: K, index: Index, value: string) => Effect.Effect<ReadonlyArray<Objects[K]>, Unavailable>
    /** What is held, however old. */
    readonly peek: <K extends keyof Objects>(kind: K, namespace: string | undefined, name: string) => Objects[K] | undefined
    /**
     * Wraps a write of ours: while it is on its way, and until the watch has caught up, its object's changes are told to
     * nobody; then only what others did is.
     */
    readonly during: <A, E, R>(
      kind: Kind,
      namespace: string | undefined,
      name: string,
      write: Effect.Effect<A, E, R>,
    ) => Effect.Effect<A, E, R>
    /** Our own write's response, and the fields that were written; undefined when nothing was. */
    readonly put: <K extends keyof Objects>(kind: K, object: Objects[K], written: unknown) => void
    readonly tombstone: (kind: Kind, namespace: string | undefined, name: string, uid: string) => void
    readonly sink: <K extends keyof Objects>(kind: K) => Sink<K>
    readonly status: (kind: Kind) => WatchStatus
  }
>()("service-operator/runtime/Cache") {
  /** An empty cache, and the Source that tells what enters it. `indexers` say under which values objects are found. */
  static readonly layer = (indexers: Indexers): Layer.Layer<Cache | Source> => Layer.effectContext(make(indexers))
}

export type Indexers = { readonly [K in keyof Objects]: (object: Objects[K]) => ReadonlyArray<readonly [Index, string]> }

type Kinds = { readonly [K in keyof Objects]: Cached<K> }

const make = Effect.fnUntraced(function* (indexers: Indexers) {
  const clock = yield* Clock.Clock
  const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  const cached = <K extends keyof Objects>(kind: K): Cached<K> => ({
    store: new Store<Objects[K]>(indexers[kind]),
    listeners: new Set(),
    settled: Latch.makeUnsafe(false),
    state: "unwatched",
    synced: false,
    contact: Number.NEGATIVE_INFINITY,
    detail: "",
    refusal: undefined,
  })
  const kinds: Kinds = {
    deployment: cached("deployment"),
    cluster: cached("cluster"),
    environment: cached("environment"),
    ReplicaSet: cached("ReplicaSet"),
    Service: cached("Service"),
    EndpointSlice: cached("EndpointSlice"),
    HorizontalPodAutoscaler: cached("HorizontalPodAutoscaler"),
    Namespace: cached("Namespace"),
    ServiceAccount: cached("ServiceAccount"),
    ConfigMap: cached("ConfigMap"),
    ServerService: cached("ServerService"),
    PodDisruptionBudget: cached("PodDisruptionBudget"),
    NetworkPolicy: cached("NetworkPolicy"),
    StatefulSet: cached("StatefulSet"),
    PersistentVolumeClaim: cached("PersistentVolumeClaim"),
    TunnelDeployment: cached("TunnelDeployment"),
    TunnelService: cached("TunnelService"),
    Secret: cached("Secret"),
    Pod: cached("Pod"),
    Event: cached("Event"),
  }
  const of = <K extends keyof Objects>(kind: K): Cached<K> => kinds[kind]

  /** Why the kind must not be read now. */
  const blind = (kind: Kind): string | undefined => {
    const { contact, detail, state, synced } = kinds[kind]
    const why = detail === "" ? "" : ` (${detail})`
    if (state === "unwatched") return `${kind} is not watched`
    if (state === "missing" || state === "refused") return `${kind} cannot be read${why}`
    if (!synced) return `${kind} has not been listed yet${why}`
    const silence = now() - contact
    return state !== "watching" && silence > longestBlindness
      ? `nothing was heard of ${kind} for ${Math.round(silence / 1000)} s${why}`
      : undefined
  }
  const readable = <A>(kind: Kind, read: () => A): Effect.Effect<A, Unavailable> =>
    Effect.suspend(() => {
      const detail = blind(kind)
      return detail === undefined ? Effect.succeed(read()) : Effect.fail(new Unavailable({ server: "kubernetes", detail }))
    })

  const sink = <K extends keyof Objects>(kind: K): Sink<K> => {
    const cache = of(kind)
    const tell = (before: Objects[K] | undefined, after: Objects[K] | undefined, initial: boolean) => {
      for (const listener of cache.listeners) listener({ before, after, initial })
    }
    return {
      replace: (objects, resourceVersion) => {
        const initial = !cache.synced
        cache.synced = true
        for (const { before, after } of cache.store.replace(objects, resourceVersion)) tell(before, after, initial)
        cache.settled.openUnsafe()
      },
      upsert: (object) => {
        const change = cache.store.upsert(object)
        if (change !== undefined) tell(change.before, change.after, false)
      },
      remove: (object) => {
        const change = cache.store.remove(object)
        if (change !== undefined) tell(change.before, change.after, false)
      },
      heard: () => {
        cache.contact = now()
      },
      enter: (state, detail, refusal) => {
        cache.state = state
        cache.detail = detail
        cache.refusal = refusal
        if (refusal !== undefined) cache.settled.openUnsafe()
      },
    }
  }

  const begin = (kind: Kind, namespace: string | undefined, name: string) => Effect.sync(() => kinds[kind].store.begin(namespace, name))
  const end = (kind: Kind, namespace: string | undefined, name: string) =>
    Effect.sync(() => {
      const cache = of(kind)
      const change = cache.store.end(namespace, name)
      if (change !== undefined) for (const listener of cache.listeners) listener({ ...change, initial: false })
    })

  const service = Cache.of({
    during: (kind, namespace, name, write) =>
      Effect.acquireUseRelease(
        begin(kind, namespace, name),
        () => write,
        () => end(kind, namespace, name),
      ),
    get: (kind, namespace, name) => readable(kind, () => of(kind).store.get(namespace, name)),
    list: (kind, index, value) => readable(kind, () => of(kind).store.list(index, value)),
    peek: (kind, namespace, name) => of(kind).store.get(namespace, name),
    // Without a reflector nobody would take it out again.
    put: (kind, object, written) => {
      if (kinds[kind].state !== "unwatched") of(kind).store.put(object, written)
    },
    tombstone: (kind, namespace, name, uid) => kinds[kind].store.tombstone(namespace, name, uid),
    sink,
    status: (kind) => {
      const { contact, detail, state, synced } = kinds[kind]
      return { state, synced, detail, silence: now() - contact }
    },
  })

  const source = Source.of({
    subscribe: <K extends keyof Objects>(kind: K, listener: (change: Change<K>) => void) => {
      const cache = of(kind)
      for (const object of cache.store.all()) listener({ before: undefined, after: object, initial: true })
      cache.listeners.add(listener)
      return () => void cache.listeners.delete(listener)
    },
    synced: (kind) =>
      Effect.suspend(() => {
        const cache = kinds[kind]
        return Effect.flatMap(cache.settled.await, () =>
          cache.synced || cache.refusal === undefined ? Effect.void : Effect.fail(cache.refusal),
        )
      }),
    missing: Effect.sync(() => new Set(isMissing(kinds))),
  })

  return Context.make(Cache, service).pipe(Context.add(Source, source))
})

const isMissing = (kinds: Kinds): ReadonlyArray<Kind> =>
  Object.entries(kinds).flatMap(([kind, { state }]) => (isKind(kinds, kind) && state === "missing" ? [kind] : []))

const isKind = (kinds: Kinds, kind: string): kind is Kind => kind in kinds
