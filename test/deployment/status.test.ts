/** What people see: conditions, counts and events are functions of state, and stand still while nothing changes. */
import { describe, expect, it } from "vitest"
import { conclude } from "../../src/deployment/status.ts"
import type { Conclusion } from "../../src/engine/kind.ts"
import type { Plan, Report } from "../../src/engine/plan.ts"
import type { Verdict } from "../../src/deployment/verdict.ts"
import { Conflict, Forbidden, Rejected, Unavailable, type WriteError } from "../../src/errors.ts"
import { decide } from "../../src/deployment/decide.ts"
import { at, deployment, nameOf, server, settings, snapshot, unseen, version, vocabulary, type World } from "../support/given.ts"

const now = at(1000)
const quiet: Report = { outcomes: [], failures: [] }

const planOf = (world: World): Plan<Verdict> => decide(snapshot(world), settings)

const concluded = (world: World, report: Report = quiet): Conclusion => conclude(snapshot(world), planOf(world), report, settings)

const failing = (world: World, error: WriteError): Conclusion => {
  const [step] = planOf(world).steps.toReversed()
  const action = step?.actions[0]
  if (step === undefined || action === undefined) throw new Error("the plan does nothing that could fail")
  return concluded(world, { outcomes: [], failures: [{ why: step.why, action, error }] })
}

const draining: World = {
  now,
  deployment: deployment("v2"),
  versions: [version("v2", { id: "dp_2", createdAt: 5 }), version("v1", { id: "dp_1" })],
  admin: server({ v1: { id: "dp_1", pinned: 1234 }, v2: { id: "dp_2" } }, { Greeter: "dp_2" }, { askedAt: now }),
}
const starting: World = { now, deployment: deployment("v1"), versions: [version("v1")] }
const waiting: World = { now, deployment: deployment("v1"), versions: [version("v1", { ready: 0 })] }

describe("the status", () => {
  it("shows no number of what cannot be asked, least of all zero", () => {
    const blind: World = {
      now,
      deployment: deployment("v1", {
        metadata: { deletionTimestamp: new Date(at(990)).toISOString() },
        status: { versions: [{ name: nameOf("v1"), state: "Current", deploymentId: "dp_1", since: new Date(at(1)).toISOString() }] },
      }),
      versions: [version("v1", { id: "dp_1" })],
      admin: { ...server({}, {}, { askedAt: now }), usage: unseen(now) },
    }
    const status: object = concluded(blind).status ?? {}
    expect(status).toMatchObject({ versions: [{ name: nameOf("v1"), state: "Unknown", deploymentId: "dp_1" }] })
    expect(JSON.stringify(status)).not.toMatch(/pinned|totalPendingInvocations/)
  })

  it("names the versions that drain, in numbers that do not move with every invocation", () => {
    const { status } = concluded(draining)
    expect(status).toMatchObject({
      deploymentId: "dp_2",
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "Deployed",
          message: `${nameOf("v2")} is deployed; draining ${nameOf("v1")} (2000 or fewer pinned, 0 unpinned invocations)`,
        },
      ],
    })
    const fewer = {
      ...draining,
      admin: server({ v1: { id: "dp_1", pinned: 1100 }, v2: { id: "dp_2" } }, { Greeter: "dp_2" }, { askedAt: now }),
    }
    expect(concluded(fewer).status).toEqual(status)
  })

  it("has Reconciling only while progress is expected, and not for an old version that drains", () => {
    const types = (conclusion: Conclusion) => JSON.stringify(conclusion.status).match(/"type":"\w+"/g)
    expect(types(concluded(waiting))).toEqual(['"type":"Ready"', '"type":"Reconciling"'])
    expect(types(concluded(draining))).toEqual(['"type":"Ready"'])
  })

  it("moves a transition time only with the condition's status", () => {
    const conditions = [
      { type: "Ready", status: "False" as const, reason: "Other", message: "", lastTransitionTime: "2025-01-01T00:00:00Z" },
    ]
    const before = { ...waiting, deployment: deployment("v1", { status: { conditions } }) }
    expect(concluded(before).status).toMatchObject({
      conditions: [{ lastTransitionTime: "2025-01-01T00:00:00Z" }, { lastTransitionTime: "2026-01-01T00:16:40Z" }],
    })
  })

  it("is the same for the same world at another time", () => {
    const first = concluded(waiting).status
    const later = { ...waiting, now: now + 5000, deployment: deployment("v1", { status: { ...first } }) }
    expect(concluded(later).status).toEqual(first)
  })

  it("drops the id of a version that is not the current one any more", () => {
    expect(concluded({ ...waiting, deployment: deployment("v1", { status: { deploymentId: "dp_old" } }) }).status).not.toHaveProperty(
      "deploymentId",
    )
  })

  it("answers collisions in a row more and more slowly: somebody rewrites what we create", () => {
    const rewritten = version("v1", { annotations: { [vocabulary.annotations.podTemplate]: "" } })
    const delay = (collisionCount: number) => {
      const variation = { status: { collisionCount } }
      const named = version("v1", { annotations: { [vocabulary.annotations.podTemplate]: "" } }, variation)
      return concluded({ now, deployment: deployment("v1", variation), versions: [named] }).requeue
    }
    expect(concluded({ ...starting, versions: [rewritten] }).requeue).toMatchObject({ delay: 0 })
    expect([delay(1), delay(3), delay(50)]).toMatchObject([{ delay: 2000 }, { delay: 8000 }, { delay: 300_000 }])
  })

  it("counts a collision once for each name that is taken", () => {
    const taken: World = { ...starting, versions: [] }
    const [step] = planOf(taken).steps
    const action = step?.actions[0]
    if (action === undefined) throw new Error("nothing is created")
    const conclusion = concluded(taken, { outcomes: [{ _tag: "Taken", action, object: version("v2") }], failures: [] })
    expect(conclusion).toMatchObject({
      status: { collisionCount: 1, conditions: [{ reason: "HashCollision" }, {}] },
      requeue: { _tag: "After", delay: 0 },
    })
  })
})

