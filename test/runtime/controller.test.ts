import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Metric, Option } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { awaitChange } from "#src/engine/plan.ts"
import type { Name, Passed } from "#src/engine/kind.ts"

import { type Key, keyOf } from "#src/engine/wake.ts"
import { Unavailable } from "#src/errors.ts"
import { delays } from "#src/engine/policies.ts"
import { KubernetesReader, type Objects } from "#src/kubernetes/kubernetes.ts"
import { type Controller, resyncAfter, run } from "#src/runtime/controller.ts"
import { WorkQueue } from "#src/runtime/queue.ts"
import { Readiness } from "#src/runtime/readiness.ts"
import { Source } from "#src/runtime/source.ts"
import { Metrics } from "#src/telemetry/metrics.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { makeSource, object, seconds, turns } from "./support.ts"

const ok: Passed = { requeue: awaitChange, outcome: "ok" }

/** A controller of Events, the one kind whose objects may be bare, woken by themselves, by Services of the same name, and by clusters through an index. */
const setup = (reconcile: (name: Name) => Effect.Effect<Passed> = () => Effect.succeed(ok)) => {
  const source = makeSource()
  const log: Array<readonly [name: string, second: number]> = []
  const reader = { fails: false, asked: 0, found: ["found"] }
  const controller: Controller = {
    kind: "Event",
    label: "ServiceCloudEnvironment",
    watches: [
      { kind: "Event", wakes: (before, after) => [{ name: nameOf(after ?? before), priority: "user" }] },
      { kind: "Service", wakes: (before, after) => [{ name: nameOf(after ?? before), priority: "world" }] },
      { kind: "cluster", wakes: (before, after) => [{ index: "registersWith", value: nameOf(after ?? before).name, priority: "world" }] },
    ],
    reconcile: (name) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        log.push([name.name, at / 1000])
        return reconcile(name)
      }),
  }
  const layer = Layer.mergeAll(
    Layer.succeed(Source, source.service),
    Layer.succeed(
      KubernetesReader,
      KubernetesReader.of({
        get: () => Effect.die("not asked here"),
        fetch: () => Effect.die("not asked here"),
        search: () => Effect.die("not asked here"),
        // Every kind of this reader holds bare objects, whatever the caller believes.
        list: <K extends keyof Objects>() =>
          Effect.suspend((): Effect.Effect<ReadonlyArray<Objects[K]>, Unavailable> => {
            reader.asked += 1
            return reader.fails
              ? Effect.fail(new Unavailable({ server: "kubernetes", detail: "away" }))
              : Effect.succeed(reader.found.map((name) => object(name) as Objects[K]))
          }),
      }),
    ),
    WorkQueue.layer({ concurrency: 1 }),
    Metrics.layer(vocabularies.service),
    Readiness.layer(["ServiceCloudEnvironment"]),
    Layer.succeed(Metric.MetricRegistry, new Map()),
  )
  return {
    source,
    log,
    reader,
    controller,
    layer,
    start: Effect.forkScoped(run([controller])),
    all: source.synced("Event", "Service", "cluster"),
  }
}

const nameOf = (of: { readonly metadata: { readonly namespace?: string; readonly name: string } } | undefined): Name => ({
  ...(of?.metadata.namespace === undefined ? {} : { namespace: of.metadata.namespace }),
  name: of?.metadata.name ?? "",
})

const errors = Effect.map(PrometheusMetrics.format(), (text) => text.split("\n").filter((line) => line.includes("errors_total{")))

