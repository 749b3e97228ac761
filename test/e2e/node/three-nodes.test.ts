/** Three nodes of the real server: one is killed under load, then all are rolled under load, and nothing that was accepted is lost. */
import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { installBundle } from "../../../sandbox/install.ts"
import { startOperator } from "../../../sandbox/operator-process.ts"
import { type Sandbox, startSandbox } from "../../../sandbox/sandbox.ts"
import type { User } from "../../../sandbox/user.ts"
import { waitFor } from "../../../sandbox/wait.ts"
import { Servers } from "./servers.ts"

const run = promisify(execFile)

let sandbox: Sandbox
let servers: Servers
let user: User

const nodes = [0, 1, 2].map((index) => `"http://service-${index}.service-cluster:5122"`).join(", ")
const config = `default-replication = 2\n\n[metadata-client]\naddresses = [${nodes}]\n`

beforeAll(async () => {
  sandbox = await startSandbox({ node: "real", server: false, progress: (line) => console.log(line) })
  await startOperator(sandbox, { edition: "service", installed: await installBundle(sandbox.client, "service") })
  servers = new Servers(sandbox, "trio")
  await servers.apply(config, { replicas: 3 })
  await servers.ready(240_000)
  user = await servers.user()
})
afterAll(() => sandbox?.stop())

/** Invocations with a durable sleep, as fast as they are taken, five a second at most; whoever is not accepted is owed nothing. */
const load = (): { readonly accepted: Array<string>; readonly refused: { count: number }; readonly stop: () => Promise<void> } => {
  const [accepted, refused, ending] = [new Array<string>(), { count: 0 }, new AbortController()]
  const send = async (): Promise<void> => {
    for (let index = 0; !ending.signal.aborted; index += 1) {
      await user.send("slow", { seconds: 3 }, `${Date.now()}-${index}`).then(
        (id) => accepted.push(id),
        () => (refused.count += 1),
      )
      await sleep(200)
    }
  }
  const sending = send()
  return { accepted, refused, stop: () => (ending.abort(), sending) }
}

/** Every one of them has ended with its answer. */
const allAnswered = async (accepted: ReadonlyArray<string>): Promise<void> => {
  expect(accepted.length).toBeGreaterThan(20)
  for (const id of accepted) expect(await user.result(id)).toBe("v1 woke")
}

/** The processes of a pod's containers carry its UID in their control group. */
const killServerOf = async (uid: string): Promise<void> => {
  const { stdout } = await run("pgrep", ["-f", "restate-server"])
  for (const pid of stdout.trim().split("\n")) {
    const { stdout: group } = await run("cat", [`/proc/${pid}/cgroup`]).catch(() => ({ stdout: "" }))
    if (group.includes(uid) || group.includes(uid.replaceAll("-", "_"))) process.kill(Number(pid), "SIGKILL")
  }
}

it("loses no accepted invocation when a node is killed, and is Ready again by itself", async () => {
  const { accepted, refused, stop } = load()
  await sleep(5_000)
  const [, victim] = await servers.pods()
  await killServerOf(victim?.uid ?? "")
  await waitFor("the node to be missed", async () => (await servers.pods()).some(({ ready }) => !ready), { timeoutMs: 60_000 })
  await sleep(10_000)
  await servers.ready(180_000)
  await stop()
  console.log(`killed one of three: ${accepted.length} accepted, ${refused.count} refused meanwhile`)
  await allAnswered(accepted)
})

it("rolls one pod at a time for another configuration while the load is answered", async () => {
  const { accepted, refused, stop } = load()
  const before = new Set((await servers.pods()).map(({ uid }) => uid))
  let fewest = 3
  await servers.patch({ config: `auto-provision = false\nlog-filter = "warn"\n${config}` })
  await waitFor(
    "all pods to be new and ready",
    async () => {
      const pods = await servers.pods()
      fewest = Math.min(fewest, pods.filter(({ ready }) => ready).length)
      return pods.length === 3 && pods.every(({ ready, uid }) => ready && !before.has(uid))
    },
    { timeoutMs: 280_000 },
  )
  await stop()
  console.log(`rolled three: ${accepted.length} accepted, ${refused.count} refused meanwhile, never fewer than ${fewest} ready`)
  expect(fewest).toBeGreaterThanOrEqual(2)
  await allAnswered(accepted)
})
