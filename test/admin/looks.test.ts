/** The shared looks under virtual time. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { AdminLooks, AdminReader, AdminWriter } from "#src/admin/admin.ts"
import { Unavailable } from "#src/errors.ts"
import { main, other, registrationOf, settle, usageOf, World } from "./support/calls.ts"

const law = (name: string, test: (world: World) => Effect.Effect<void, unknown, AdminReader | AdminLooks | AdminWriter | Scope.Scope>) =>
  it.effect(name, () =>
    Effect.suspend(() => {
      const world = new World()
      return TestClock.setTime(1_000_000).pipe(Effect.andThen(test(world)), Effect.provide(world.layer))
    }),
  )

const usage = "usage cluster/main"
const interest = (ids: ReadonlyArray<string>, look: "usage" | "routing" = "usage") => [{ server: main, look, ids }]

describe("a question", () => {
  law("a look is shared by all who ask while it is in flight", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      for (const key of ["a", "b", "c"]) yield* looks.request(key, main, "usage", 1_000_000)
      yield* settle
      assert.deepStrictEqual(world.asked, [usage])
      yield* world.answer(usage, usageOf({}))
      assert.deepStrictEqual(world.takeWoken(), ["a", "b", "c"])
      assert.deepStrictEqual(world.asked, [usage])
    }),
  )

  law("an answer asked before `since` does not satisfy a request", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const reader = yield* AdminReader
      yield* looks.request("early", main, "usage", 1_000_000)
      yield* settle
      yield* TestClock.adjust(500)
      yield* looks.request("late", main, "usage", 1_000_500)
      yield* looks.request("later", main, "usage", 1_000_400)
      assert.strictEqual(world.inFlight("usage"), 1)
      yield* world.answer(usage, usageOf({}))
      assert.deepStrictEqual(world.takeWoken(), ["early"])
      // Exactly one follow-up for both.
      assert.strictEqual(world.asked.length, 2)
      yield* world.answer(usage, usageOf({}))
      assert.deepStrictEqual(world.takeWoken(), ["late", "later"])
      assert.strictEqual(world.asked.length, 2)
      assert.deepInclude(yield* reader.usage(main), { _tag: "Seen", askedAt: 1_000_500 })
    }),
  )

  law("an answer that is young enough is given without asking", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      yield* looks.request("a", main, "usage", 0)
      yield* settle
      yield* world.answer(usage, usageOf({}))
      yield* TestClock.adjust(1_000)
      yield* looks.request("b", main, "usage", 1_000_000)
      assert.deepStrictEqual(world.takeWoken(), ["a", "b"])
      assert.strictEqual(world.asked.length, 1)
    }),
  )

  law("a moment that is still to come is waited for, but never longer than a second", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      yield* looks.request("a", main, "usage", 1_000_100)
      yield* settle
      assert.strictEqual(world.asked.length, 0)
      yield* TestClock.adjust(100)
      yield* world.answer(usage, usageOf({}))
      yield* looks.request("a", main, "usage", Infinity)
      yield* settle
      assert.strictEqual(world.asked.length, 1)
      yield* TestClock.adjust(1_000)
      assert.strictEqual(world.asked.length, 2)
    }),
  )

  law("servers and looks do not wait for each other", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      yield* looks.request("a", main, "usage", 0)
      yield* looks.request("b", other, "usage", 0)
      yield* looks.request("c", main, "routing", 0)
      yield* settle
      assert.deepStrictEqual([...world.asked].toSorted(), ["services cluster/main", usage, "usage cluster/other"])
    }),
  )

  law("a failed look is Unseen, never zero", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const reader = yield* AdminReader
      assert.deepStrictEqual(yield* reader.usage(main), { _tag: "Unasked" })
      yield* looks.request("a", main, "usage", 0)
      yield* settle
      yield* world.answer(usage, usageOf({ dp: [1, 0, 0] }))
      yield* TestClock.adjust(100)
      yield* looks.request("a", main, "usage", 1_000_100)
      yield* settle
      yield* world.refuse(usage, new Unavailable({ server: "admin", status: 500, detail: "not ready" }))
      const failure = { _tag: "Unseen" as const, because: "not ready", askedAt: 1_000_100, rejected: true, since: 1_000_100 }
      assert.deepStrictEqual(yield* reader.usage(main), failure)
      assert.deepStrictEqual(world.takeWoken(), ["a", "a"])

      // The second failure in a row remembers the first, and is not asked for at once.
      yield* looks.request("a", main, "usage", 0)
      yield* settle
      assert.strictEqual(world.inFlight("usage"), 0)
      yield* TestClock.adjust(1_000)
      yield* world.refuse(usage)
      assert.deepStrictEqual(yield* reader.usage(main), { ...failure, because: "connection refused", askedAt: 1_001_100, rejected: false })
    }),
  )

  law("a defect of ours is a failed look, and the next one works", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      world.automatic.set(usage, () => Effect.die(new Error("bug")))
      yield* looks.request("a", main, "usage", 0)
      yield* settle
      assert.deepStrictEqual(world.takeWoken(), ["a"])
      world.automatic.set(usage, () => Effect.succeed(usageOf({})))
      yield* looks.request("a", main, "usage", 0)
      yield* TestClock.adjust(1_000)
      assert.strictEqual((yield* (yield* AdminReader).usage(main))._tag, "Seen")
    }),
  )
})

describe("interests", () => {
  law("no poll runs when nobody is interested", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      world.automatic.set(usage, () => Effect.succeed(usageOf({})))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(world.asked.length, 0)
      yield* looks.interested("a", interest(["dp"]))
      yield* looks.interested("b", interest(["dp"]))
      yield* TestClock.adjust(90_000)
      assert.strictEqual(world.asked.length, 10)
      yield* looks.interested("a", [])
      yield* TestClock.adjust(10_000)
      assert.strictEqual(world.asked.length, 11)
      yield* looks.interested("b", [])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(world.asked.length, 11)
      yield* looks.interested("b", interest(["dp"]))
      yield* TestClock.adjust(9_999)
      assert.strictEqual(world.asked.length, 12)
    }),
  )

  law("the longer nothing changes, the less often it is asked, but twice a minute at least; news bring the pace back", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      let work = usageOf({ one: [1, 0, 0] })
      world.automatic.set(usage, () => Effect.succeed(work))
      yield* looks.interested("a", interest(["one"]))
      const questions = (seconds: number) =>
        Effect.gen(function* () {
          const before = world.asked.length
          yield* TestClock.adjust(seconds * 1000)
          return world.asked.length - before
        })
      assert.strictEqual(yield* questions(99), 9)
      const later = yield* questions(201)
      assert.isTrue(later >= 8 && later <= 12, `${later} questions in 200 s`)
      assert.strictEqual(yield* questions(600), 20)
      work = usageOf({ one: [2, 0, 0] })
      yield* TestClock.adjust(30_000)
      assert.deepStrictEqual(world.takeWoken().slice(-1), ["a"])
      assert.isAtLeast(yield* questions(60), 5)
    }),
  )

  law("a question asked for another reason puts the poll off", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      world.automatic.set(usage, () => Effect.succeed(usageOf({})))
      yield* looks.interested("a", interest(["dp"]))
      yield* TestClock.adjust(6_000)
      yield* looks.request("b", main, "usage", 1_006_000)
      yield* TestClock.adjust(9_000)
      assert.strictEqual(world.asked.length, 2)
      yield* TestClock.adjust(1_000)
      assert.strictEqual(world.asked.length, 3)
    }),
  )

  law("only keys whose numbers changed are woken", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      let now = usageOf({ one: [1, 0, 0], two: [2, 0, 1] })
      world.automatic.set(usage, () => Effect.succeed(now))
      yield* looks.request("x", main, "usage", 0)
      yield* settle
      for (const [key, ids] of [
        ["a", ["one"]],
        ["b", ["two"]],
        ["c", ["three"]],
        ["d", ["one", "three"]],
      ] as const)
        yield* looks.interested(key, interest(ids))
      yield* settle
      world.takeWoken()
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), [])
      now = usageOf({ one: [0, 0, 0], two: [2, 0, 1] })
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), ["a", "d"])
      now = usageOf({ one: [0, 0, 0], two: [2, 1, 1], three: [0, 0, 0] })
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), ["b", "c", "d"])
      now = usageOf({ two: [2, 1, 0], three: [0, 0, 0] })
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), ["a", "b", "d"])
    }),
  )

  law("all interested keys hear when the look is lost and when it is back", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      let fails = false
      world.automatic.set(usage, () =>
        fails ? Effect.fail(new Unavailable({ server: "admin", status: 500, detail: "no" })) : Effect.succeed(usageOf({})),
      )
      yield* looks.interested("a", interest(["one"]))
      yield* looks.interested("b", interest(["two"]))
      yield* TestClock.adjust(10_000)
      world.takeWoken()
      fails = true
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), ["a", "b"])
      yield* TestClock.adjust(30_000)
      assert.deepStrictEqual(world.takeWoken(), [])
      fails = false
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), ["a", "b"])
    }),
  )

  law("a change between the reading of a look and the interest in it is not lost", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      let now = usageOf({ one: [1, 0, 0] })
      world.automatic.set(usage, () => Effect.succeed(now))
      yield* looks.request("x", main, "usage", 0)
      yield* settle
      // Here the pass of "a" reads the look with one pinned invocation …
      now = usageOf({ one: [0, 0, 0] })
      yield* TestClock.adjust(10)
      yield* looks.request("x", main, "usage", 1_000_010)
      yield* settle
      world.takeWoken()
      // … and here it ends.
      yield* looks.interested("a", interest(["one"]))
      assert.deepStrictEqual(world.takeWoken(), ["a"])
      yield* looks.interested("a", interest(["one"]))
      assert.deepStrictEqual(world.takeWoken(), [])
    }),
  )

  law("an interest in no id keeps the poll going, and hears only of loss and return", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      let now = usageOf({})
      world.automatic.set(usage, () => Effect.succeed(now))
      yield* looks.interested("a", interest([]))
      yield* TestClock.adjust(10_000)
      world.takeWoken()
      now = usageOf({ one: [1, 1, 1] })
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual([world.asked.length, world.takeWoken()], [3, []])
      world.automatic.set(usage, () => Effect.fail(new Unavailable({ server: "admin", detail: "no" })))
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), ["a"])
    }),
  )

  law("after the clock was set back an answer of later is no answer, and the polls go on", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const reader = yield* AdminReader
      world.automatic.set(usage, () => Effect.succeed(usageOf({})))
      yield* TestClock.setTime(10_000_000)
      yield* looks.request("a", main, "usage", 0)
      yield* settle
      assert.strictEqual((yield* reader.usage(main))._tag, "Seen")
      yield* TestClock.setTime(6_400_000)
      assert.strictEqual((yield* reader.usage(main))._tag, "Unasked")
      yield* looks.interested("a", interest(["one"]))
      yield* TestClock.adjust(20_000)
      assert.deepInclude(yield* reader.usage(main), { _tag: "Seen", askedAt: 6_420_000 })
      assert.strictEqual(world.asked.length, 4)
    }),
  )

  law("routing is polled once a minute, and only for those who want it", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      let holder = "v1"
      world.automatic.set("deployments cluster/main", () =>
        Effect.succeed(new Map(["v1", "v2"].map((id) => [id, { endpoint: `http://${id}/`, services: ["S"] }]))),
      )
      world.automatic.set("services cluster/main", () => Effect.succeed(new Map([["S", holder]])))
      yield* looks.interested("a", interest(["v1"], "routing"))
      yield* looks.interested("b", interest(["v9"], "routing"))
      yield* settle
      world.takeWoken()
      yield* TestClock.adjust(60_000)
      assert.strictEqual(world.asked.length, 4)
      assert.deepStrictEqual(world.takeWoken(), [])
      holder = "v2"
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual(world.takeWoken(), ["a"])
    }),
  )
})

describe("a quiet interest", () => {
  law("asks for nothing, is told of what others learn, and not that the server is away", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      let holder = "v1"
      let up = true
      const answer =
        <A>(value: () => A) =>
        () =>
          up ? Effect.succeed(value()) : Effect.fail(new Unavailable({ server: "admin", detail: "away" }))
      world.automatic.set(
        "deployments cluster/main",
        answer(() => new Map(["v1", "v2"].map((id) => [id, { endpoint: `http://${id}/`, services: ["S"] }]))),
      )
      world.automatic.set(
        "services cluster/main",
        answer(() => new Map([["S", holder]])),
      )
      yield* looks.interested("quiet", [{ server: main, look: "routing", ids: ["v1"], quiet: true }])
      yield* TestClock.adjust(300_000)
      assert.deepStrictEqual(world.asked, [])
      const ask = Effect.gen(function* () {
        yield* TestClock.adjust(5_000)
        yield* looks.request("other", main, "routing", yield* Clock.currentTimeMillis)
        yield* TestClock.adjust(5_000)
        return world.takeWoken()
      })
      assert.deepStrictEqual(yield* ask, ["other"])
      up = false
      assert.deepStrictEqual(yield* ask, ["other"])
      // What changed meanwhile counts from the last good answer on.
      holder = "v2"
      up = true
      assert.deepStrictEqual((yield* ask).toSorted(), ["other", "quiet"])
      assert.deepStrictEqual(yield* ask, ["other"])
    }),
  )
})

describe("the routing look", () => {
  law("is asked again when a service points to a deployment that was deregistered before the list was made", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const reader = yield* AdminReader
      yield* looks.request("a", main, "routing", 0)
      yield* settle
      yield* world.answer("services cluster/main", new Map([["S", "gone"]]))
      yield* TestClock.adjust(5)
      yield* world.answer("deployments cluster/main", new Map())
      assert.deepStrictEqual(world.takeWoken(), [])
      yield* world.answer("services cluster/main", new Map([["S", "old"]]))
      yield* world.answer("deployments cluster/main", new Map([["old", { endpoint: "http://old/", services: ["S"] }]]))
      assert.deepStrictEqual(world.takeWoken(), ["a"])
      const answer = yield* reader.routing(main)
      assert.deepInclude(answer, { _tag: "Seen", askedAt: 1_000_000 })
    }),
  )

  law("needs both answers", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      yield* looks.request("a", main, "routing", 0)
      yield* settle
      yield* world.answer("services cluster/main", new Map())
      yield* world.refuse("deployments cluster/main")
      assert.strictEqual((yield* (yield* AdminReader).routing(main))._tag, "Unseen")
    }),
  )
})

describe("a server that is back", () => {
  law("wakes every key whose last call to it failed, once", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      yield* looks.request("a", main, "usage", 0)
      yield* looks.request("b", main, "routing", 0)
      yield* looks.request("c", other, "usage", 0)
      yield* settle
      yield* world.refuse(usage)
      yield* world.refuse("services cluster/main")
      yield* world.refuse("usage cluster/other")
      assert.deepStrictEqual(world.takeWoken(), ["a", "b", "c"])
      yield* looks.request("d", main, "usage", 0)
      yield* TestClock.adjust(1_000)
      yield* world.answer(usage, usageOf({}))
      assert.deepStrictEqual(world.takeWoken(), ["a", "b", "d"])
      yield* TestClock.adjust(1_000)
      yield* looks.request("d", main, "usage", 1_002_000)
      yield* settle
      yield* world.answer(usage, usageOf({}))
      assert.deepStrictEqual(world.takeWoken(), ["d"])
    }),
  )

  law("does not wake for one look those who failed at the other for a reason of its own", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      yield* looks.request("a", main, "usage", 0)
      yield* looks.request("b", main, "routing", 0)
      yield* settle
      yield* world.refuse(usage, new Unavailable({ server: "admin", status: 500, detail: "no" }))
      yield* world.answer("services cluster/main", new Map())
      yield* world.answer("deployments cluster/main", new Map())
      assert.deepStrictEqual(world.takeWoken(), ["a", "b"])
      yield* looks.request("c", main, "usage", 0)
      yield* TestClock.adjust(1_000)
      yield* world.answer(usage, usageOf({}))
      assert.deepStrictEqual(world.takeWoken(), ["a", "c"])
    }),
  )

  law("wakes those whose registration failed", (world) =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const writer = yield* AdminWriter
      const fiber = yield* Effect.forkChild(Effect.flip(writer.register("a", registrationOf("a"))))
      yield* settle
      yield* world.refuse("register http://a:9080")
      yield* Fiber.join(fiber)
      yield* looks.request("b", main, "usage", 0)
      yield* settle
      yield* world.answer(usage, usageOf({}))
      assert.deepStrictEqual(world.takeWoken(), ["a", "b"])
    }),
  )
})
