import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric } from "effect"
import type { Desired } from "#src/engine/action.ts"
import { indexes } from "#src/kubernetes/indexes.ts"
import { liveWriter } from "#src/kubernetes/live-writer.ts"
import { ObjectReader } from "#src/kubernetes/objects.ts"
import { type Answer, type Request, Transport } from "#src/kubernetes/transport.ts"
import { Cache } from "#src/runtime/cache.ts"
import { vocabularies } from "#src/vocabulary.ts"

const vocabulary = vocabularies.service
const { main } = vocabulary.managers

const service = (version: number, annotations: { readonly [key: string]: string }, generation = 1) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: {
    name: "a",
    namespace: "n",
    uid: "1",
    resourceVersion: String(version),
    generation,
    labels: { "app.kubernetes.io/managed-by": vocabulary.operator },
    annotations,
  },
  spec: {},
})

const wanted = (annotations: { readonly [key: string]: string }): Desired => ({
  ref: { kind: "Service", namespace: "n", name: "a" },
  body: { metadata: { annotations } },
})

/** A writer whose server answers as the test says, and whose cache holds one Service. */
const against = Effect.fnUntraced(function* (answer: (request: Request, count: number) => Answer) {
  const sent: Array<Request> = []
  const transport = Transport.of({
    send: (request) =>
      Effect.sync(() => {
        sent.push(request)
        return answer(request, sent.length)
      }),
    open: () => Effect.die("no watches here"),
  })
  const cache = yield* Effect.provide(Cache, yield* Layer.build(Cache.layer(indexes(vocabulary))))
  const reader = new ObjectReader(vocabulary)
  const held = reader.read("Service", service(1, {}))
  cache.sink("Service").enter("watching", "")
  cache.sink("Service").replace(held === undefined ? [] : [held], "1")
  return { sent, cache, writer: yield* liveWriter(transport, cache, reader, vocabulary) }
})

const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(Logger.layer([])), Effect.provideService(Metric.MetricRegistry, new Map()))

describe("the writer", () => {
  it.effect("an apply that does not settle is sent once for a generation, counted, and sent again when something changes", () =>
    Effect.gen(function* () {
      // A server that never takes the annotation, as an admission webhook might.
      const { sent, writer } = yield* against((_, count) => ({ status: 200, text: JSON.stringify(service(count + 1, {})) }))
      for (let pass = 0; pass < 5; pass++) yield* writer.apply(wanted({ a: "1" }), main)
      assert.strictEqual(sent.length, 1)
      yield* writer.apply(wanted({ a: "2" }), main)
      assert.strictEqual(sent.length, 2)
      const counted = (yield* Metric.snapshot)
        .filter(({ id }) => id === "service_operator_unsettled_applies_total")
        .map(({ state }) => ("count" in state ? Number(state.count) : 0))
      assert.deepStrictEqual(counted, [2])
    }).pipe(quietly),
  )

  it.effect("a part of an object is applied to the very object that the cache knows", () =>
    Effect.gen(function* () {
      const { sent, writer } = yield* against(() => ({ status: 200, text: JSON.stringify(service(2, { a: "1" })) }))
      yield* writer.apply(wanted({ a: "1" }), vocabulary.managers.annotations)
      assert.include(sent[0]?.body ?? "", '"uid":"1"')
      yield* writer.apply(wanted({ a: "2" }), main)
      assert.notInclude(sent[1]?.body ?? "", '"uid"')
    }).pipe(quietly),
  )

  it.effect("nulls are not sent in an apply, where they would be owned", () =>
    Effect.gen(function* () {
      const { sent, writer } = yield* against(() => ({ status: 200, text: JSON.stringify(service(2, { a: "1" })) }))
      yield* writer.apply(
        { ref: wanted({}).ref, body: { metadata: { annotations: { a: "1", b: null }, labels: {} }, spec: { x: null } } },
        main,
      )
      const body: unknown = JSON.parse(sent[0]?.body ?? "")
      assert.deepStrictEqual(body, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { annotations: { a: "1" }, name: "a", namespace: "n" },
        spec: {},
      })
    }).pipe(quietly),
  )

  it.effect("a write that is refused leaves the cache as it was", () =>
    Effect.gen(function* () {
      const { cache, writer } = yield* against(() => ({ status: 503, text: "away" }))
      assert.strictEqual((yield* Effect.flip(writer.apply(wanted({ a: "1" }), main)))._tag, "Unavailable")
      assert.strictEqual((yield* Effect.flip(writer.remove(wanted({}).ref, "1")))._tag, "Unavailable")
      assert.strictEqual(cache.peek("Service", "n", "a")?.metadata.resourceVersion, "1")
    }).pipe(quietly),
  )

  it.effect("an answer that is no object is Unavailable, not a success", () =>
    Effect.gen(function* () {
      const { writer } = yield* against(() => ({ status: 200, text: "<html>" }))
      assert.strictEqual((yield* Effect.flip(writer.apply(wanted({ a: "1" }), main)))._tag, "Unavailable")
    }).pipe(quietly),
  )

  it.effect("a deletion names the very object that it means, and leaves its children to the background", () =>
    Effect.gen(function* () {
      const { sent, writer } = yield* against(() => ({ status: 200, text: "{}" }))
      yield* writer.remove({ kind: "Service", namespace: "n", name: "a" }, "1")
      assert.deepInclude(JSON.parse(sent[0]?.body ?? "{}"), { preconditions: { uid: "1" }, propagationPolicy: "Background" })
    }).pipe(Effect.scoped),
  )

  it.effect("an object without our label does not enter the cache, where no watch would ever take it out", () =>
    Effect.gen(function* () {
      const foreign = { ...service(7, {}), metadata: { ...service(7, {}).metadata, name: "b", uid: "2", labels: {} } }
      const { cache, writer } = yield* against((request) =>
        request.method === "POST"
          ? { status: 409, text: JSON.stringify({ kind: "Status", reason: "AlreadyExists", code: 409 }) }
          : { status: 200, text: JSON.stringify(foreign) },
      )
      const answer = yield* writer.create({ ref: { kind: "Service", namespace: "n", name: "b" }, body: {} })
      assert.deepStrictEqual([answer._tag, answer.object.metadata.uid], ["Taken", "2"])
      assert.isUndefined(cache.peek("Service", "n", "b"))
    }).pipe(quietly),
  )
})
