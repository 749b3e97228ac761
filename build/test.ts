/** Runs vitest with these arguments and ends with one plain line that people and CI can read: `N passed, N failed, N skipped`. */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

interface Totals {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: ReadonlyArray<{
    readonly status: string
    readonly name: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly fullName: string }>
  }>
}

const folder = mkdtempSync(join(tmpdir(), "service-operator-test-"))
const report = join(folder, "report.json")
const vitest = join(import.meta.dirname, "..", "node_modules", "vitest", "vitest.mjs")
const args = [vitest, "run", ...process.argv.slice(2), "--reporter=default", "--reporter=json", `--outputFile=${report}`]
const child = spawn(process.execPath, args, { stdio: "inherit" })
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal))

child.on("exit", (code) => {
  const totals = read()
  rmSync(folder, { recursive: true })
  if (totals === undefined) {
    console.log("0 passed, 1 failed, 0 skipped")
    process.exit(code ?? 1)
  }
  const skipped = totals.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status !== "passed" && status !== "failed"),
  )
  for (const { fullName } of skipped) console.log(`skipped: ${fullName}`)
  // A file that does not even load has no tests to fail.
  const broken = totals.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.every((test) => test.status !== "failed"),
  )
  for (const { name, message } of broken) console.log(`failed as a whole: ${name}: ${message}`)
  const failed = totals.numFailedTests + broken.length
  console.log(`${totals.numPassedTests} passed, ${failed} failed, ${totals.numPendingTests + totals.numTodoTests} skipped`)
  process.exit(failed > 0 ? 1 : (code ?? 1))
})

const read = (): Totals | undefined => {
  try {
    const totals: Totals = JSON.parse(readFileSync(report, "utf8"))
    return totals
  } catch {
    return undefined
  }
}
