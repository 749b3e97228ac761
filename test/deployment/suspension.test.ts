/** The annotation `reconcile: disabled` stops everything but its own report. */
import { describe, expect, it } from "vitest"
import { decide } from "../../src/deployment/decide.ts"
import { conclude } from "../../src/deployment/status.ts"
import {
  at,
  decided,
  deployment,
  planned,
  server,
  settings,
  snapshot,
  type Variation,
  version,
  vocabulary,
  type World,
} from "../support/given.ts"

const now = at(1000)
const annotated = (value: string): Variation => ({
  metadata: { annotations: { [vocabulary.annotations.reconcile]: value } },
  status: {
    deploymentId: "dp_1",
    labelSelector: "app=greeter",
    conditions: [{ type: "Ready", status: "True", reason: "Deployed", message: "", lastTransitionTime: "2025-01-01T00:00:00Z" }],
  },
})
const world = (variation: Variation): World => ({
  now,
  deployment: deployment("v2", variation),
  versions: [version("v1", { id: "dp_1", removeAt: 1 })],
  admin: server({ v1: { id: "dp_1" } }, { Greeter: "dp_1" }, { askedAt: now }),
})
const concluded = (given: World) => conclude(snapshot(given), decide(snapshot(given), settings), { outcomes: [], failures: [] }, settings)

describe("a suspended object", () => {
  it("has nothing done to it, whatever is due (scenario 98)", () => {
    expect(decided(world(annotated("disabled")))).toMatchObject({ steps: [], needs: [], interests: [], requeue: { _tag: "AwaitChange" } })
  })

  it("says so beside what it said before (scenario 98)", () => {
    const { status } = concluded(world(annotated("disabled")))
    expect(status).toMatchObject({
      reconciliation: "Disabled",
      deploymentId: "dp_1",
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime: "2025-01-01T00:00:00Z" },
        { type: "Reconciling", status: "False", reason: "Disabled", lastTransitionTime: "2026-01-01T00:16:40Z" },
      ],
    })
  })

  it("keeps the time at which it was suspended", () => {
    const first = concluded(world(annotated("disabled"))).status
    const later = { ...world({ ...annotated("disabled"), status: { ...first } }), now: now + 60_000 }
    expect(concluded(later).status).toEqual(first)
  })

  it.each(["Disabled", "true", ""])("is one only by the exact word, not by %j (scenario 98)", (value) => {
    expect(planned(world(annotated(value)))).not.toEqual([])
  })

  it("is deleted all the same, and its mark goes", () => {
    const { metadata, status } = annotated("disabled")
    const given = world({ metadata: { ...metadata, deletionTimestamp: new Date(at(990)).toISOString() }, ...(status ? { status } : {}) })
    const busy = { ...given, admin: server({ v1: { id: "dp_1", pinned: 1 } }, { Greeter: "dp_1" }, { askedAt: now }) }
    expect(concluded(busy).status).toMatchObject({
      reconciliation: "Reconciling",
      conditions: [{ reason: "DeploymentInUse" }, { type: "Reconciling", status: "True" }],
    })
  })

  it("is resuming until it is well again", () => {
    const resumed: World = {
      ...world({ status: { reconciliation: "Disabled" } }),
      versions: [version("v2", { ready: 0 })],
    }
    expect(concluded(resumed).status).toMatchObject({ reconciliation: "ResumingReconciliation" })
    const well: World = {
      ...resumed,
      versions: [version("v2", { id: "dp_2" })],
      admin: server({ v2: { id: "dp_2" } }, { Greeter: "dp_2" }, { askedAt: now }),
    }
    expect(concluded(well).status).toMatchObject({ reconciliation: "Reconciling" })
  })
})
