/** Registration, confirmation and deregistration, and what they do to the looks. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Metric, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { AdminLooks, AdminReader, AdminWriter } from "#src/admin/admin.ts"
import { main, registrationOf, settle, World } from "./support/calls.ts"

const law = (name: string, test: (world: World) => Effect.Effect<void, unknown, AdminReader | AdminLooks | AdminWriter | Scope.Scope>) =>
  it.effect(name, () =>
    Effect.suspend(() => {
      const world = new World()
      return TestClock.setTime(1_000_000).pipe(Effect.andThen(test(world)), Effect.provide(world.layer))
    }),
  )

/** The routing of `main` as the server tells it: service → id. */
const serve = (
  world: World,
  services: { readonly [service: string]: string },
  deployments: { readonly [id: string]: ReadonlyArray<string> },
): void => {
  world.automatic.set("services cluster/main", () => Effect.succeed(new Map(Object.entries(services))))
  world.automatic.set("deployments cluster/main", () =>
    Effect.succeed(new Map(Object.entries(deployments).map(([id, names]) => [id, { endpoint: `http://${id}:9080/`, services: names }]))),
  )
}

const look = Effect.fnUntraced(function* (since = 0) {
  yield* (yield* AdminLooks).request("looker", main, "routing", since)
  yield* settle
})

const routing = Effect.gen(function* () {
  const answer = yield* (yield* AdminReader).routing(main)
  return answer._tag === "Seen" ? [Object.fromEntries(answer.value.services), [...answer.value.deployments.keys()]] : [answer._tag]
})

describe("confirmation", () => {
  law("asks until every service has come over, then patches the routing without moving the time of its question", (world) =>
    Effect.gen(function* () {
      serve(world, { A: "v1", B: "v1" }, { v1: ["A", "B"] })
      yield* look()
      yield* TestClock.adjust(1_000)
      const writer = yield* AdminWriter
      let asked = 0
      world.automatic.set("service A", () => Effect.succeed("v2"))
      world.automatic.set("service B", () => Effect.sync(() => ((asked += 1) < 3 ? "v1" : "v2")))
      const fiber = yield* Effect.forkChild(writer.confirm("key", main, "v2", "http://v2:9080", ["A", "B"]))
      yield* TestClock.adjust(149)
      assert.strictEqual(asked, 2)
      assert.deepStrictEqual(yield* routing, [{ A: "v1", B: "v1" }, ["v1"]])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(fiber), [])
      assert.deepStrictEqual(yield* routing, [{ A: "v2", B: "v2" }, ["v1", "v2"]])
      assert.deepInclude(yield* (yield* AdminReader).routing(main), { askedAt: 1_000_000 })
      assert.strictEqual(world.asked.filter((name) => name === "service A").length, 1)
    }),
  )

  law("names what is still routed elsewhere after about a second, a service nobody serves included", (world) =>
    Effect.gen(function* () {
      const writer = yield* AdminWriter
      world.automatic.set("service A", () => Effect.succeed("v2"))
      world.automatic.set("service B", () => Effect.succeed("v9"))
      world.automatic.set("service C", () => Effect.succeed(""))
      const fiber = yield* Effect.forkChild(writer.confirm("key", main, "v2", "http://v2:9080", ["C", "B", "A", "B"]))
      yield* TestClock.adjust(750)
      assert.deepStrictEqual(yield* Fiber.join(fiber), [
        { service: "B", deploymentId: "v9" },
        { service: "C", deploymentId: "" },
      ])
    }),
  )

  law("of no services is confirmed", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* (yield* AdminWriter).confirm("key", main, "v2", "http://v2:9080", []), [])
    }),
  )

  law("an unanswered question is a failure, not a judgement", (world) =>
    Effect.gen(function* () {
      const writer = yield* AdminWriter
      const fiber = yield* Effect.forkChild(Effect.flip(writer.confirm("key", main, "v2", "http://v2:9080", ["A"])))
      yield* settle
      yield* world.refuse("service A")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Unavailable")
    }),
  )

  law("a look that was asked before the registration does not undo it, one that was asked later may", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const writer = yield* AdminWriter
      serve(world, { A: "v1" }, { v1: ["A"] })
      yield* look()
      world.automatic.clear()
      yield* TestClock.adjust(1_000)
      yield* looks.request("looker", main, "routing", 1_001_000)
      yield* settle
      world.automatic.set("service A", () => Effect.succeed("v2"))
      yield* writer.confirm("key", main, "v2", "http://v2:9080", ["A"])
      yield* world.answer("services cluster/main", new Map([["A", "v1"]]))
      yield* world.answer("deployments cluster/main", new Map([["v1", { endpoint: "http://v1/", services: ["A"] }]]))
      assert.deepStrictEqual(yield* routing, [{ A: "v2" }, ["v1", "v2"]])
      yield* TestClock.adjust(1_000)
      serve(world, { A: "v3" }, { v1: ["A"], v3: ["A"] })
      yield* look(1_002_000)
      assert.deepStrictEqual(yield* routing, [{ A: "v3" }, ["v1", "v3"]])
    }),
  )

  law("wakes the objects whose routing it changed", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      serve(world, { A: "v1", X: "w1" }, { v1: ["A"], w1: ["X"] })
      yield* look()
      yield* looks.interested("loser", [{ server: main, look: "routing", ids: ["v1"] }])
      yield* looks.interested("bystander", [{ server: main, look: "routing", ids: ["w1"] }])
      yield* settle
      world.takeWoken()
      world.automatic.set("service A", () => Effect.succeed("v2"))
      yield* (yield* AdminWriter).confirm("key", main, "v2", "http://v2:9080", ["A"])
      assert.deepStrictEqual(world.takeWoken(), ["loser"])
    }),
  )
})

