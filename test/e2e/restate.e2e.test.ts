/** The `restate` vocabulary, once through its life: the same operator under the names of the one it takes over from. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { waitFor } from "../../sandbox/wait.ts"
import { OperatorWorld } from "../support/operator-world.ts"

let world: OperatorWorld
beforeAll(async () => {
  world = await OperatorWorld.start("restate")
})
afterAll(() => world?.stop())

it("rolls a RestateDeployment over and leaves only restate.dev names behind", async () => {
  const user = await world.user()
  await world.apply(user, (spec) => (spec.restate.drainDelaySeconds = 1))
  await user.ready("greeter:v1")
  const slow = await user.send("slow", { seconds: 2 })
  await waitFor("the invocation to be pinned", async () => (await user.work()).some(({ pinned }) => pinned > 0))
  await user.setImage("greeter:v2")
  const object = await user.ready("greeter:v2")
  expect(object.metadata.finalizers).toEqual(["deployments.restate.dev"])
  expect(await user.result(slow)).toBe("v1 woke")
  await waitFor("v1 to be removed", async () => (await user.version("greeter:v1")) === undefined, { timeoutMs: 60_000 })
  const sets = await world.sandbox.client.list("/apis/apps/v1/namespaces/default/replicasets")
  expect(sets.map(({ metadata }) => metadata.labels)).toEqual([
    expect.objectContaining({ "app.kubernetes.io/managed-by": "restate-operator", "restate.dev/owned-by": "greeter" }),
  ])
  expect(JSON.stringify([sets, object])).not.toContain("durable.dev")
  await world.remove(user)
  expect(await user.work()).toEqual([])
})
