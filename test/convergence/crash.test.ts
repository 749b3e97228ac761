/**
 * One fault at every call of three stories, in memory and in virtual time: the operator dies before or after it, it is
 * refused, or its answer is lost. Whatever the call, no law is broken and the world ends as it should.
 */
import { assert, describe, it } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Wish, World } from "../support/world.ts"
import type { Call, Fate } from "../support/world-network.ts"
import { Laws } from "./laws.ts"
import { finish } from "./run.ts"

const name = "greeter"
const v1: Wish = { image: `${name}:v1`, replicas: 1, drainDelaySeconds: 5, revisionHistoryLimit: 0 }
const v3: Wish = { ...v1, image: `${name}:v3` }

interface Chapter {
  /** What the person does; `undefined` deletes the object. */
  readonly wish: Wish | undefined
  /** Milliseconds until the next chapter. */
  readonly lasts: number
}

/** Each begins with v1 that has work for 20 s. */
const stories: { readonly [title: string]: ReadonlyArray<Chapter> } = {
  "a rollover": [{ wish: v3, lasts: 60_000 }],
  "a rollback while the old version drains": [
    { wish: v3, lasts: 9_000 },
    { wish: v1, lasts: 60_000 },
  ],
  "a deletion with work": [{ wish: undefined, lasts: 60_000 }],
}

/** Plays a story with a fault at one of its calls; tells the calls and what went wrong. */
const tell = (chapters: ReadonlyArray<Chapter>, fate: Fate, index: number) =>
  Effect.gen(function* () {
    const world = yield* World.make({ seed: 7, startup: () => 1_000 })
    const laws = new Laws(world)
    world.apply(name, v1)
    yield* TestClock.adjust(10_000)
    world.admin.start(name, 20_000, 100)
    yield* TestClock.adjust(1_000)
    const calls: Array<Call> = []
    world.fate = (call) => (calls.push(call) - 1 === index ? fate : "pass")
    let wish: Wish | undefined = v1
    for (const chapter of chapters) {
      wish = chapter.wish
      if (wish === undefined) world.delete(name)
      else world.apply(name, wish)
      yield* TestClock.adjust(chapter.lasts)
    }
    yield* finish(world, laws, { wishes: new Map([[name, wish]]), cancel: () => {} }, true)
    return { calls, broken: laws.broken }
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.runPromise)

describe.for(Object.entries(stories))("%s", ([, chapters]) => {
  it("goes well when nothing goes wrong", async () => assert.deepStrictEqual((await tell(chapters, "pass", -1)).broken, []))

  const faults: ReadonlyArray<readonly [string, Fate]> = [
    ["the operator dying before it", "before"],
    ["the operator dying after it", "after"],
    ["an error", "error"],
    ["a lost answer", "lost"],
  ]
  it.for(faults)("survives %s, at every call", { timeout: 60_000 }, async ([, fate], { expect }) => {
    const { calls } = await tell(chapters, "pass", -1)
    expect(calls.length).toBeGreaterThan(10)
    const broken: Array<string> = []
    for (const [index, { what }] of calls.entries()) {
      const told = await tell(chapters, fate, index)
      broken.push(...told.broken.map((law) => `${index + 1}. ${what}: ${law}`))
    }
    expect(broken).toEqual([])
  })
})
