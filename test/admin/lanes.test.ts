/** Registrations through the lanes, under virtual time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { AdminWriter, type AdminLooks, type AdminReader } from "#src/admin/admin.ts"
import { Rejected, Unavailable } from "#src/errors.ts"
import { main, other, registrationOf, settle, World } from "./support/calls.ts"

const law = (name: string, test: (world: World) => Effect.Effect<void, unknown, AdminReader | AdminLooks | AdminWriter | Scope.Scope>) =>
  it.effect(name, () =>
    Effect.suspend(() => {
      const world = new World()
      return TestClock.setTime(1_000_000).pipe(Effect.andThen(test(world)), Effect.provide(world.layer))
    }),
  )

/** A pass of a key: it registers, and is over. */
const pass = Effect.fnUntraced(function* (name: string, server = main) {
  const writer = yield* AdminWriter
  const fiber = yield* Effect.forkChild(
    Effect.result(writer.register(name, registrationOf(name, { server }))).pipe(Effect.tap(() => writer.settled(name))),
  )
  yield* settle
  return fiber
})

/** A pass of a key that wants nothing registered. */
const otherPass = (name: string) => Effect.flatMap(AdminWriter, (writer) => writer.settled(name))

const done = (world: World, name: string) => world.answer(`register http://${name}:9080`, { id: `dp_${name}`, services: [] })
const flying = (world: World): ReadonlyArray<string> => world.pending.map(({ name }) => name.replace(/^register http:\/\/|:9080$/g, ""))

