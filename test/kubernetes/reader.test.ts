import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { indexes } from "#src/kubernetes/indexes.ts"
import { liveReader } from "#src/kubernetes/live-reader.ts"
import { ObjectReader } from "#src/kubernetes/objects.ts"
import { type Answer, Transport } from "#src/kubernetes/transport.ts"
import { Cache } from "#src/runtime/cache.ts"
import { vocabularies } from "#src/vocabulary.ts"

const vocabulary = vocabularies.service

/** What a live read of a ServiceCluster says to an answer of the server. */
const fetched = Effect.fnUntraced(function* (answer: Answer) {
  const transport = Transport.of({ send: () => Effect.succeed(answer), open: () => Effect.die("no watches here") })
  const cache = yield* Effect.provide(Cache, yield* Layer.build(Cache.layer(indexes(vocabulary))))
  return yield* liveReader(transport, cache, new ObjectReader(vocabulary), vocabulary).fetch("cluster", undefined, "main")
})

const notFound = (details: object) => JSON.stringify({ kind: "Status", reason: "NotFound", message: "not found", code: 404, details })

describe("a live read", () => {
  it.effect("says that there is nothing only when the server names the object that is not there", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* fetched({ status: 404, text: notFound({ name: "main", kind: "serviceclusters" }) }))
      // The CRD is gone, or a proxy answered: no proof of anything.
      for (const text of [notFound({}), "404 page not found", "", "<html>", JSON.stringify({ name: "main" })])
        assert.strictEqual((yield* Effect.flip(fetched({ status: 404, text })))._tag, "Unavailable", text)
    }),
  )

  it.effect("never takes half an answer for an object", () =>
    Effect.gen(function* () {
      for (const text of ["", "{", "{}", "[]", '{"apiVersion":"v1","kind":"ServiceCluster","metadata":{"name":"main"}}'])
        assert.strictEqual((yield* Effect.flip(fetched({ status: 200, text })))._tag, "Unavailable", text)
    }),
  )
})
