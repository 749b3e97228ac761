/**
 * Random histories against the real controller, in memory and in virtual time. HISTORIES sets how many; a failure names
 * the seed, and SEED=… plays that one history again and prints its trace.
 */
import { assert, describe, it } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { historyOf } from "./history.ts"
import { play, type Played } from "./run.ts"

const count = Number(process.env["HISTORIES"] ?? 300)
const only = process.env["SEED"]

/** What at least one history in twenty must have seen, or the laws were not put to the test. */
const coverage = [
  "rollback mid-drain",
  "rollback to a resting version",
  "crash",
  "crash at a call",
  "lost answer",
  "error",
  "conflict",
  "outage",
  "query answers 500",
  "stale cache",
  "deletion with work",
  "made again",
  "two objects",
  "a version that never starts",
  "no faults",
]

const run = (seed: number): Promise<Played> => Effect.runPromise(play(historyOf(seed)).pipe(Effect.provide(TestClock.layer())))

if (only !== undefined)
  describe("one history", () => {
    it(`SEED=${only}`, { timeout: 60_000 }, async () => {
      const { broken, trace } = await run(Number(only))
      console.log(trace.join("\n"))
      assert.deepStrictEqual(broken, [])
    })
  })

if (only === undefined)
  describe("in every history", () => {
    it(`no law is broken (${count} histories)`, { timeout: 30_000 + count * 1_000 }, async () => {
      const seen = new Map<string, number>()
      for (let seed = 1; seed <= count; seed += 1) {
        const { broken, touched } = await run(seed)
        assert.deepStrictEqual(broken, [], `SEED=${seed} breaks a law`)
        for (const what of touched) seen.set(what, (seen.get(what) ?? 0) + 1)
      }
      const lines = [...seen]
        .toSorted(([, a], [, b]) => b - a)
        .map(([what, n]) => `${String(Math.round((100 * n) / count)).padStart(3)} % ${what}`)
      console.log(`${count} histories\n${lines.join("\n")}`)
      const missing = coverage.filter((what) => (seen.get(what) ?? 0) < count / 20)
      assert.deepStrictEqual(missing, [], "too few histories with")
    })
  })
