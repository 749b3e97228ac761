/**
 * Many random histories, one process a core: `node test/convergence/histories.ts --count 2000 --from 1`. Prints seeds,
 * broken laws and coverage; a history is a test in the closing line.
 */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { fork } from "node:child_process"
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { Coverage } from "./coverage.ts"
import { historyOf } from "./history.ts"
import { play } from "./run.ts"

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "2000" },
    from: { type: "string", default: "1" },
    step: { type: "string" },
    help: { type: "boolean", short: "h" },
  },
})
if (values.help === true) {
  console.log("make histories: --count 2000  --from 1 (first seed); SEED=n make unit plays one again, with its trace")
  process.exit(0)
}
const count = Number(values.count)
const from = Number(values.from)

/** What a process tells of one history. */
interface Told {
  readonly seed: number
  readonly broken: ReadonlyArray<string>
  readonly touched: ReadonlyArray<string>
}

const isTold = (message: unknown): message is Told => typeof message === "object" && message !== null && "touched" in message

const child = async (step: number): Promise<void> => {
  for (let seed = from; seed < from + count; seed += step) {
    const { broken, touched } = await Effect.runPromise(play(historyOf(seed)).pipe(Effect.provide(TestClock.layer())))
    process.send?.({ seed, broken, touched: [...touched] } satisfies Told)
  }
}

const parent = async (): Promise<void> => {
  const begun = Date.now()
  const coverage = new Coverage()
  const failed: Array<Told> = []
  let played = 0
  const hear = (message: unknown): void => {
    if (!isTold(message)) return
    played += 1
    coverage.add(message.touched)
    if (message.broken.length > 0) failed.push(message)
    for (const law of message.broken) console.log(`SEED=${message.seed} breaks a law: ${law}`)
    if (played % 200 === 0) console.log(`${played} of ${count} histories in ${Math.round((Date.now() - begun) / 1000)} s`)
  }
  const processes = availableParallelism()
  console.log(`${count} histories, seeds ${from} to ${from + count - 1}, in ${processes} processes`)
  const codes = await Promise.all(
    Array.from({ length: processes }, (_, index) => {
      const args = ["--step", String(processes), "--from", String(from + index), "--count", String(count - index)]
      const worker = fork(import.meta.filename, args)
      worker.on("message", hear)
      return new Promise<number>((resolve) => worker.on("exit", (code) => resolve(code ?? 1)))
    }),
  )
  console.log(coverage.lines.join("\n"))
  for (const what of coverage.missing) console.log(`fewer than one history in twenty has seen: ${what}`)
  const lost = codes.some((code) => code !== 0) ? count - played : 0
  console.log(`${played - failed.length} passed, ${failed.length + lost} failed, 0 skipped`)
  if (failed.length + lost + coverage.missing.length > 0) process.exitCode = 1
}

await (values.step === undefined ? parent() : child(Number(values.step)))
