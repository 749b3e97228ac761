import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Option } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { Announcer } from "#src/engine/announcer.ts"
import { access } from "#src/kubernetes/access.ts"
import { report } from "#src/runtime/crds.ts"
import { Source } from "#src/runtime/source.ts"
import { Metrics } from "#src/telemetry/metrics.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { makeSource, object, seconds, turns } from "./support.ts"

const setup = () => {
  const source = makeSource()
  const announced: Array<string> = []
  const layer = Layer.mergeAll(
    Layer.succeed(Source, source.service),
    Layer.succeed(Announcer, Announcer.of({ announce: (_, { reason, note }) => Effect.sync(() => announced.push(`${reason}: ${note}`)) })),
    Metrics.layer(vocabularies.restate),
    Layer.succeed(Metric.MetricRegistry, new Map()),
  )
  return {
    source,
    announced,
    layer,
    start: Effect.forkScoped(report(["deployment", "cluster"], access(vocabularies.restate), Option.some(object("pod")))),
  }
}

const gauges = Effect.map(PrometheusMetrics.format(), (text) => text.split("\n").filter((line) => line.includes("crd_missing{")))
const deployments = (value: number) => `restate_operator_crd_missing{crd="restatedeployments.restate.dev"} ${value}`
const clusters = (value: number) => `restate_operator_crd_missing{crd="restateclusters.restate.dev"} ${value}`

describe("crds", () => {
  it.effect("the gauges are there from the start, and fall when a CRD is there", () => {
    const { source, layer, start } = setup()
    return Effect.gen(function* () {
      source.missing.add("deployment").add("cluster")
      yield* start
      yield* turns
      assert.deepStrictEqual(yield* gauges, [deployments(1), clusters(1)])
      source.missing.delete("cluster")
      yield* source.synced("cluster")
      yield* turns
      assert.deepStrictEqual(yield* gauges, [deployments(1), clusters(0)])
      source.missing.delete("deployment")
      yield* source.synced("deployment")
      yield* turns
      assert.deepStrictEqual(yield* gauges, [deployments(0), clusters(0)])
      source.missing.add("cluster")
      yield* seconds(10)
      assert.deepStrictEqual(yield* gauges, [deployments(0), clusters(1)])
    }).pipe(Effect.provide(layer))
  })

  it.effect("all awaited CRDs are named in one event, first after 10 s, until all are there, which is told once", () => {
    const { source, announced, layer, start } = setup()
    return Effect.gen(function* () {
      source.missing.add("deployment").add("cluster")
      yield* start
      yield* seconds(9)
      assert.deepStrictEqual(announced, [])
      yield* seconds(1)
      source.missing.delete("cluster")
      yield* seconds(10)
      source.missing.delete("deployment")
      yield* seconds(60)
      assert.deepStrictEqual(announced, [
        "WaitingForCRD: waiting for restatedeployments.restate.dev, restateclusters.restate.dev",
        "WaitingForCRD: waiting for restatedeployments.restate.dev",
        "CRDsAvailable: all custom resource definitions are there",
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("nothing is told when no CRD was ever missing", () => {
    const { source, announced, layer, start } = setup()
    return Effect.gen(function* () {
      yield* source.synced("deployment", "cluster")
      yield* start
      yield* seconds(60)
      assert.deepStrictEqual([announced, yield* gauges], [[], [deployments(0), clusters(0)]])
    }).pipe(Effect.provide(layer))
  })
})
