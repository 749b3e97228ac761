/**
 * Rollovers under load, on real servers: invocations with durable sleeps of 1 to 20 s arrive all the time while the object
 * is rolled forward and now and then back. Every accepted invocation must complete exactly once, with the answer of the
 * version that the server pinned it to.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { dice } from "../kubernetes/random.ts"
import { OperatorWorld } from "../support/operator-world.ts"
import type { User } from "../../sandbox/user.ts"
import { Ledger } from "./ledger.ts"

const { values } = parseArgs({
  options: {
    rollovers: { type: "string", default: "40" },
    rate: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", short: "h" },
  },
})
if (values.help === true) {
  console.log("make soak: --rollovers 40  --rate 20 (invocations a second)  --seed 1")
  process.exit(0)
}
const rollovers = Number(values.rollovers)
const rate = Number(values.rate)
const die = dice(Number(values.seed))
const begun = Date.now()
const say = (line: string): void => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${line}`)

interface Row {
  readonly id: string
  readonly pinned_deployment_id?: string | null
}

/** Sends until it is stopped. Whoever is not accepted is not owed anything. */
const drive = async (user: User, ledger: Ledger, stopped: AbortSignal): Promise<void> => {
  const waits: Array<Promise<void>> = []
  const first = Date.now()
  for (let index = 0; !stopped.aborted; index += 1) {
    const key = `n${index}`
    const seconds = 1 + die.below(20)
    waits.push(
      user
        .send("tell", { seconds, ledger: ledger.url(key) }, key)
        .then((id) => void (ledger.entry(key).id = id))
        .catch((error: unknown) => say(`not accepted: ${String(error)}`)),
    )
    await sleep(Math.max(0, first + ((index + 1) * 1000) / rate - Date.now()))
  }
  await Promise.all(waits)
}

/** The server's own word on who is pinned where; asked often enough that nobody slips through. */
const watch = async (user: User, ledger: Ledger, stopped: AbortSignal): Promise<void> => {
  while (!stopped.aborted) {
    await note(user, ledger).catch((error: unknown) => say(`a look at the pins failed: ${String(error)}`))
    await sleep(700)
  }
  await note(user, ledger)
}

const note = async (user: User, ledger: Ledger): Promise<void> => {
  const rows: ReadonlyArray<Row> = await user.query(
    "SELECT id, pinned_deployment_id FROM sys_invocation_status WHERE pinned_deployment_id IS NOT NULL",
  )
  const pins = new Map(rows.map(({ id, pinned_deployment_id }) => [id, pinned_deployment_id ?? ""]))
  for (const entry of ledger.accepted) {
    const pin = pins.get(entry.id ?? "")
    if (pin !== undefined && pin !== "") entry.pinnedTo = pin
  }
}

/** One line for each switch: what was in flight when new invocations went elsewhere. */
const count = async (user: User, ledger: Ledger): Promise<string> => {
  const [row = { pinned: 0, unpinned: 0 }]: ReadonlyArray<{ readonly pinned: number; readonly unpinned: number }> = await user.query(
    "SELECT COUNT(pinned_deployment_id) AS pinned, COUNT(*) - COUNT(pinned_deployment_id) AS unpinned FROM sys_invocation_status WHERE status <> 'completed'",
  )
  return `accepted ${ledger.accepted.length}, completed ${ledger.completed}, pinned ${row.pinned}, unpinned ${row.unpinned}`
}

const world = await OperatorWorld.start("service", say)
const ledger = await Ledger.open()
const driving = new AbortController()
const watching = new AbortController()
/** Deployment id → the version that answers there. */
const versionOf = new Map<string, string>()
try {
  const user = await world.user()
  await world.apply(user, (spec) => (spec.restate.drainDelaySeconds = 2))
  const learn = async (image: string): Promise<void> => {
    const { status } = await user.ready(image, 120_000)
    versionOf.set(status?.deploymentId ?? "", image.split(":")[1] ?? "")
  }
  await learn("greeter:v1")
  say(`${rollovers} rollovers under ${rate} invocations a second, seed ${values.seed}`)
  const load = drive(user, ledger, driving.signal)
  const pins = watch(user, ledger, watching.signal)
  await sleep(3_000)
  for (let rollover = 1, last = 1, current = 1; rollover <= rollovers; rollover += 1) {
    // Now and then back to the version before, which still drains then and keeps its id.
    const back = current > 1 && die.oneIn(4)
    current = back ? current - 1 : (last += 1)
    await user.setImage(`greeter:v${current}`)
    await learn(`greeter:v${current}`)
    say(
      `rollover ${rollover} ${back ? "back " : ""}to v${current}: ${await count(user, ledger)}, versions ${(await user.versions()).length}`,
    )
    await sleep(1_000 + die.below(4_000))
  }
  driving.abort()
  await load
  say(`no more load: ${await count(user, ledger)}`)
  for (const entry of ledger.accepted)
    entry.answer = await user.result(entry.id ?? "").catch((error: unknown) => `no answer: ${String(error)}`)
  watching.abort()
  await pins
  process.exitCode = judge(ledger)
} finally {
  driving.abort()
  watching.abort()
  await world.stop()
  ledger.close()
}

/** The totals; 1 when anything is not as it must be. */
function judge({ accepted }: Ledger): number {
  const lost = accepted.filter(({ answer, told }) => told.length === 0 || answer?.endsWith(" told") !== true)
  const duplicated = accepted.filter(({ told }) => told.length > 1)
  const unpinned = accepted.filter(({ pinnedTo }) => pinnedTo === undefined)
  const elsewhere = accepted.filter(
    ({ answer, pinnedTo, told }) =>
      pinnedTo !== undefined && (answer !== `${versionOf.get(pinnedTo) ?? "?"} told` || told[0] !== versionOf.get(pinnedTo)),
  )
  for (const entry of [...lost, ...duplicated, ...elsewhere].slice(0, 10)) say(`wrong: ${JSON.stringify(entry)}`)
  const totals = `accepted ${accepted.length}, lost ${lost.length}, duplicated ${duplicated.length}, ended on another version ${elsewhere.length}, never seen pinned ${unpinned.length}`
  const failed = new Set([...lost, ...duplicated, ...elsewhere, ...unpinned]).size
  say(totals)
  console.log(`${accepted.length - failed} passed, ${failed} failed, 0 skipped`)
  return failed === 0 && accepted.length > 0 ? 0 : 1
}
