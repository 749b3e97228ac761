import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Metric, Option, Scope } from "effect"
import { HttpClient, HttpRouter } from "effect/http"
import { createServer } from "node:net"
import { Readiness } from "#src/runtime/readiness.ts"
import * as Http from "#src/telemetry/http.ts"
import { Metrics } from "#src/telemetry/metrics.ts"
import { vocabularies } from "#src/vocabulary.ts"

const controllers = ["ServiceCluster", "ServiceDeployment"]

const layer = HttpRouter.serve(Http.routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provideMerge(NodeHttpServer.layerTest),
  Layer.provideMerge(
    Layer.mergeAll(Readiness.layer(controllers), Metrics.layer(vocabularies.service), Layer.succeed(Metric.MetricRegistry, new Map())),
  ),
)

const get = Effect.fnUntraced(function* (path: string) {
  const response = yield* HttpClient.get(path)
  return [response.status, yield* response.text] as const
})

const pending = (...names: ReadonlyArray<string>) => JSON.stringify({ ready: names.length === 0, pendingControllers: names })

describe("http", () => {
  it.effect("health is good from the first request on", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* get("/health"), [200, `"healthy"`])
    }).pipe(Effect.provide(layer)),
  )

  it.effect("ready says 503 and names what is pending, in order, and 200 when nothing is", () =>
    Effect.gen(function* () {
      const { set } = yield* Readiness
      assert.deepStrictEqual(yield* get("/ready"), [503, pending("ServiceCluster", "ServiceDeployment")])
      yield* set("ServiceDeployment", true)
      assert.deepStrictEqual(yield* get("/ready"), [503, pending("ServiceCluster")])
      yield* set("ServiceCluster", true)
      assert.deepStrictEqual(yield* get("/ready"), [200, pending()])
      yield* set("ServiceDeployment", false)
      assert.deepStrictEqual(yield* get("/ready"), [503, pending("ServiceDeployment")])
    }).pipe(Effect.provide(layer)),
  )

  it.effect("the root says when the last pass was", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* get("/"), [200, `{"last_event":"1970-01-01T00:00:00.000Z"}`])
    }).pipe(Effect.provide(layer)),
  )

  it.effect("metrics are Prometheus text", () =>
    Effect.gen(function* () {
      yield* (yield* Metrics).crdMissing("servicedeployments.durable.dev", true)
      const [status, text] = yield* get("/metrics")
      assert.strictEqual(status, 200)
      assert.include(
        text,
        `# TYPE service_operator_crd_missing gauge\nservice_operator_crd_missing{crd="servicedeployments.durable.dev"} 1\n`,
      )
    }).pipe(Effect.provide(layer)),
  )

  it.effect("another path is a 404", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get("/other"))[0], 404)
    }).pipe(Effect.provide(layer)),
  )

  it.live("a port in use is one sentence that says what to do", () =>
    Effect.gen(function* () {
      const taken = yield* Effect.acquireRelease(
        Effect.callback<number>((resume) => {
          const server = createServer().listen(0, "127.0.0.1", () => {
            const address = server.address()
            resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
          })
          return Effect.sync(() => server.close())
        }),
        () => Effect.void,
      )
      const scope = yield* Scope.make()
      const exit = yield* Effect.exit(
        Layer.buildWithScope(Http.layer({ host: "127.0.0.1", port: taken }).pipe(Layer.provide(Readiness.layer([]))), scope),
      )
      assert.isTrue(Exit.isFailure(exit))
      const error = Option.getOrThrow(Exit.findErrorOption(exit))
      assert.strictEqual(
        error.sentence,
        `Port ${taken} is in use: stop what listens on 127.0.0.1:${taken}, or choose another address with --http-address.`,
      )
    }),
  )
})
