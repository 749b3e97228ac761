/** The standard histories that faults are tried on: what a person does to one object, chapter by chapter. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Wish, World } from "../support/world.ts"
import type { Call, Fate } from "../support/world-network.ts"
import { Laws } from "./laws.ts"
import { finish } from "./run.ts"

const name = "greeter"
const v1: Wish = { image: `${name}:v1`, replicas: 1, drainDelaySeconds: 5, revisionHistoryLimit: 0 }
const v2: Wish = { ...v1, image: `${name}:v2` }
const v3: Wish = { ...v1, image: `${name}:v3` }
const scaled = { autoscaling: { maxReplicas: 3 } } as const

export interface Chapter {
  /** What the person does; `undefined` deletes the object. */
  readonly wish: Wish | undefined
  /** Milliseconds until the next chapter. */
  readonly lasts: number
}

/** Each but the first begins with v1 that has work for 20 s. */
export const stories: { readonly [title: string]: ReadonlyArray<Chapter> } = {
  "a creation": [],
  "a rollover": [{ wish: v3, lasts: 60_000 }],
  "a rollback while the old version drains": [
    { wish: v3, lasts: 9_000 },
    { wish: v1, lasts: 60_000 },
  ],
  "two rollovers in a row": [
    { wish: v2, lasts: 3_000 },
    { wish: v3, lasts: 60_000 },
  ],
  "a scaling": [
    { wish: { ...v1, replicas: 3 }, lasts: 8_000 },
    { wish: { ...v1, replicas: 1 }, lasts: 20_000 },
  ],
  "a rollover with autoscaling": [
    { wish: { ...v1, ...scaled }, lasts: 3_000 },
    { wish: { ...v3, ...scaled }, lasts: 60_000 },
  ],
  "a deletion with work": [{ wish: undefined, lasts: 60_000 }],
  "a deletion by force": [
    { wish: { ...v1, deletePolicy: "force" }, lasts: 3_000 },
    { wish: undefined, lasts: 30_000 },
  ],
}

/** What happens at one of the calls: to the call, or to the watches from then on. */
export type Trouble = Fate | "silence" | "lag" | "twice"

export const troubles: ReadonlyArray<readonly [name: string, trouble: Trouble]> = [
  ["crash before", "before"],
  ["crash after", "after"],
  ["error", "error"],
  ["conflict", "conflict"],
  ["lost answer", "lost"],
  ["delivered twice", "twice"],
  ["no answer at all", "silence"],
  ["watches lag", "lag"],
]

export interface Told {
  readonly calls: ReadonlyArray<Call>
  readonly broken: ReadonlyArray<string>
}

/** Plays a story with a fault at one of its calls, counted from the first chapter on; -1 for none. */
export const tell = (title: string, trouble: Trouble, index: number): Promise<Told> =>
  Effect.gen(function* () {
    const chapters = stories[title] ?? []
    const world = yield* World.make({ seed: 7, startup: () => 1_000 })
    const laws = new Laws(world)
    const calls: Array<Call> = []
    world.fate = (call) => {
      if (calls.push(call) - 1 !== index) return "pass"
      if (trouble !== "lag" && trouble !== "silence") return trouble
      if (trouble === "lag") disturb(world)
      else hush(world)
      return "pass"
    }
    const quiet = world.fate
    if (chapters.length > 0) world.fate = () => "pass"
    world.apply(name, v1)
    yield* TestClock.adjust(10_000)
    if (chapters.length > 0) world.admin.start(name, 20_000, 100)
    yield* TestClock.adjust(1_000)
    world.fate = quiet
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

/** All watches are 8 s late, for half a minute. */
const disturb = (world: World): void => {
  const before = world.lag
  world.lag = () => 8_000
  world.after(30_000, () => (world.lag = before))
}

/** The admin server takes calls and answers none, for a quarter of a minute. */
const hush = (world: World): void => {
  world.network.admin = "silent"
  world.after(15_000, () => (world.network.admin = "up"))
}