const touched = (services: ReadonlyArray<string>) => Effect.flatMap(AdminReader, (reader) => reader.touchedAt(main, services))

describe("touched", () => {
  const start = Effect.fnUntraced(function* (name: string, force = false) {
    const fiber = yield* Effect.forkChild(Effect.result((yield* AdminWriter).register("k", registrationOf(name, { force }))))
    yield* settle
    return fiber
  })

  law("never, is 0", () => Effect.map(touched(["A"]), (at) => assert.strictEqual(at, 0)))

  law("a promotion holds back the services of its deployment, and only those, while it is on its way", (world) =>
    Effect.gen(function* () {
      serve(world, { A: "v2", X: "w1" }, { v1: ["A"], v2: ["A"], w1: ["X"] })
      yield* look()
      const fiber = yield* start("v1", true)
      assert.strictEqual(yield* touched(["A"]), Infinity)
      assert.strictEqual(yield* touched(["X"]), 0)
      yield* TestClock.adjust(10)
      yield* world.answer("register http://v1:9080", { id: "v1", services: ["A", "New"] })
      yield* Fiber.join(fiber)
      // A tenth of a second for the other nodes of the server.
      assert.strictEqual(yield* touched(["A"]), 1_000_110)
      assert.strictEqual(yield* touched(["New"]), 1_000_110)
      assert.strictEqual(yield* touched(["X"]), 0)
    }),
  )

  law("a first registration of a new endpoint holds back nobody, and touches what it turned out to serve", (world) =>
    Effect.gen(function* () {
      serve(world, { A: "v1" }, { v1: ["A"] })
      yield* look()
      yield* start("v2")
      assert.strictEqual(yield* touched(["A"]), 0)
      yield* world.answer("register http://v2:9080", { id: "v2", services: ["A"] })
      assert.strictEqual(yield* touched(["A"]), 1_000_100)
    }),
  )

  law("a registration holds back everything while the routing is not known, and when it fails", (world) =>
    Effect.gen(function* () {
      yield* start("v2")
      assert.strictEqual(yield* touched(["A"]), Infinity)
      assert.strictEqual(yield* touched([]), Infinity)
      yield* world.refuse("register http://v2:9080")
      assert.strictEqual(yield* touched(["A"]), 1_000_100)
    }),
  )

  law("a deregistration touches what it was latest for, or everything", (world) =>
    Effect.gen(function* () {
      const writer = yield* AdminWriter
      const one = yield* Effect.forkChild(writer.forget("key", main, "v1", ["A"], Effect.succeed(true)))
      yield* settle
      assert.deepStrictEqual([yield* touched(["A"]), yield* touched(["B"])], [Infinity, 0])
      yield* world.answer("forget v1", undefined)
      yield* Fiber.join(one)
      assert.deepStrictEqual([yield* touched(["A"]), yield* touched(["B"])], [1_000_100, 0])
      yield* TestClock.adjust(1_000)
      const two = yield* Effect.forkChild(Effect.flip(writer.forget("key", main, "v1", undefined, Effect.succeed(true))))
      yield* settle
      assert.strictEqual(yield* touched(["B"]), Infinity)
      yield* world.refuse("forget v1")
      yield* Fiber.join(two)
      assert.strictEqual(yield* touched(["B"]), 1_001_100)
    }),
  )
})

describe("deregistration", () => {
  law("takes the deployment out of the routing that is known", (world) =>
    Effect.gen(function* () {
      serve(world, { A: "v1", B: "v2" }, { v1: ["A"], v2: ["B"] })
      yield* look()
      world.automatic.set("forget v1", () => Effect.void)
      yield* (yield* AdminWriter).forget("key", main, "v1", ["A"], Effect.succeed(true))
      assert.deepStrictEqual(yield* routing, [{ B: "v2" }, ["v2"]])
    }),
  )
})

describe("metrics", () => {
  law("show how many objects wait for their turn", (world) =>
    Effect.gen(function* () {
      const writer = yield* AdminWriter
      const waiting = Effect.map(
        Metric.snapshot,
        (all) => all.find(({ id, attributes }) => id === "test_admin_registrations_waiting" && attributes?.["lane"] === "fast")?.state,
      )
      for (const name of ["a", "b", "c"]) yield* Effect.forkChild(Effect.result(writer.register(name, registrationOf(name))))
      yield* settle
      assert.deepInclude(yield* waiting, { value: 2 })
      yield* world.answer("register http://a:9080", { id: "a", services: [] })
      // The turn of b does not pass while it is not used.
      assert.deepInclude(yield* waiting, { value: 2 })
      yield* writer.settled("b")
      yield* writer.settled("b")
      assert.deepInclude(yield* waiting, { value: 1 })
    }),
  )
})
