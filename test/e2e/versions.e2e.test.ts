/** The law of versions on real servers: control plane, durable-execution server, SDK endpoints, the bundled operator. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { waitFor } from "../../sandbox/wait.ts"
import { isWrite } from "../support/fault-proxy.ts"
import { OperatorWorld } from "../support/operator-world.ts"
import type { User } from "../../sandbox/user.ts"

const seconds = (count: number) => new Promise((resolve) => setTimeout(resolve, count * 1000))

describe("a version with unfinished work", () => {
  let world: OperatorWorld
  let user: User
  beforeAll(async () => {
    world = await OperatorWorld.start()
    user = await world.user()
    await world.apply(user, (spec) => (spec.restate.drainDelaySeconds = 2))
    await user.ready("greeter:v1")
  })
  afterAll(() => world?.stop())

  const startSlow = async (duration: number): Promise<string> => {
    const before = pinned(await user.work())
    const invocation = await user.send("slow", { seconds: duration })
    await waitFor("the invocation to be pinned", async () => pinned(await user.work()) > before)
    return invocation
  }
  const pinned = (work: ReadonlyArray<{ readonly pinned: number }>) => work.reduce((sum, { pinned: count }) => sum + count, 0)

  it("is not removed while the admin API is away, however long its drain delay is over", async () => {
    const slow = await startSlow(3)
    await user.setImage("greeter:v2")
    await user.ready("greeter:v2")
    world.admin.judge = () => "drop"
    expect(await user.result(slow)).toBe("v1 woke")
    // Twice the drain delay and the poll, with no work left and nobody to say so.
    await seconds(15)
    const held = await user.version("greeter:v1")
    expect(held).toMatchObject({ replicas: 1 })
    expect((await user.work()).map(({ id }) => id)).toContain(held?.deploymentId)
    const cutAt = world.admin.seen.length
    world.admin.judge = () => "pass"
    await waitFor("v1 to be removed", async () => (await user.version("greeter:v1")) === undefined, { timeoutMs: 60_000 })
    const after = world.admin.seen.slice(cutAt).filter(({ status }) => status === 200 || status === 202)
    const forgotten = after.findIndex(({ method }) => method === "DELETE")
    expect(after.slice(0, forgotten).some(({ url }) => url.endsWith("/query"))).toBe(true)
  })

  it("is met again under its old id when the template comes back while it drains", async () => {
    const before = await user.version("greeter:v2")
    const slow = await startSlow(12)
    await user.setImage("greeter:v3")
    await user.ready("greeter:v3")
    const newer = await user.version("greeter:v3")
    await user.setImage("greeter:v2")
    const object = await user.ready("greeter:v2")
    expect(object.status?.deploymentId).toBe(before?.deploymentId)
    expect(await user.routedTo()).toBe(before?.deploymentId)
    expect(await user.call("greet", "Ada")).toBe("v2: hello Ada")
    expect((await user.events()).map(({ reason }) => reason)).toContain("Promoted")
    // The other one is the old one now.
    await waitFor("v3 to be removed", async () => (await user.version("greeter:v3")) === undefined, { timeoutMs: 60_000 })
    expect((await user.work()).map(({ id }) => id)).not.toContain(newer?.deploymentId)
    expect(await user.result(slow)).toBe("v2 woke")
  })

  it("costs no write while nothing changes, and none while it drains", async () => {
    const slow = await startSlow(60)
    await user.setImage("greeter:v4")
    await user.ready("greeter:v4")
    await seconds(3)
    const before = world.api.seen.filter(isWrite).length
    await seconds(25)
    expect(world.api.seen.filter(isWrite).slice(before)).toEqual([])
    await fetch(`${world.sandbox.adminUrl}/invocations/${slow}/kill`, { method: "PATCH" })
    await waitFor("v2 to be removed", async () => (await user.version("greeter:v2")) === undefined, { timeoutMs: 60_000 })
  })

  it("is restarted into without a write: the operator finds everything as it left it", async () => {
    // The removal of v2 above is followed by one last write of the status.
    await seconds(1)
    const before = { api: world.api.seen.length, admin: world.admin.seen.length }
    await world.operator.stop()
    await world.restart()
    await seconds(3)
    expect(world.api.seen.slice(before.api).filter(isWrite)).toEqual([])
    const calls = world.admin.seen.slice(before.admin)
    expect(calls.filter(({ method }) => method !== "GET")).toEqual([])
  })

  it("follows the scale subresource without a new version", async () => {
    const { deploymentId } = (await user.version("greeter:v4")) ?? {}
    await world.sandbox.client.patch("/apis/durable.dev/v1beta1/namespaces/default/servicedeployments/greeter/scale", {
      spec: { replicas: 2 },
    })
    const object = await waitFor("two pods", async () => {
      const now = await user.get()
      return now?.status?.availableReplicas === 2 ? now : undefined
    })
    expect(object.status).toMatchObject({ deploymentId, replicas: 2, desiredReplicas: 2 })
    expect(await user.versions()).toHaveLength(1)
  })

  it("gets its Service back when somebody deletes it (scenario 71)", async () => {
    const { name } = (await user.version("greeter:v4")) ?? { name: "" }
    await world.sandbox.client.delete(`/api/v1/namespaces/default/services/${name}`)
    await waitFor("the Service", () => world.sandbox.client.find(`/api/v1/namespaces/default/services/${name}`), { timeoutMs: 10_000 })
  })

  it("holds its namespace until it is done: its pods go with the namespace, so it has to be cancelled (scenario 93)", async () => {
    const other = await world.user("doomed")
    await world.apply(other, (spec) => (spec.restate.drainDelaySeconds = 1))
    await other.ready("greeter:v1")
    const slow = await other.send("slow", { seconds: 600 })
    await waitFor("the invocation to be pinned", async () => pinned(await other.work()) > 0)
    await world.sandbox.client.delete("/api/v1/namespaces/doomed")
    await other.condition("DeploymentInUse")
    await seconds(5)
    expect(await other.get()).toBeDefined()
    expect(pinned(await other.work())).toBeGreaterThan(0)
    await fetch(`${world.sandbox.adminUrl}/invocations/${slow}/kill`, { method: "PATCH" })
    await waitFor("the namespace to go", async () => (await world.sandbox.client.find("/api/v1/namespaces/doomed")) === undefined, {
      timeoutMs: 60_000,
    })
    expect((await other.work()).filter(({ endpoint }) => endpoint.includes(".doomed."))).toEqual([])
  })

  it("holds the deletion of its object until it is done", async () => {
    const slow = await startSlow(8)
    await user.delete()
    const condition = await user.condition("DeploymentInUse")
    expect(condition.message).toContain("(1 pinned, 0 unpinned invocations)")
    expect(await user.result(slow)).toBe("v4 woke")
    await waitFor("the object to go", async () => (await user.get()) === undefined, { timeoutMs: 60_000 })
    expect(await user.work()).toEqual([])
    const reasons = (await user.events()).map(({ reason }) => reason)
    expect(reasons).toContain("DeleteRequested")
    expect(reasons.filter((reason) => reason === "DeploymentInUse")).toHaveLength(1)
  })
})