describe("controller", () => {
  it.effect("no pass begins before the caches of all watched kinds are whole", () => {
    const { source, log, layer, start } = setup()
    return Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* start
      source.put("Event", object("a"))
      yield* source.synced("Event", "Service")
      yield* seconds(60)
      assert.deepStrictEqual([log.length, yield* readiness.pending], [0, ["ServiceCloudEnvironment"]])
      yield* source.synced("cluster")
      yield* seconds(1)
      assert.deepStrictEqual([log.map(([name]) => name), yield* readiness.pending], [["a"], []])
    }).pipe(Effect.provide(layer))
  })

  it.effect("an API server that refuses a watch ends the process with that reason", () => {
    const { source, layer, start } = setup()
    return Effect.gen(function* () {
      const fiber = yield* start
      yield* source.refused("Service")
      yield* turns
      const exit = fiber.pollUnsafe()
      assert.isTrue(exit !== undefined && Exit.isFailure(exit))
      assert.strictEqual(exit === undefined ? "" : Option.getOrThrow(Exit.findErrorOption(exit))._tag, "Forbidden")
    }).pipe(Effect.provide(layer))
  })

  it.effect("an edit overtakes the objects of the first list", () => {
    const { source, log, layer, start, all } = setup(() => Effect.as(Effect.sleep(1000), ok))
    return Effect.gen(function* () {
      for (const name of ["a", "b", "c"]) source.put("Event", object(name))
      yield* all
      yield* start
      yield* turns
      source.put("Event", object("edited"))
      source.put("Service", object("c"))
      yield* seconds(10)
      assert.deepStrictEqual(
        log.map(([name]) => name),
        ["a", "edited", "c", "b"],
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("an object to which nothing happens is looked at again after 5 to 6 min, always after the same time", () => {
    const { source, log, layer, start, all } = setup()
    return Effect.gen(function* () {
      source.put("Event", object("a"))
      yield* all
      yield* start
      yield* seconds(4000)
      const waits = log.map(([, at], i) => at - (log[i - 1]?.[1] ?? 0)).slice(1)
      const wait = resyncAfter("uid-a") / 1000
      assert.isAtLeast(waits.length, 9)
      for (const each of waits) assert.approximately(each, wait, 0.01)
    }).pipe(Effect.provide(layer))
  })

  it("resyncs of many objects are spread over a minute", () => {
    const waits = Array.from({ length: 600 }, (_, i) => resyncAfter(`5f6e2b1c-0000-4000-8000-${i.toString(16).padStart(12, "0")}`))
    const buckets = Array.from({ length: 10 }, () => 0)
    for (const wait of waits) {
      assert.isTrue(wait >= 300_000 && wait < 300_000 + delays.resyncSpread)
      const bucket = Math.floor(((wait - 300_000) / delays.resyncSpread) * 10)
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
    }
    for (const count of buckets) assert.isTrue(count > 20 && count < 140, `600 objects in tenths of a minute: ${buckets.join(" ")}`)
  })

  it.effect("an object that is gone gets one more pass, and no resync", () => {
    const { source, log, layer, start, all } = setup()
    return Effect.gen(function* () {
      const queue = yield* WorkQueue
      source.put("Event", object("a"))
      yield* all
      yield* start
      yield* seconds(10)
      source.remove("Event", "a")
      yield* seconds(1000)
      assert.deepStrictEqual(
        log.map(([, at]) => at),
        [0, 10],
      )
      assert.deepStrictEqual(queue.depth(), { ready: 0, delayed: 0, active: 0, failing: 0 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("errors are counted by object, and the series go with the object", () => {
    const { source, layer, start, all } = setup(({ name }) =>
      name === "bad"
        ? Effect.succeed({ requeue: { _tag: "Retry", policy: "rejected" }, outcome: "AdminCallRejected" })
        : Effect.succeed(ok),
    )
    return Effect.gen(function* () {
      source.put("Event", object("bad"))
      source.put("Event", object("good"))
      yield* all
      yield* start
      yield* seconds(1)
      assert.deepStrictEqual(yield* errors, [
        `service_operator_reconciliation_errors_total{kind="ServiceCloudEnvironment",namespace="default",instance="bad",error="AdminCallRejected"} 1`,
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("the error series of an object that is gone is gone", () => {
    let there = true
    const { source, layer, start, all } = setup(() =>
      Effect.succeed(
        there
          ? { requeue: { _tag: "Retry", policy: "rejected" }, outcome: "AdminCallRejected" }
          : { requeue: awaitChange, outcome: "gone" },
      ),
    )
    return Effect.gen(function* () {
      source.put("Event", object("bad"))
      yield* all
      yield* start
      yield* seconds(1)
      assert.strictEqual((yield* errors).length, 1)
      there = false
      source.remove("Event", "bad")
      yield* seconds(1)
      assert.deepStrictEqual(yield* errors, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("a defect is counted, and its object comes back", () => {
    const { source, log, layer, start, all } = setup(() => Effect.die("a bug"))
    return Effect.gen(function* () {
      source.put("Event", object("a"))
      yield* all
      yield* start
      yield* seconds(1)
      assert.isTrue((yield* errors).some((line) => line.includes(`error="Defect"`)))
      yield* seconds(300)
      assert.strictEqual(log.length, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("passes, durations and the depth of the queue are measured", () => {
    const { source, layer, start, all } = setup(() => Effect.as(Effect.sleep(300), ok))
    return Effect.gen(function* () {
      source.put("Event", object("a"))
      yield* all
      yield* start
      yield* seconds(1)
      const text = yield* PrometheusMetrics.format()
      assert.include(text, "service_operator_reconciliations_total 1\n")
      assert.include(text, `service_operator_reconcile_duration_seconds_bucket{kind="ServiceCloudEnvironment",le="0.25"} 0\n`)
      assert.include(text, `service_operator_reconcile_duration_seconds_bucket{kind="ServiceCloudEnvironment",le="0.5"} 1\n`)
      assert.include(text, `service_operator_queue_depth{state="delayed"} 1\n`)
      assert.deepStrictEqual(
        [...text.matchAll(/le="([^"]+)"/g)].map(([, le]) => le),
        ["0.01", "0.1", "0.25", "0.5", "1", "5", "15", "60", "+Inf"],
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("a wakeup by index is not lost while the cache cannot answer, and is asked once however often it comes", () => {
    const { source, log, reader, layer, start, all } = setup()
    return Effect.gen(function* () {
      source.put("Event", object("found"))
      yield* all
      yield* start
      yield* turns
      reader.fails = true
      for (let i = 0; i < 10; i++) source.put("cluster", object("main", "uid-main", ""))
      yield* seconds(1)
      assert.isAtMost(reader.asked, 2)
      reader.fails = false
      const before = reader.asked
      yield* seconds(10)
      assert.strictEqual(reader.asked, before + 1)
      assert.deepStrictEqual(log, [
        ["found", 0],
        ["found", 5],
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("a CRD that goes takes the readiness with it until it is back", () => {
    const { source, layer, start, all } = setup()
    return Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* all
      yield* start
      yield* seconds(1)
      source.missing.add("cluster")
      yield* seconds(10)
      assert.deepStrictEqual(yield* readiness.pending, ["ServiceCloudEnvironment"])
      source.missing.delete("cluster")
      yield* seconds(10)
      assert.deepStrictEqual(yield* readiness.pending, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("stopping ends the subscriptions and lets the pass in flight finish", () => {
    const ended: Array<Key> = []
    const { source, layer, start, all } = setup((name) =>
      Effect.as(
        Effect.tap(Effect.sleep(2000), () => Effect.sync(() => ended.push(keyOf("e", name)))),
        ok,
      ),
    )
    return Effect.gen(function* () {
      source.put("Event", object("a"))
      yield* all
      const fiber = yield* start
      yield* seconds(1)
      yield* Effect.forkScoped(Fiber.interrupt(fiber))
      yield* seconds(0.5)
      assert.deepStrictEqual([source.listeners("Event"), ended.length], [0, 0])
      yield* seconds(0.5)
      assert.deepStrictEqual([ended.length, fiber.pollUnsafe() !== undefined], [1, true])
    }).pipe(Effect.provide(layer))
  })
})