describe("a registration that is not routed to", () => {
  it("lists who serves instead, and comes back (scenario 79)", () => {
    const action = planOf(starting).steps.at(-1)?.actions[0]
    if (action === undefined) throw new Error("nothing is registered")
    const misrouted = [{ service: "Greeter", deploymentId: "dp_other" }]
    const outcome = { _tag: "Registered", action, id: "dp_1", services: ["Greeter"], misrouted } as const
    expect(concluded(starting, { outcomes: [outcome], failures: [] })).toMatchObject({
      status: {
        deploymentId: "dp_1",
        conditions: [{ type: "Ready", status: "False", reason: "NotLatest", message: expect.stringContaining("Greeter -> dp_other") }, {}],
      },
      requeue: { _tag: "After", delay: 30_000 },
    })
  })
})

describe("a name that is taken", () => {
  it("by this very version is no collision: the answer to our own Create was lost", () => {
    const world: World = { ...starting, versions: [] }
    const action = planOf(world).steps[0]?.actions[0]
    if (action === undefined) throw new Error("nothing is created")
    const conclusion = concluded(world, { outcomes: [{ _tag: "Taken", action, object: version("v1") }], failures: [] })
    expect(conclusion).toMatchObject({ status: undefined, requeue: { _tag: "After", delay: 0 } })
  })
})

describe("a failure", () => {
  it.each([
    [
      "a refusal for good",
      new Rejected({ server: "admin", status: 409, code: "META0006", detail: "[META0006] no" }),
      "RegistrationRejected",
      "rejected",
    ],
    [
      "an answer that is an error",
      new Unavailable({ server: "admin", status: 500, detail: "[META0003] no" }),
      "AdminCallRejected",
      "unavailable",
    ],
    ["no answer", new Unavailable({ server: "admin", detail: "refused" }), "AdminCallFailed", "unavailable"],
    ["a success that makes no sense", new Unavailable({ server: "admin", status: 200, detail: "HTML" }), "AdminCallFailed", "unavailable"],
    ["a missing right", new Forbidden({ verb: "patch", subject: "replicasets.apps", detail: "no" }), "FailedReconcile", "forbidden"],
  ])("that is %s has its own reason, one Warning and its own pace", (_, error, reason, policy) => {
    const conclusion = failing(starting, error)
    expect(conclusion).toMatchObject({
      status: { conditions: [{ type: "Ready", reason }, {}] },
      requeue: { _tag: "Retry", policy },
      announcements: [{ type: "Warning", reason }],
    })
    const told = {
      ...starting,
      deployment: deployment("v1", { status: { conditions: JSON.parse(JSON.stringify(conclusion.status?.["conditions"])) } }),
    }
    if (reason !== "RegistrationRejected") expect(failing(told, error).announcements).toEqual([])
  })

  it("that is a conflict says nothing and comes back at once", () => {
    expect(failing(starting, new Conflict({ detail: "" }))).toMatchObject({
      status: undefined,
      announcements: [],
      requeue: { _tag: "Retry", policy: "conflict" },
    })
  })
})

describe("pods that do not come up", () => {
  const stuck = (seconds: number): World => {
    const conditions = [
      {
        type: "Ready",
        status: "False" as const,
        reason: "ReplicaSetPodNotReady",
        message: "",
        lastTransitionTime: new Date(now - seconds * 1000).toISOString(),
      },
    ]
    return { ...waiting, deployment: deployment("v1", { status: { conditions } }) }
  }

  it("are told after a minute, by the field that asks for them", () => {
    expect(concluded(stuck(10)).announcements).toEqual([])
    expect(concluded(stuck(61)).announcements).toMatchObject([
      { type: "Warning", reason: "ReplicaSetPodNotReady", note: expect.stringMatching(/^spec\.template: 0 of 1 pods/) },
    ])
  })
})
