/** One life of the operator over a world in memory: the real controller, queue, cache, writer, looks and lanes. */
import { Context, Effect, Latch, Layer, Logger, type Scope } from "effect"
import { AdminCalls } from "#src/admin/calls.ts"
import { layerOver } from "#src/admin/live.ts"
import { Provisioner } from "#src/admin/provisioner.ts"
import { deploymentController } from "#src/deployment/controller.ts"
import type { DeploymentSettings } from "#src/deployment/snapshot.ts"
import { reconcile } from "#src/engine/reconcile.ts"
import { Wake } from "#src/engine/wake.ts"
import { access, selectedBy } from "#src/kubernetes/access.ts"
import { indexes } from "#src/kubernetes/indexes.ts"
import { KubernetesReader, KubernetesWriter, type Objects } from "#src/kubernetes/kubernetes.ts"
import { liveReader } from "#src/kubernetes/live-reader.ts"
import { liveWriter } from "#src/kubernetes/live-writer.ts"
import { ObjectReader } from "#src/kubernetes/objects.ts"
import { Cache } from "#src/runtime/cache.ts"
import { run } from "#src/runtime/controller.ts"
import * as Events from "#src/runtime/events.ts"
import { make, WorkQueue } from "#src/runtime/queue.ts"
import { Readiness } from "#src/runtime/readiness.ts"
import { Metrics } from "#src/telemetry/metrics.ts"
import { type ApiServer, meta, type Told } from "./world-kubernetes.ts"
import type { Link, Network } from "./world-network.ts"

export interface OperatorOptions {
  readonly settings: DeploymentSettings
  readonly api: ApiServer
  readonly network: Network
  readonly link: Link
  readonly now: () => number
  /** Milliseconds by which the watch of a kind lags behind. */
  readonly lag: (kind: keyof Objects) => number
}

const watched = ["deployment", "cluster", "ReplicaSet", "Service", "EndpointSlice", "HorizontalPodAutoscaler"] as const

/** Runs until it is interrupted. Whatever it remembers ends with it. */
export const operate = (options: OperatorOptions): Effect.Effect<void> => {
  const { settings, network, link } = options
  const { vocabulary } = settings
  const kind = deploymentController(settings)
  const controller = { kind: kind.kind, label: "deployment", watches: kind.watches, reconcile: reconcile(kind, vocabulary) }
  const kubernetes = Layer.effectContext(
    Effect.gen(function* () {
      const cache = yield* Cache
      const objects = new ObjectReader(vocabulary)
      const transport = network.transport(link)
      for (const each of watched) yield* follow(each, options, cache, objects)
      return Context.make(KubernetesReader, liveReader(transport, cache, objects, vocabulary)).pipe(
        Context.add(KubernetesWriter, yield* liveWriter(transport, cache, objects, vocabulary)),
      )
    }),
  ).pipe(Layer.provideMerge(Cache.layer(indexes(vocabulary))))
  const provisioner = Layer.succeed(Provisioner, { provision: () => Effect.die(new Error("no servers are made in this world")) })
  const world = Layer.mergeAll(Events.layer({ controller: vocabulary.operator, instance: "world" }), layerOver("world_"), provisioner).pipe(
    Layer.provideMerge(Layer.mergeAll(kubernetes, queueWithoutResync, Layer.succeed(AdminCalls, network.calls(link)))),
  )
  const observed = Layer.mergeAll(Logger.layer([]), Metrics.layer(vocabulary), Readiness.layer([controller.label]))
  return run([controller]).pipe(Effect.provide(Layer.provideMerge(world, observed)), Effect.orDie)
}

/** The resync would hide that a wake is missing: here only causes and requeues bring a key back. */
const queueWithoutResync = Layer.effectContext(
  Effect.map(make({}), (queue) => {
    const add: typeof queue.add = (key, priority, delay = 0) => {
      if (priority !== "resync" || delay === 0) queue.add(key, priority, delay)
    }
    return Context.make(WorkQueue, { ...queue, add }).pipe(
      Context.add(Wake, { wake: (key, priority) => Effect.sync(() => add(key, priority)) }),
    )
  }),
)

/** A whole list, then every change in its order, each as late as the lag of its kind was when it happened. */
const follow = Effect.fnUntraced(function* (
  kind: keyof Objects,
  { api, lag, now, settings }: OperatorOptions,
  cache: Cache["Service"],
  objects: ObjectReader,
): Effect.fn.Return<void, never, Scope.Scope> {
  const { vocabulary } = settings
  const selected = selectedBy(access(vocabulary)[kind], vocabulary)
  const sink = cache.sink(kind)
  const late: Array<{ readonly at: number; readonly told: Told }> = []
  const more = Latch.makeUnsafe(false)
  const isOurs = (object: Told["object"]) => selected === undefined || meta(object).labels[selected[0]] === selected[1]
  sink.enter("listing", "")
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      api.listen((told) => {
        if (told.kind !== kind || !isOurs(told.object)) return
        late.push({ at: Math.max(late.at(-1)?.at ?? 0, now() + lag(kind)), told })
        more.openUnsafe()
      }),
    ),
    (stop) => Effect.sync(stop),
  )
  sink.heard()
  sink.replace(
    api
      .all(kind)
      .filter(isOurs)
      .flatMap((object) => objects.read(kind, object) ?? []),
    api.version,
  )
  sink.enter("watching", "")
  const deliver = Effect.gen(function* () {
    const [next] = late
    if (next === undefined) {
      more.closeUnsafe()
      return yield* more.await
    }
    if (next.at > now()) yield* Effect.sleep(next.at - now())
    late.shift()
    const object = objects.read(kind, next.told.object)
    if (object === undefined) return
    if (next.told.type === "Removed") sink.remove(object)
    else sink.upsert(object)
  })
  yield* Effect.forkScoped(Effect.forever(deliver))
})
