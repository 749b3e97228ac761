/**
 * Objects as the existing operator leaves them, adopted while they live: two versions of which one drains under an
 * autoscaler, a removal deadline that nobody took off, records without their server, and a status of the older CRD.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { waitFor } from "../../sandbox/wait.ts"
import type { User } from "../../sandbox/user.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { isWrite } from "../support/fault-proxy.ts"
import { OperatorWorld } from "../support/operator-world.ts"

const { annotations, labels, managers, operator, resources } = vocabularies.restate

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string }
}

describe("a take-over", () => {
  let world: OperatorWorld
  let user: User
  let slow: string
  beforeAll(async () => {
    world = await OperatorWorld.start("restate")
    user = await world.user()
    await world.apply(user, (spec) => (spec.restate.drainDelaySeconds = 2))
    await user.ready("greeter:v1")
    slow = await user.send("slow", { seconds: 25 })
    await waitFor("the invocation to be pinned", async () => (await user.work()).some(({ pinned }) => pinned > 0))
    await user.setImage("greeter:v2")
    await user.ready("greeter:v2")
    await world.operator.stop()
    await disguise()
  })
  afterAll(() => world?.stop())

  const api = () => world.sandbox.client
  const sets = "/apis/apps/v1/namespaces/default/replicasets"
  const { group, version, plural } = resources.deployment
  const path = `/apis/${group}/${version}/namespaces/default/${plural}/greeter`

  /** Takes off what only this operator writes, and puts on what the existing one leaves behind. */
  const disguise = async (): Promise<void> => {
    for (const { image, name } of await user.versions()) {
      const stale = image === "greeter:v2" ? { [annotations.removeAt]: "2026-01-01T00:00:00Z" } : {}
      await api().patch(`${sets}/${name}`, { metadata: { annotations: { [annotations.registeredWith]: null, ...stale } } })
    }
    const old = await user.version("greeter:v1")
    const uid = (await user.get())?.metadata.uid
    await api().create("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: {
        name: old?.name ?? "",
        labels: { "app.kubernetes.io/managed-by": operator, [labels.ownedBy]: "greeter" },
        ownerReferences: [
          {
            apiVersion: `${group}/${version}`,
            kind: resources.deployment.kind,
            name: "greeter",
            uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
        managedFields: [
          { manager: managers.autoscaling, operation: "Apply", apiVersion: "autoscaling/v2", fieldsType: "FieldsV1", fieldsV1: {} },
        ],
      },
      spec: { maxReplicas: 4, minReplicas: 1, scaleTargetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: old?.name ?? "" } },
    })
    await api().patch(path, { spec: { autoscaling: { maxReplicas: 4 } } })
    await api().patch(`${path}/status`, { status: { versions: null, reconciliation: null, observedGeneration: 2 } })
  }

  it("restarts no pod, registers nothing, changes no id, and drains on", async () => {
    const before = { pods: await api().list<Pod>("/api/v1/namespaces/default/pods"), versions: await user.versions() }
    const marks = { admin: world.admin.seen.length, api: world.api.seen.length }
    await world.restart()
    await waitFor("the stale deadline to be taken off", async () => (await user.version("greeter:v2"))?.removeAt === undefined)
    await user.ready("greeter:v2")
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const ids = (versions: ReadonlyArray<{ readonly name: string; readonly deploymentId: string | undefined }>) =>
      versions.map(({ deploymentId, name }) => `${name} ${deploymentId ?? ""}`).toSorted()
    expect(ids(await user.versions())).toEqual(ids(before.versions))
    const uids = (pods: ReadonlyArray<Pod>) => pods.map(({ metadata }) => metadata.uid).toSorted()
    expect(uids(await api().list<Pod>("/api/v1/namespaces/default/pods"))).toEqual(uids(before.pods))
    expect(world.admin.seen.slice(marks.admin).filter(isWrite)).toEqual([])
    const writes = world.api.seen.slice(marks.api).filter(isWrite)
    expect(writes.filter(({ method }) => method !== "PATCH")).toEqual([])
    expect(writes.length).toBeLessThanOrEqual(5)
    expect(await user.result(slow)).toBe("v1 woke")
    await waitFor("v1 to be removed", async () => (await user.version("greeter:v1")) === undefined, { timeoutMs: 60_000 })
    const autoscalers = await api().list("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers")
    expect(autoscalers).toEqual([])
    expect(await user.call("greet", "Ada")).toBe("v2: hello Ada")
  })
})
