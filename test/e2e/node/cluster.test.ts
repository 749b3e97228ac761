/** A ServiceCluster whose pod is the real server: laid out by the operator, used by a ServiceDeployment, grown and reconfigured while it runs. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { installBundle } from "../../../sandbox/install.ts"
import { type OperatorProcess, startOperator } from "../../../sandbox/operator-process.ts"
import { type Sandbox, startSandbox } from "../../../sandbox/sandbox.ts"
import { waitFor } from "../../../sandbox/wait.ts"
import { GiB, Servers } from "./servers.ts"

let sandbox: Sandbox
let operator: OperatorProcess
let servers: Servers

beforeAll(async () => {
  sandbox = await startSandbox({ node: "real", server: false, progress: (line) => console.log(line) })
  operator = await startOperator(sandbox, { edition: "service", installed: await installBundle(sandbox.client, "service") })
  servers = new Servers(sandbox, "main")
})
afterAll(() => sandbox?.stop())

const uids = async (): Promise<ReadonlyArray<string>> => (await servers.pods()).map(({ uid }) => uid)

it("is Ready and provisioned after nothing but an apply", async () => {
  const begun = Date.now()
  await servers.apply()
  await servers.ready(180_000)
  console.log(`from apply to Ready: ${((Date.now() - begun) / 1000).toFixed(0)} s`)
  expect(await servers.get()).toMatchObject({ status: { provisioned: true } })
})

it("serves a ServiceDeployment that names it, through its ingress", async () => {
  const user = await servers.user()
  expect(await user.call("greet", "Ada")).toBe("v1: hello Ada")
})

it("grows its volumes under its pods: claims first, then another StatefulSet", async () => {
  const statefulSet = servers.at("/apis/apps/v1", "statefulsets", "service")
  const [before, { metadata }] = [await uids(), await sandbox.client.get(statefulSet)]
  await servers.patch({ storage: { storageRequestBytes: 2 * GiB } })
  await waitFor("another StatefulSet", async () => {
    const found = await sandbox.client.find(statefulSet)
    return found !== undefined && found.metadata.uid !== metadata.uid
  })
  await servers.ready(60_000)
  const size = String(2 * GiB)
  const claim = servers.at("/api/v1", "persistentvolumeclaims", "storage-service-0")
  expect(await sandbox.client.get(claim)).toMatchObject({ spec: { resources: { requests: { storage: size } } } })
  // The provisioner looks twice a second.
  await waitFor("the volume to have grown", async () =>
    JSON.stringify(await sandbox.client.get(claim)).includes(`"capacity":{"storage":"${size}"}`),
  )
  expect(await uids()).toEqual(before)
})

it("rolls its pods for another configuration, and prunes the one of before", async () => {
  const before = await uids()
  await servers.patch({ config: 'auto-provision = false\nlog-filter = "warn"\n' })
  await waitFor("another pod", async () => (await uids()).some((uid) => !before.includes(uid)), { timeoutMs: 60_000 })
  await servers.ready(120_000)
  const maps = `${servers.at("/api/v1", "configmaps")}?labelSelector=app.kubernetes.io%2Finstance%3Dmain`
  await waitFor("the configuration of before to go", async () => (await sandbox.client.list(maps)).length === 1)
})

it("never asked for a right that its role does not give", async () => {
  expect(await operator.metrics()).not.toMatch(/kubernetes_requests_total\{[^}]*code="403"/)
})
