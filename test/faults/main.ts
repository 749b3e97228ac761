/**
 * Plays the standard histories on real servers (API server, durable-execution server, endpoints) once for each call of
 * the operator and each trouble, checks laws and ends, and prints a table of calls by troubles. With `--plants` it shows
 * that it can fail: operators with a planted bug each, which it must find.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type Choice, isTried, nameOf, play, type Played, titleOf } from "./harness.ts"
import { plant, plants } from "./plants.ts"
import { stories } from "./stories.ts"
import { troubles } from "./troubles.ts"

const { values } = parseArgs({
  options: {
    worlds: { type: "string", default: String(3 * availableParallelism()) },
    story: { type: "string", default: "" },
    trouble: { type: "string", default: "" },
    call: { type: "string", default: "" },
    every: { type: "string", default: "1" },
    plants: { type: "boolean", default: false },
    plant: { type: "string", default: "" },
    help: { type: "boolean", short: "h" },
  },
})
if (values.help === true) {
  console.log(`make faults EVERY=1: all runs, or each n-th of them; make plants: six bugs that it must find
  --worlds 6         side by side, each with servers of its own (1 GiB); three a core
  --story ROLLOVER   only stories with that in their title; --trouble and --call choose likewise
  --plants           operators with a planted bug, one after the other; --plant STALE only such
stories:  ${stories.map(({ title }) => title).join(", ")}
troubles: ${troubles.map(({ name }) => name).join(", ")}`)
  process.exit(0)
}

const begun = Date.now()
const say = (line: string): void => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${line}`)
const { story, trouble, call } = values
const choice: Choice = { story, trouble, call, every: Number(values.every), worlds: Number(values.worlds) }

const table = ({ scripts, jobs, results }: Played): void => {
  const word = (job: (typeof jobs)[number] | undefined): string => {
    const result = job === undefined ? undefined : results.get(job)
    if (result === undefined) return "·"
    if (result.broken.length > 0) return "BROKEN"
    return result.struck ? "ok" : "missed"
  }
  const width = Math.max(...troubles.map(({ name }) => name.length)) + 2
  for (const [told, calls] of scripts) {
    console.log(`\n${told.title.padEnd(58)}${troubles.map(({ name }) => name.padStart(width)).join("")}`)
    for (const each of calls.filter(isTried)) {
      const cells = troubles.map(({ name }) =>
        jobs.find(({ story: of, at }) => of === told && at?.call === each && at.trouble.name === name),
      )
      console.log(`  ${nameOf(each).slice(0, 54).padEnd(56)}${cells.map((job) => word(job).padStart(width)).join("")}`)
    }
  }
  const words = jobs.map(word)
  const count = (wanted: string): number => words.filter((found) => found === wanted).length
  console.log("\n· not tried: a question has no effect to lose or to repeat, or EVERY left it out")
  if (count("missed") > 0)
    console.log("skipped (missed): the call did not come, because pods went through fewer states or polls fell otherwise")
  console.log(`\n${count("ok")} passed, ${count("BROKEN")} failed, ${count("missed")} skipped`)
  if (count("ok") === 0 || count("BROKEN") > 0) process.exitCode = 1
}

/** Each is found when a run of its choice is broken. */
const find = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "service-operator-plants-"))
  let found = 0
  const chosen = plants.filter(({ name }) => name.includes(values.plant))
  for (const planted of chosen) {
    const bundle = join(folder, `${planted.name.replaceAll(" ", "-")}.mjs`)
    await plant(planted.name, bundle)
    say(`planted: ${planted.name}`)
    const { results } = await play({ ...choice, ...planted, bundle, first: true }, say)
    const broken = [...results].filter(([, result]) => result.broken.length > 0)
    if (broken.length > 0) found += 1
    const [first] = broken
    say(first === undefined ? `NOT FOUND in ${results.size} runs: ${planted.name}` : `found in run ${results.size}: ${titleOf(first[0])}`)
  }
  rmSync(folder, { recursive: true })
  console.log(`\n${found} passed, ${chosen.length - found} failed, 0 skipped`)
  if (found < chosen.length) process.exitCode = 1
}

if (values.plants) await find()
else table(await play(choice, say))
