/** One rollover under fire: v1 with a running invocation, v2, and the operator killed at one chosen write. */
import { waitFor } from "../../sandbox/wait.ts"
import { describeRequest, isWrite, type Judge, type ProxiedRequest } from "../support/fault-proxy.ts"
import type { OperatorWorld } from "../support/operator-world.ts"

/** One write of an undisturbed rollover: the n-th of its kind. Counts of status writes vary from run to run, their kinds do not. */
export interface Write {
  readonly what: string
  readonly nth: number
}

export interface Run {
  readonly moment: "before" | "after"
  readonly write: Write
  /** Whether the write came, so that the operator died at it. */
  readonly killed: boolean
  readonly seconds: number
  /** What did not end as it must. */
  readonly broken: string | undefined
}

/** Long enough for v2 to be up and for v1 to be found draining, short enough that its end is within the run. */
const slowSeconds = 4

/** The writes of a rollover that nobody disturbs, in order, to both servers, from the change of the image on. */
export const undisturbed = async (world: OperatorWorld): Promise<ReadonlyArray<Write>> => {
  const writes: Array<Write> = []
  const judge = (request: ProxiedRequest): "pass" => {
    if (isWrite(request)) writes.push(nthOf(writes, describeRequest(request)))
    return "pass"
  }
  const broken = await run(
    world,
    judge,
    () => {},
    () => writes.length,
  )
  if (broken !== undefined) throw new Error(`even an undisturbed rollover does not end as it must: ${broken}`)
  return writes
}

const nthOf = (before: ReadonlyArray<Write>, what: string): Write => ({
  what,
  nth: before.filter((write) => write.what === what).length + 1,
})

/** Kills the operator (SIGKILL) before the write reaches its server, or after it was carried out and before the answer arrives. */
export const rollover = async (world: OperatorWorld, moment: Run["moment"], write: Write): Promise<Run> => {
  const begun = Date.now()
  const seen: Array<Write> = []
  let killed = false
  const judge = (request: ProxiedRequest) => {
    if (!isWrite(request)) return "pass"
    const now = nthOf(seen, describeRequest(request))
    seen.push(now)
    if (killed || now.what !== write.what || now.nth !== write.nth) return "pass"
    killed = true
    return moment === "before" ? "drop" : "lose"
  }
  const broken = await run(
    world,
    judge,
    () => world.operator.kill("SIGKILL"),
    () => seen.length,
  )
  return { moment, write, killed, seconds: (Date.now() - begun) / 1000, broken }
}

/** v1 with a running invocation, then v2. Returns what did not end as it must. */
const run = async (world: OperatorWorld, judge: Judge, kill: () => void, count: () => number): Promise<string | undefined> => {
  const user = await world.user()
  let restarted: Promise<void> | undefined
  const onFault = () => {
    kill()
    restarted = world.restart()
  }
  try {
    await world.apply(user, (spec) => (spec.restate.drainDelaySeconds = 1))
    await user.ready("greeter:v1")
    const slow = await user.send("slow", { seconds: slowSeconds })
    await waitFor("the invocation to be pinned", async () => (await user.work()).some(({ pinned }) => pinned > 0))
    for (const proxy of [world.api, world.admin]) Object.assign(proxy, { judge, onFault })
    await user.setImage("greeter:v2")
    const answer = await user.result(slow)
    if (answer !== "v1 woke") throw new Error(`the invocation that began on v1 answered "${answer}"`)
    await user.ready("greeter:v2")
    await waitFor("v1 to be removed", async () => (await user.version("greeter:v1")) === undefined, { timeoutMs: 60_000 })
    // A kill that hits the very last write is still to come.
    await settled(count)
    await restarted
    await ends(world)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    for (const proxy of [world.api, world.admin]) Object.assign(proxy, { judge: () => "pass", onFault: () => {} })
    await restarted
    await world.remove(user)
  }
}

/** v2 is the latest, v1 is gone from both servers, and nothing is left that belongs to nobody. */
const ends = async (world: OperatorWorld): Promise<void> => {
  const user = await world.user()
  const object = await user.ready("greeter:v2")
  const versions = await user.versions()
  if (versions.length !== 1 || versions[0]?.image !== "greeter:v2")
    throw new Error(`versions left: ${versions.map(({ name }) => name).join(", ")}`)
  const routed = await user.routedTo()
  if (routed !== object.status?.deploymentId || routed !== versions[0].deploymentId)
    throw new Error(`the server routes to ${routed}, the status says ${object.status?.deploymentId ?? "nothing"}`)
  const registered = (await user.work()).map(({ id }) => id)
  if (registered.length !== 1) throw new Error(`registrations left: ${registered.join(", ")}`)
  const answer = await user.call("greet", "Ada")
  if (answer !== "v2: hello Ada") throw new Error(`new invocations answer "${answer}"`)
  await waitFor("the Service of v1 to be collected", async () => {
    const services = await world.sandbox.client.list(
      `/api/v1/namespaces/${user.namespace}/services?labelSelector=app.kubernetes.io%2Fmanaged-by`,
    )
    return services.length === 1
  })
}

/** No write for a second. */
const settled = async (count: () => number): Promise<void> => {
  for (let before = -1; before !== count();) {
    before = count()
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}
