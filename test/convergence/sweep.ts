/**
 * Every trouble at every call of every standard story, one process a core: `node test/convergence/sweep.ts`. Prints a table
 * of calls by troubles; a run is a test in the closing line.
 */
import { fork } from "node:child_process"
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { stories, tell, troubles } from "./stories.ts"

const { values } = parseArgs({
  options: { step: { type: "string" }, from: { type: "string", default: "0" }, help: { type: "boolean", short: "h" } },
})
if (values.help === true) {
  console.log("make sweep: every trouble at every call of every standard story, in memory; no options")
  process.exit(0)
}

interface Job {
  readonly title: string
  readonly index: number
  readonly trouble: number
}

interface Told extends Job {
  readonly broken: ReadonlyArray<string>
}

const isTold = (message: unknown): message is Told => typeof message === "object" && message !== null && "broken" in message

/** What each story calls when nothing goes wrong; the same in every process, because a story is the same each time. */
const scripts = new Map<string, ReadonlyArray<string>>()
for (const title of Object.keys(stories))
  scripts.set(
    title,
    (await tell(title, "pass", -1)).calls.map(({ to, what }) => `${to} ${what}`),
  )

const jobs: ReadonlyArray<Job> = [...scripts].flatMap(([title, calls]) =>
  calls.flatMap((_, index) => troubles.map((__, trouble) => ({ title, index, trouble }))),
)

const child = async (step: number): Promise<void> => {
  for (let at = Number(values.from); at < jobs.length; at += step) {
    const job = jobs[at]
    const trouble = job === undefined ? undefined : troubles[job.trouble]
    if (job === undefined || trouble === undefined) continue
    process.send?.({ ...job, broken: (await tell(job.title, trouble[1], job.index)).broken } satisfies Told)
  }
}

const parent = async (): Promise<void> => {
  const begun = Date.now()
  const broken = new Map<string, ReadonlyArray<string>>()
  let played = 0
  const keyOf = ({ index, title, trouble }: Job): string => `${title}/${index}/${trouble}`
  const processes = availableParallelism()
  console.log(`${jobs.length} runs: ${troubles.length} troubles at each call of ${scripts.size} stories`)
  const done = new Set<string>()
  await Promise.all(
    Array.from({ length: processes }, (_, index) => {
      const worker = fork(import.meta.filename, ["--step", String(processes), "--from", String(index)])
      worker.on("message", (message: unknown) => {
        if (!isTold(message)) return
        played += 1
        done.add(keyOf(message))
        if (message.broken.length > 0) broken.set(keyOf(message), message.broken)
        if (played % 500 === 0) console.log(`${played} of ${jobs.length} runs in ${Math.round((Date.now() - begun) / 1000)} s`)
      })
      return new Promise((resolve) => worker.on("exit", resolve))
    }),
  )
  for (const [title, calls] of scripts) {
    console.log(`\n${title}\n${" ".repeat(60)}${troubles.map(([name]) => name.padStart(17)).join("")}`)
    for (const [index, what] of calls.entries()) {
      const cells = troubles.map((_, trouble) => {
        const key = keyOf({ title, index, trouble })
        return (broken.has(key) ? "BROKEN" : done.has(key) ? "ok" : "not run").padStart(17)
      })
      console.log(`${`${index + 1}. ${what}`.slice(0, 59).padEnd(60)}${cells.join("")}`)
    }
  }
  for (const [key, laws] of broken) console.log(`${key}: ${laws.join("; ")}`)
  const failed = broken.size + jobs.length - done.size
  console.log(`\n${jobs.length - failed} passed, ${failed} failed, 0 skipped`)
  if (failed > 0) process.exitCode = 1
}

await (values.step === undefined ? parent() : child(Number(values.step)))