describe("a lane", () => {
  law("one registration at a time, in the order of asking, and nobody waits for it", (world) =>
    Effect.gen(function* () {
      const a = yield* pass("a")
      for (const name of ["b", "c", "d", "c"]) {
        const parked = yield* Fiber.join(yield* pass(name))
        assert.deepInclude(parked, { success: { _tag: "Parked" } })
      }
      assert.deepStrictEqual(flying(world), ["a"])
      yield* done(world, "a")
      assert.deepInclude(yield* Fiber.join(a), { success: { _tag: "Registered", id: "dp_a", services: [] } })
      const order: Array<string> = []
      for (let turn = 0; turn < 3; turn += 1) {
        const woken = world.takeWoken()
        assert.strictEqual(woken.length, 1)
        const [name = ""] = woken
        order.push(name)
        yield* pass(name)
        assert.deepStrictEqual(flying(world), [name])
        yield* done(world, name)
      }
      assert.deepStrictEqual(order, ["b", "c", "d"])
      assert.deepStrictEqual(world.takeWoken(), [])
    }),
  )

  law("a turn is kept for its key: who comes in between waits", (world) =>
    Effect.gen(function* () {
      yield* pass("a")
      yield* pass("b")
      yield* done(world, "a")
      assert.deepStrictEqual(world.takeWoken(), ["b"])
      yield* pass("c")
      assert.deepStrictEqual(flying(world), [])
      yield* pass("b")
      assert.deepStrictEqual(flying(world), ["b"])
    }),
  )

  law("a reservation not used goes to the next key", (world) =>
    Effect.gen(function* () {
      yield* pass("a")
      yield* pass("b")
      yield* pass("c")
      yield* done(world, "a")
      assert.deepStrictEqual(world.takeWoken(), ["b"])
      yield* otherPass("b")
      assert.deepStrictEqual(world.takeWoken(), ["c"])
      yield* pass("c")
      assert.deepStrictEqual(flying(world), ["c"])
    }),
  )

  law("the end of the pass that parked does not use up a turn that came during it", (world) =>
    Effect.gen(function* () {
      const writer = yield* AdminWriter
      yield* pass("a")
      yield* writer.register("b", registrationOf("b"))
      yield* done(world, "a")
      assert.deepStrictEqual(world.takeWoken(), ["b"])
      yield* writer.settled("b")
      yield* pass("c")
      yield* pass("b")
      assert.deepStrictEqual(flying(world), ["b"])
    }),
  )

  law("a turn whose key does not come is over after five seconds", (world) =>
    Effect.gen(function* () {
      yield* pass("a")
      yield* pass("b")
      yield* pass("c")
      yield* done(world, "a")
      yield* TestClock.adjust(4_999)
      assert.deepStrictEqual(world.takeWoken(), ["b"])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(world.takeWoken(), ["c"])
      yield* pass("c")
      yield* done(world, "c")
      // Late, but the lane is free.
      yield* pass("b")
      assert.deepStrictEqual(flying(world), ["b"])
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(world.takeWoken(), [])
    }),
  )

  law("one hung registration delays nobody else for more than a second", (world) =>
    Effect.gen(function* () {
      yield* pass("hung")
      yield* pass("b")
      yield* TestClock.adjust(999)
      assert.deepStrictEqual(world.takeWoken(), [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(world.takeWoken(), ["b"])
      yield* pass("b")
      assert.deepStrictEqual(flying(world), ["hung", "b"])
      yield* done(world, "b")
      for (const name of ["c", "d"]) {
        yield* pass(name)
        yield* done(world, name)
      }
      assert.deepStrictEqual(flying(world), ["hung"])
    }),
  )

  law("four hung registrations are excused, the fifth holds the lane until one of them is over", (world) =>
    Effect.gen(function* () {
      for (const name of ["1", "2", "3", "4", "5"]) {
        yield* pass(name)
        yield* TestClock.adjust(1_000)
      }
      assert.deepStrictEqual(flying(world), ["1", "2", "3", "4", "5"])
      yield* pass("6")
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(flying(world), ["1", "2", "3", "4", "5"])
      assert.deepStrictEqual(world.takeWoken(), [])
      yield* done(world, "3")
      assert.deepStrictEqual(world.takeWoken(), ["6"])
      yield* pass("6")
      assert.deepStrictEqual(flying(world), ["1", "2", "4", "5", "6"])
    }),
  )

  law("a registration is given up after 30 s, and its endpoint waits among the slow ones until it succeeds once", (world) =>
    Effect.gen(function* () {
      const hung = yield* pass("hung")
      yield* pass("dead")
      yield* TestClock.adjust(1_000)
      world.takeWoken()
      const dead = yield* pass("dead")
      yield* TestClock.adjust(30_000)
      for (const fiber of [hung, dead]) {
        const result = yield* Fiber.join(fiber)
        assert.match(JSON.stringify(result), /no answer within 30 s/)
      }
      assert.deepStrictEqual(flying(world), [])

      // Both come back. One at a time among themselves, and the fast lane stays free.
      yield* pass("hung")
      yield* pass("dead")
      yield* pass("b")
      assert.deepStrictEqual(flying(world), ["hung", "b"])
      yield* done(world, "b")
      yield* TestClock.adjust(2_000)
      assert.deepStrictEqual(flying(world), ["hung"])
      assert.deepStrictEqual(world.takeWoken(), [])
      yield* done(world, "hung")
      assert.deepStrictEqual(world.takeWoken(), ["dead"])
      yield* pass("dead")

      // The one that succeeded is fast again.
      yield* pass("hung")
      assert.deepStrictEqual(flying(world), ["dead", "hung"])
      yield* pass("c")
      assert.deepStrictEqual(flying(world), ["dead", "hung"])
    }),
  )

  law("servers do not wait for each other, and a key that turns to another server leaves its place", (world) =>
    Effect.gen(function* () {
      yield* pass("a")
      yield* pass("b")
      yield* pass("b", other)
      assert.deepStrictEqual(flying(world), ["a", "b"])
      yield* pass("c")
      yield* done(world, "a")
      assert.deepStrictEqual(world.takeWoken(), ["c"])
    }),
  )

  law("a failure gives the lane on like a success", (world) =>
    Effect.gen(function* () {
      const a = yield* pass("a")
      yield* pass("b")
      yield* world.refuse(
        "register http://a:9080",
        new Rejected({ server: "admin", status: 409, code: "META0006", detail: "type changed" }),
      )
      assert.deepInclude(yield* Fiber.join(a), { _tag: "Failure" })
      assert.deepStrictEqual(world.takeWoken(), ["b"])
    }),
  )

  law("an interrupted pass leaves the lane", (world) =>
    Effect.gen(function* () {
      const a = yield* pass("a")
      yield* pass("b")
      yield* Fiber.interrupt(a)
      assert.deepStrictEqual(world.takeWoken(), ["b"])
      yield* pass("b")
      assert.deepStrictEqual(flying(world), ["b"])
    }),
  )

  law("a thousand keys register one by one, each woken once", (world) =>
    Effect.gen(function* () {
      const names = Array.from({ length: 1_000 }, (_, index) => `k${index}`)
      for (const name of names) yield* pass(name)
      let most = 0
      let finished = 0
      for (; flying(world).length > 0; finished += 1) {
        most = Math.max(most, flying(world).length)
        yield* done(world, flying(world)[0] ?? "")
        for (const name of world.takeWoken()) yield* pass(name)
      }
      assert.deepStrictEqual([most, finished], [1, 1_000])
    }),
  )

  law("a busy schema registry is Unavailable, not a refusal, and not a server that is away", (world) =>
    Effect.gen(function* () {
      const a = yield* pass("a")
      yield* world.refuse(
        "register http://a:9080",
        new Unavailable({ server: "admin", status: 500, detail: "retries for operation on key 'schema_registry' exhausted" }),
      )
      assert.deepInclude(yield* Fiber.join(a), { _tag: "Failure" })
      assert.deepStrictEqual(world.takeWoken(), [])
    }),
  )
})
