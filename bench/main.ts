/**
 * What N ServiceDeployments cost: time, requests, admin calls, memory and CPU of the operator, on a real API server and
 * a real durable-execution server. See README.md.
 */
import { appendFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { run } from "./run.ts"
import { details, head, phaseRow } from "./table.ts"

const help = `node bench/main.ts [options]        needs dist/operator.mjs (make build)

  --count N          ServiceDeployments (10)
  --out FILE         write all figures there, as JSON
  --steady SECONDS   length of the two phases in which nothing happens (60)
  --drain SECONDS    drainDelaySeconds of the objects (5)
  --trace FILE       append every request of the operator there, one JSON a line
  --strict           exit 1 when a budget is not kept
  --help             this text`

const options = {
  count: { type: "string", default: "10" },
  out: { type: "string" },
  steady: { type: "string", default: "60" },
  drain: { type: "string", default: "5" },
  trace: { type: "string" },
  strict: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const

const given = () => {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

const fail = (sentence: string): never => {
  console.error(`${sentence}\n\n${help}`)
  process.exit(2)
}

const whole = (name: "count" | "steady" | "drain", text: string, least: number): number => {
  const value = Number(text)
  return Number.isInteger(value) && value >= least ? value : fail(`--${name} must be a whole number of at least ${least}, not ${text}`)
}

const values = given()
if (values.help) {
  console.log(help)
  process.exit(0)
}
const count = whole("count", values.count, 1)
const { out, trace } = values

/** One line that is written over on a terminal, so that the table stays whole; a line each elsewhere. */
const live = process.stderr.isTTY
const progress = (text: string): void => {
  process.stderr.write(live ? `\r\u001b[K${text.slice(0, 110)}` : `${text}\n`)
}
const clear = (): void => {
  if (live) process.stderr.write("\r\u001b[K")
}

let headed = false
try {
  const figures = await run({
    count,
    steadySeconds: whole("steady", values.steady, 1),
    drainDelaySeconds: whole("drain", values.drain, 1),
    progress,
    onPhase: (phase) => {
      clear()
      if (!headed) console.log(head())
      headed = true
      console.log(phaseRow(phase, count))
    },
    ...(trace === undefined ? {} : { trace: (record) => appendFileSync(trace, `${JSON.stringify(record)}\n`) }),
  })
  clear()
  if (out !== undefined) writeFileSync(out, `${JSON.stringify(figures, null, 2)}\n`)
  console.log(details(figures))
  if (figures.failed !== undefined || (values.strict && figures.budgets.some(({ pass }) => !pass))) process.exitCode = 1
} catch (error) {
  clear()
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
