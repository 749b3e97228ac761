/** Older versions that have work are scaled by their load; the latest is its user's. */
import { describe, expect, it } from "vitest"
import { conclude } from "../../src/deployment/status.ts"
import { decide } from "../../src/deployment/decide.ts"
import { Rejected } from "../../src/errors.ts"
import type { HorizontalPodAutoscaler } from "../../src/resources/kubernetes.ts"
import { ownerReference } from "../../src/resources/meta.ts"
import {
  at,
  decided,
  deployment,
  nameOf,
  planned,
  server,
  settings,
  snapshot,
  type Variation,
  version,
  type World,
} from "../support/given.ts"

const now = at(1000)
const v1 = nameOf("v1")
const v2 = nameOf("v2")
const maxReplicas = { spec: { autoscaling: { maxReplicas: 5, minReplicas: 0 } } } satisfies Variation

const autoscaler = (name: string): HorizontalPodAutoscaler => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: {
    name,
    namespace: "default",
    uid: `hpa-${name}`,
    resourceVersion: "1",
    ownerReferences: [ownerReference(deployment("v1"))],
  },
  spec: { scaleTargetRef: { kind: "ReplicaSet", name } },
})

/** v2 is the latest; v1 has that much work and that many pods. */
const world = (
  variation: Variation,
  { pinned = 1, removeAt, replicas }: { pinned?: number; removeAt?: number; replicas?: number } = {},
  autoscalers: ReadonlyArray<HorizontalPodAutoscaler> = [],
): World => ({
  now,
  deployment: deployment("v2", variation),
  versions: [
    version("v2", { id: "dp_2", createdAt: 10 }),
    version("v1", { id: "dp_1", ...(removeAt === undefined ? {} : { removeAt }), ...(replicas === undefined ? {} : { replicas }) }),
  ],
  autoscalers,
  admin: server({ v1: { id: "dp_1", pinned }, v2: { id: "dp_2" } }, { Greeter: "dp_2" }, { askedAt: now }),
})

const applied = (given: World) =>
  decided(given).steps.flatMap(({ actions }) =>
    actions.flatMap((action) => (action._tag === "Apply" && action.object.ref.kind === "HorizontalPodAutoscaler" ? [action.object] : [])),
  )

describe("an older version with work", () => {
  it("has an autoscaler of its own, aimed at its ReplicaSet, and none is made for the latest (scenario 59)", () => {
    expect(planned(world(maxReplicas))).toEqual([
      `autoscale ${v1}: apply HorizontalPodAutoscaler default/${v1} as service-operator/autoscaling`,
    ])
    expect(applied(world(maxReplicas))).toMatchObject([
      { ref: { name: v1 }, body: { spec: { maxReplicas: 5, scaleTargetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: v1 } } } },
    ])
  })

  it("has at least one pod, whatever minReplicas says (scenario 64)", () => {
    expect(applied(world(maxReplicas))).toMatchObject([{ body: { spec: { minReplicas: 1 } } }])
  })

  it("goes back to spec.replicas when autoscaling is taken away (scenario 61)", () => {
    expect(planned(world({ spec: { replicas: 2 } }, { replicas: 4 }, [autoscaler(v1)]))).toEqual([
      `current version ${v2}: scale ${v2} to 2`,
      `autoscale ${v1}: delete HorizontalPodAutoscaler default/${v1}`,
      `autoscale ${v1}: scale ${v1} to 2`,
    ])
  })

  it("is never scaled to zero with it, although the latest is", () => {
    expect(planned(world({ spec: { replicas: 0 } }, { replicas: 4 }, [autoscaler(v1)]))).toEqual([
      `current version ${v2}: scale ${v2} to 0`,
      `autoscale ${v1}: delete HorizontalPodAutoscaler default/${v1}`,
    ])
  })

  it("keeps its autoscaler while it waits for its deadline, and loses it before its pods (scenario 59)", () => {
    expect(planned(world(maxReplicas, { pinned: 0, removeAt: 1060 }, [autoscaler(v1)]))).toEqual([])
    expect(planned(world(maxReplicas, { pinned: 0, removeAt: 999 }, [autoscaler(v1)]))).toEqual([
      `retire ${v1}: delete HorizontalPodAutoscaler default/${v1}`,
      `retire ${v1}: scale ${v1} to 0`,
    ])
  })

  it("leaves a target that the spec names aside, and says so", () => {
    const given = world({ spec: { autoscaling: { maxReplicas: 5, scaleTargetRef: { kind: "Deployment", name: "other" } } } })
    expect(applied(given)).toMatchObject([{ body: { spec: { scaleTargetRef: { kind: "ReplicaSet", name: v1 } } } }])
    expect(decided(given)).toMatchObject({ verdict: { warnings: [{ reason: "AutoscalingTargetIgnored" }] } })
  })
})

describe("the latest version", () => {
  it("loses the autoscaler that it had as an older one, and spec.replicas governs (scenario 60)", () => {
    const back: World = {
      ...world(maxReplicas, {}, [autoscaler(v1)]),
      deployment: deployment("v1", maxReplicas),
      versions: [version("v1", { id: "dp_1", replicas: 4 })],
      admin: server({ v1: { id: "dp_1" } }, { Greeter: "dp_1" }, { askedAt: now }),
    }
    expect(planned(back)).toEqual([
      `no autoscaling of ${v1}: delete HorizontalPodAutoscaler default/${v1}`,
      `current version ${v1}: scale ${v1} to 1`,
    ])
  })

  it("is not held up by the autoscaler of a version that is gone", () => {
    expect(planned(world({}, {}, [autoscaler("greeter-gone")]))).toEqual([
      "no autoscaling of greeter-gone: delete HorizontalPodAutoscaler default/greeter-gone",
    ])
  })
})

describe("an autoscaler that the API server refuses", () => {
  it("is told by one Warning and holds nothing else up (scenario 62)", () => {
    const given = snapshot(world(maxReplicas))
    const plan = decide(given, settings)
    const step = plan.steps.find(({ why }) => why.startsWith("autoscale"))
    const action = step?.actions[0]
    if (step === undefined || action === undefined) throw new Error("no autoscaler is planned")
    expect(step.onFailure).toBe("next")
    const error = new Rejected({ server: "kubernetes", status: 422, code: "Invalid", detail: "spec.metrics: Invalid value" })
    expect(conclude(given, plan, { outcomes: [], failures: [{ why: step.why, action, error }] }, settings)).toMatchObject({
      status: { conditions: [{ type: "Ready", status: "True", reason: "Deployed" }] },
      announcements: [{ type: "Warning", reason: "AutoscalingApplyFailed", note: "spec.autoscaling: spec.metrics: Invalid value" }],
      requeue: { _tag: "AwaitChange" },
      outcome: "ok",
    })
  })
})

describe("a deletion", () => {
  it("makes no autoscaler, and removes the one there is with its version", () => {
    const deleted: Variation = { ...maxReplicas, metadata: { deletionTimestamp: new Date(at(990)).toISOString() } }
    const busy = world(deleted)
    expect(applied(busy)).toEqual([])
    expect(
      planned({
        ...world(deleted, { pinned: 0, removeAt: 999 }, [autoscaler(v1)]),
        versions: [version("v1", { id: "dp_1", removeAt: 999 })],
      }),
    ).toEqual([`retire ${v1}: delete HorizontalPodAutoscaler default/${v1}`, `retire ${v1}: forget dp_1`, `retire ${v1}: delete ${v1}`])
  })
})
