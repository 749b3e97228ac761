/** From a change in the cluster to a pass over an object: one loop for all kinds, which knows none of them. */
import { Cause, Clock, Effect } from "effect"
import type { AnyWatch, Name, Passed } from "../engine/kind.ts"
import { delays } from "../engine/policies.ts"
import { type Key, keyOf, type Priority } from "../engine/wake.ts"
import type { Forbidden, Rejected } from "../errors.ts"
import type { Kind } from "../kubernetes/access.ts"
import type { KubernetesReader, Objects } from "../kubernetes/kubernetes.ts"
import { Metrics } from "../telemetry/metrics.ts"
import * as Lookup from "./lookup.ts"
import { WorkQueue } from "./queue.ts"
import { Readiness } from "./readiness.ts"
import { type Change, Source } from "./source.ts"

/** One kind of ours, ready to run. */
export interface Controller<R = never> {
  readonly kind: Kind
  /** The kind on the wire: its name in metrics, readiness and logs. */
  readonly label: string
  readonly watches: ReadonlyArray<AnyWatch>
  readonly reconcile: (name: Name) => Effect.Effect<Passed, never, R>
}

/** Its own kind and all that it watches, each once. */
export const kindsOf = (controller: Pick<Controller, "kind" | "watches">): ReadonlyArray<Kind> => [
  ...new Set([controller.kind, ...controller.watches.map(({ kind }) => kind)]),
]

/** When an object is looked at again although nothing happened: 5 min, and up to one more that is always the same for one object. */
export const resyncAfter = (uid: string): number => {
  // FNV-1a: stable over restarts, and evenly spread for uids that differ in one digit.
  let hash = 0x811c9dc5
  for (let i = 0; i < uid.length; i++) hash = Math.imul(hash ^ uid.charCodeAt(i), 0x01000193)
  return delays.resync + ((hash >>> 0) % delays.resyncSpread)
}

/** The objects of our own kinds that exist, with what their passes and their ends need. */
interface Known<R> {
  readonly controller: Controller<R>
  readonly name: Name
  uid: string | undefined
}

/**
 * Starts each controller as soon as the caches of all kinds it watches are whole, and works until it is interrupted;
 * then finishes what is in flight. Fails when the API server refuses a watch for good.
 */
export const run = Effect.fnUntraced(function* <R>(
  controllers: ReadonlyArray<Controller<R>>,
): Effect.fn.Return<never, Forbidden | Rejected, Source | WorkQueue | KubernetesReader | Metrics | Readiness | R> {
  const source = yield* Source
  const queue = yield* WorkQueue
  const metrics = yield* Metrics
  const readiness = yield* Readiness
  const lookup = yield* Lookup.make
  const context = yield* Effect.context<R>()
  const known = new Map<Key, Known<R>>()

  const know = (controller: Controller<R>, name: Name): Known<R> => {
    const key = keyOf(controller.kind, name)
    const object = known.get(key) ?? {
      controller,
      name: { ...(name.namespace === undefined ? {} : { namespace: name.namespace }), name: name.name },
      uid: undefined,
    }
    known.set(key, object)
    return object
  }

  /** Remembers which objects are there: only they are resynced, and the traces of those that go are removed. */
  const follow = (controller: Controller<R>) =>
    source.subscribe(controller.kind, ({ before, after }) => {
      const metadata = (after ?? before)?.metadata
      if (metadata !== undefined) know(controller, metadata).uid = after?.metadata.uid
    })

  const listen = <K extends keyof Objects>(controller: Controller<R>, watch: AnyWatch<K>) =>
    source.subscribe(watch.kind, ({ before, after, initial }: Change<K>) => {
      for (const wakeup of watch.wakes(before, after)) {
        const priority: Priority = initial ? "resync" : wakeup.priority
        if ("name" in wakeup) {
          know(controller, wakeup.name)
          queue.add(keyOf(controller.kind, wakeup.name), priority)
        } else {
          lookup.ask(controller.kind, { ...wakeup, priority })
        }
      }
    })

  const start = (controller: Controller<R>) =>
    Effect.gen(function* () {
      const kinds = kindsOf(controller)
      yield* Effect.forEach(kinds, (kind) => source.synced(kind), { concurrency: "unbounded", discard: true })
      yield* Effect.logInfo("controller started")
      const ends = [follow(controller), ...controller.watches.map((watch) => listen(controller, watch))]
      // A CRD that goes later takes the readiness with it.
      const look = Effect.flatMap(source.missing, (missing) => readiness.set(controller.label, !kinds.some((kind) => missing.has(kind))))
      return yield* Effect.ensuring(
        Effect.forever(Effect.andThen(look, Effect.sleep(5_000))),
        Effect.sync(() => ends.forEach((end) => end())),
      )
    }).pipe(Effect.annotateLogs({ controller: controller.label }))

  const pass = Effect.fnUntraced(function* (key: Key) {
    const object = known.get(key)
    if (object === undefined) return { _tag: "AwaitChange" } as const
    const { controller, name } = object
    const clock = yield* Clock.Clock
    const began = clock.monotonicTimeNanosUnsafe()
    const ended = (outcome: string) =>
      Effect.andThen(
        metrics.pass({ kind: controller.label, name }, outcome, Number(clock.monotonicTimeNanosUnsafe() - began) / 1e9),
        readiness.passed,
      )
    const { requeue, outcome } = yield* controller.reconcile(name).pipe(
      Effect.provideContext(context),
      Effect.annotateLogs({ controller: controller.label, object: `${name.namespace ?? ""}/${name.name}` }),
      Effect.onError((cause) => ended(Cause.hasInterruptsOnly(cause) ? "Interrupted" : "Defect")),
    )
    yield* ended(outcome)
    if (object.uid !== undefined) {
      queue.add(key, "resync", resyncAfter(object.uid))
    } else if (requeue._tag === "AwaitChange") {
      known.delete(key)
      yield* metrics.forget({ kind: controller.label, name })
    }
    return requeue
  })

  for (const [state, read] of depths(queue)) yield* metrics.gauge("queue_depth", "Keys in the work queue.", { state }, read)
  return yield* Effect.raceAllFirst([queue.run(pass), lookup.run(queue.add), ...controllers.map(start)])
})

const depths = (queue: WorkQueue["Service"]) =>
  (["ready", "delayed", "active", "failing"] as const).map((state) => [state, () => queue.depth()[state]] as const)
