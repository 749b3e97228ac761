/** What the operator does not know about its own writes, it has to ask before it destroys. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Wish, World } from "../support/world.ts"
import type { Call, Fate } from "../support/world-network.ts"
import { Laws } from "./laws.ts"
import { finish } from "./run.ts"

const name = "greeter"
const v1: Wish = { image: `${name}:v1`, replicas: 1, drainDelaySeconds: 5, revisionHistoryLimit: 0 }
const v3: Wish = { ...v1, image: `${name}:v3` }

const pass = (seconds: number) => TestClock.adjust(seconds * 1000)

/** v1 stands; the first call that the fault is meant for meets it. */
const standing = Effect.fnUntraced(function* (wish: Wish = v1) {
  const world = yield* World.make({ seed: 3, startup: () => 500 })
  const laws = new Laws(world)
  world.apply(name, wish)
  yield* pass(20)
  const meet = (fate: Fate, isMeant: (call: Call) => boolean): void => {
    world.fate = (call) => {
      if (!isMeant(call)) return "pass"
      world.fate = () => "pass"
      return fate
    }
  }
  const end = (last: Wish | undefined) =>
    Effect.andThen(
      finish(world, laws, { wishes: new Map([[name, last]]), cancel: () => {} }, true),
      Effect.sync(() => assert.deepStrictEqual(laws.broken, [], world.trace.join("\n"))),
    )
  return { world, meet, end }
})

describe("a version whose registration was carried out and not answered", () => {
  const lost = Effect.gen(function* () {
    const story = yield* standing()
    story.meet("lost", ({ what }) => what.startsWith("register"))
    // Clean-up asks about unfinished work while the pods start; that answer is older than the registration.
    story.world.apply(name, v3)
    yield* pass(2)
    assert.strictEqual(story.world.admin.latest(name), "dp_2")
    return story
  })

  it.effect("is not buried as unregistered by a rollback", () =>
    Effect.gen(function* () {
      const { end, world } = yield* lost
      world.apply(name, v1)
      yield* end(v1)
    }),
  )

  it.effect("is not buried as unregistered by the next version", () =>
    Effect.gen(function* () {
      const { end, world } = yield* lost
      const v4 = { ...v1, image: `${name}:v4` }
      world.apply(name, v4)
      yield* end(v4)
    }),
  )

  it.effect("is not left behind by a deletion", () =>
    Effect.gen(function* () {
      const { end, world } = yield* lost
      world.delete(name)
      yield* end(undefined)
    }),
  )
})

describe("a version that was registered while the routing was not known", () => {
  it.effect("is not scaled to zero on an answer from before its registration", () =>
    Effect.gen(function* () {
      const { end, meet, world } = yield* standing()
      world.network.admin = "refusing"
      yield* pass(61)
      // A pass that asks who serves what, and learns nothing.
      world.apply(name, { ...v1, replicas: 2 })
      yield* pass(2)
      world.network.admin = "up"
      meet("error", ({ what }) => what.startsWith("service "))
      world.apply(name, v3)
      yield* pass(2)
      const v4 = { ...v1, image: `${name}:v4` }
      world.apply(name, v4)
      yield* end(v4)
    }),
  )
})

describe("a deletion", () => {
  it.effect("without a drain delay does not rest on an answer from before it was asked for", () =>
    Effect.gen(function* () {
      const now = { ...v1, drainDelaySeconds: 0 }
      const { end, world } = yield* standing(now)
      // Work on v1 keeps the operator asking every 10 s while v3 serves.
      world.admin.start(name, 600_000, 100)
      yield* pass(1)
      world.apply(name, { ...v3, drainDelaySeconds: 0 })
      yield* pass(11.9)
      world.admin.start(name, 20_000, 100)
      world.delete(name)
      yield* end(undefined)
    }),
  )
})
