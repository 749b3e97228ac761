/** What the operator leaves alone: work that takes its time, and a server that does not answer. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { settings } from "../support/given.ts"
import { deploymentRef, statusOf, type Wish, World } from "../support/world.ts"
import { meta, text } from "../support/world-kubernetes.ts"
import { replicasOf } from "../support/world-pods.ts"
import { Laws } from "./laws.ts"

const name = "greeter"
const v1: Wish = { image: `${name}:v1`, replicas: 1, drainDelaySeconds: 5, revisionHistoryLimit: 0 }
const v3: Wish = { ...v1, image: `${name}:v3` }
const { deploymentId } = settings.vocabulary.annotations

/** v1 stands and has an invocation of that many seconds. */
const working = Effect.fnUntraced(function* (seconds: number) {
  const world = yield* World.make({ seed: 11, startup: () => 1_000 })
  const laws = new Laws(world)
  world.apply(name, v1)
  yield* TestClock.adjust(10_000)
  world.admin.start(name, seconds * 1000, 100)
  yield* TestClock.adjust(1_000)
  return { world, laws }
})

const pass = (seconds: number) => TestClock.adjust(seconds * 1000)
const ids = (world: World) => world.versions(name).map((set) => text(meta(set).annotations[deploymentId]))
const byName = (a: string, b: string): number => a.localeCompare(b)

describe("a rollover", () => {
  it.effect("goes on by what happens, not by timers", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ seed: 12, startup: () => 1_000 })
      world.apply(name, v1)
      yield* pass(4)
      assert.strictEqual(world.admin.latest(name), "dp_1")
      world.apply(name, v3)
      yield* pass(4)
      assert.strictEqual(world.admin.latest(name), "dp_2")
      // The drain delay is 5 s, and polls come every 10 s.
      yield* pass(8)
      assert.deepStrictEqual(ids(world), ["dp_2"])
      world.delete(name)
      yield* pass(8)
      assert.deepStrictEqual(world.versions(name), [])
    }),
  )
})

describe("a restart", () => {
  it.effect("writes nothing when nothing has changed", () =>
    Effect.gen(function* () {
      const { laws, world } = yield* working(3_600)
      world.apply(name, v3)
      yield* pass(60)
      const before = world.writes
      for (let n = 0; n < 3; n += 1) {
        world.crash()
        yield* pass(60)
      }
      assert.strictEqual(world.writes, before)
      assert.deepStrictEqual(laws.broken, [])
    }),
  )
})

describe("a drain", () => {
  it.effect("costs no write while its work goes on, and ends after it (scenario 66)", () =>
    Effect.gen(function* () {
      const { laws, world } = yield* working(3_600)
      world.apply(name, v3)
      yield* pass(60)
      const before = world.writes
      yield* pass(1_800)
      assert.strictEqual(world.writes, before)
      yield* pass(1_800)
      assert.deepStrictEqual(ids(world), ["dp_2"])
      assert.deepStrictEqual(laws.broken, [])
    }),
  )

  it.effect("of a deleted object costs no write while its work goes on", () =>
    Effect.gen(function* () {
      const { laws, world } = yield* working(3_600)
      world.delete(name)
      yield* pass(60)
      const before = world.writes
      yield* pass(1_800)
      assert.strictEqual(world.writes, before)
      yield* pass(1_800)
      assert.strictEqual(laws.unsettled(name, undefined), undefined)
      assert.deepStrictEqual(laws.broken, [])
    }),
  )

  for (const mode of ["refusing", "silent"] as const) {
    it.effect(`removes nothing while the admin server is ${mode}, however long, and goes on when it answers`, () =>
      Effect.gen(function* () {
        const { laws, world } = yield* working(30)
        world.apply(name, v3)
        yield* pass(10)
        assert.deepStrictEqual(ids(world).toSorted(byName), ["dp_1", "dp_2"])
        world.network.admin = mode
        // The invocation ends, and the drain delay would be over many times.
        yield* pass(900)
        assert.deepStrictEqual(world.versions(name).map(replicasOf), [1, 1])
        assert.isTrue(world.admin.knows("dp_1"))
        world.network.admin = "up"
        yield* pass(360)
        assert.deepStrictEqual(ids(world), ["dp_2"])
        assert.isFalse(world.admin.knows("dp_1"))
        assert.deepStrictEqual(laws.broken, [])
      }),
    )
  }

  it.effect("removes nothing while questions are answered with an error", () =>
    Effect.gen(function* () {
      const { laws, world } = yield* working(30)
      world.apply(name, v3)
      yield* pass(10)
      world.network.queries = false
      yield* pass(900)
      assert.deepStrictEqual(world.versions(name).map(replicasOf), [1, 1])
      world.network.queries = true
      yield* pass(360)
      assert.deepStrictEqual(ids(world), ["dp_2"])
      assert.deepStrictEqual(laws.broken, [])
    }),
  )
})

describe("a rollback", () => {
  it.effect("re-adopts a version that still drains, with its old id, and drains the other", () =>
    Effect.gen(function* () {
      const { laws, world } = yield* working(120)
      world.apply(name, v3)
      yield* pass(10)
      world.apply(name, v1)
      yield* pass(5)
      assert.strictEqual(statusOf(world.api.get(deploymentRef(name)))["deploymentId"], "dp_1")
      assert.strictEqual(world.admin.latest(name), "dp_1")
      yield* pass(60)
      assert.deepStrictEqual(ids(world), ["dp_1"])
      assert.isFalse(world.admin.knows("dp_2"))
      yield* pass(120)
      assert.deepStrictEqual(
        world.admin.invocations.map(({ on, state }) => [on, state]),
        [["dp_1", "completed"]],
      )
      assert.deepStrictEqual(laws.broken, [])
    }),
  )

  it.effect("forgets the removal deadline of the version it brings back", () =>
    Effect.gen(function* () {
      const { laws, world } = yield* working(1)
      world.apply(name, v3)
      yield* pass(3)
      // Keeps v3 up, so that the next change of mind finds its pods ready and is carried out at once.
      world.admin.start(name, 60_000, 100)
      yield* pass(1)
      world.apply(name, v1)
      yield* pass(20)
      world.apply(name, v3)
      yield* pass(4)
      assert.deepStrictEqual(ids(world).toSorted(byName), ["dp_1", "dp_2"])
      yield* pass(20)
      assert.deepStrictEqual(ids(world), ["dp_2"])
      assert.deepStrictEqual(laws.broken, [])
    }),
  )
})
