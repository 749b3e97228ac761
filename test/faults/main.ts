/**
 * Kills the operator (SIGKILL) before and after each write and each admin POST or DELETE of a rollover with an
 * invocation running on version 1, one run per index, and checks the end of every run. Prints a table; exits non-zero
 * when a run does not end as it must.
 */
import { parseArgs } from "node:util"
import { OperatorWorld } from "../support/operator-world.ts"
import { rollover, type Run, undisturbed, type Write } from "./rollover.ts"

const { values } = parseArgs({
  options: {
    worlds: { type: "string", default: "3" },
    moments: { type: "string", default: "before,after" },
    only: { type: "string" },
    help: { type: "boolean", short: "h" },
  },
})
if (values.help === true) {
  console.log("make faults: --worlds 3 (side by side)  --moments before,after  --only 1,5 (indices)")
  process.exit(0)
}

const moments: ReadonlyArray<Run["moment"]> = values.moments
  .split(",")
  .flatMap((moment) => (moment === "before" || moment === "after" ? [moment] : []))
const only = values.only?.split(",").map(Number)

interface Job {
  readonly index: number
  readonly moment: Run["moment"]
  readonly write: Write
}

const jobs: Array<Job> = []
const runs: Array<Run & { readonly index: number }> = []

const work = async (world: OperatorWorld): Promise<void> => {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    const run = { index: job.index, ...(await rollover(world, job.moment, job.write)) }
    runs.push(run)
    console.log(row(run))
  }
}

const row = ({ index, moment, write, killed, seconds, broken }: Run & { readonly index: number }): string => {
  const end = broken === undefined ? (killed ? "ok" : "not reached") : "BROKEN"
  return `${String(index).padStart(5)}  ${moment.padEnd(6)}  ${end.padEnd(11)}  ${seconds.toFixed(0).padStart(3)} s  ${write.what} (${write.nth})${broken === undefined ? "" : `\n${" ".repeat(16)}${broken}`}`
}

const worlds = await Promise.all(Array.from({ length: Number(values.worlds) }, () => OperatorWorld.start()))
try {
  const [first] = worlds
  if (first === undefined) throw new Error("--worlds must be at least 1")
  const writes = await undisturbed(first)
  for (const moment of moments)
    for (const [i, write] of writes.entries()) if (only === undefined || only.includes(i + 1)) jobs.push({ index: i + 1, moment, write })
  console.log(`${jobs.length} runs over the ${writes.length} writes of a rollover, ${worlds.length} side by side`)
  await Promise.all(worlds.map(work))
} finally {
  await Promise.all(worlds.map((world) => world.stop()))
}

console.log("\nindex  kill    end          time  at")
for (const run of runs.toSorted((a, b) => a.index - b.index || b.moment.localeCompare(a.moment))) console.log(row(run))
const broken = runs.filter((run) => run.broken !== undefined).length
const missed = runs.filter((run) => run.broken === undefined && !run.killed).length
console.log(`\n${runs.length - broken - missed} passed, ${broken} failed, ${missed} skipped`)
if (missed > 0) console.log("skipped: the write did not come in that run, because the ReplicaSet went through fewer states")
if (broken > 0 || runs.length === 0) process.exitCode = 1
