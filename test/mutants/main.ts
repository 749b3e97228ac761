/**
 * Plays each mutant: the named test must fail with it. A mutant whose text is not in its file exactly once, or whose test
 * does not exist, fails, so that the table cannot rot.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { type Mutant, mutants } from "./mutants.ts"

const root = join(import.meta.dirname, "../..")
const vitest = join(root, "node_modules/vitest/vitest.mjs")

interface Results {
  readonly testResults: ReadonlyArray<{ readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly title: string }> }>
}

/** undefined: it was killed by the test that is to kill it. */
const survives = async (mutant: Mutant): Promise<string | undefined> => {
  const { file, from, killedBy, name } = mutant
  const times = readFileSync(join(root, file), "utf8").split(from).length - 1
  if (times !== 1) return `its text is ${times} times in ${file}`
  const [test, title] = killedBy
  const report = join(folder, `${name.replaceAll(" ", "-")}.json`)
  const pattern = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const args = [
    vitest,
    "run",
    "--config",
    "test/mutants/vitest.config.ts",
    test,
    "-t",
    pattern,
    "--reporter=json",
    `--outputFile=${report}`,
  ]
  await new Promise<void>((resolve) =>
    execFile(process.execPath, args, { cwd: root, env: { ...process.env, MUTANT: name }, maxBuffer: 2 ** 26 }, () => resolve()),
  )
  if (!existsSync(report)) return "vitest did not come to its end"
  const results: Results = JSON.parse(readFileSync(report, "utf8"))
  const ran = results.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "passed" || status === "failed"),
  )
  if (ran.length === 0) return `there is no test "${title}" in ${test}`
  return ran.some(({ status }) => status === "failed") ? undefined : `"${title}" passes all the same`
}

const folder = mkdtempSync(join(tmpdir(), "service-operator-mutants-"))
const left = [...mutants]
const survivors: Array<string> = []
const play = async (): Promise<void> => {
  for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
    const why = await survives(mutant)
    console.log(`${why === undefined ? "killed  " : "SURVIVES"}  ${mutant.name.padEnd(56)}${why ?? mutant.killedBy[1]}`)
    if (why !== undefined) survivors.push(mutant.name)
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, play))
rmSync(folder, { recursive: true })
console.log(`${mutants.length - survivors.length} passed, ${survivors.length} failed, 0 skipped`)
if (survivors.length > 0) process.exitCode = 1
