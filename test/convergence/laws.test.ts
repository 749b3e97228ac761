/**
 * Random histories against the real controller, in memory and in virtual time. HISTORIES sets how many; a failure names
 * the seed, and SEED=… plays that one history again and prints its trace.
 */
import { assert, describe, it } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Coverage } from "./coverage.ts"
import { historyOf } from "./history.ts"
import { play, type Played } from "./run.ts"

const count = Number(process.env["HISTORIES"] ?? 200)
const only = process.env["SEED"]

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
      const coverage = new Coverage()
      for (let seed = 1; seed <= count; seed += 1) {
        const { broken, touched } = await run(seed)
        assert.deepStrictEqual(broken, [], `SEED=${seed} breaks a law`)
        coverage.add(touched)
      }
      console.log(`seeds 1 to ${count}\n${coverage.lines.join("\n")}`)
      assert.deepStrictEqual(coverage.missing, [], "too few histories with")
    })
  })
