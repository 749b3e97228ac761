/** deletePolicy and drain: when a deletion stops waiting, and what it says meanwhile (operator.md §8.1). */
import { describe, expect, it } from "vitest"
import { parseExactly } from "#src/kubernetes/json.ts"
import { decide } from "../../src/deployment/decide.ts"
import { conclude } from "../../src/deployment/status.ts"
import { type Action, line } from "../../src/engine/action.ts"
import type { Report } from "../../src/engine/plan.ts"
import type { ServiceDeploymentSpec } from "../../src/resources/generated/service-deployment.ts"
import { at, decided, deployment, nameOf, planned, server, settings, snapshot, unseen, version, type World } from "../support/given.ts"

const now = at(1000)
const v1 = nameOf("v1")
const v2 = nameOf("v2")

interface Facts {
  readonly restate: Partial<ServiceDeploymentSpec["restate"]>
  /** Seconds since the deletion. */
  readonly waited?: number
  readonly pinned?: number
  /** Whether an earlier pass has written down that it goes by force. */
  readonly told?: boolean
}

const world = ({ pinned = 3, restate, told = true, waited = 10 }: Facts): World => ({
  now,
  deployment: deployment("v2", {
    restate,
    metadata: { deletionTimestamp: new Date(now - waited * 1000).toISOString() },
    status: told ? { deletion: { policy: "force", phase: "Forcing", totalPendingInvocations: 0 } } : {},
  }),
  versions: [version("v2", { id: "dp_2", createdAt: 5 }), version("v1", { id: "dp_1" })],
  admin: server({ v1: { id: "dp_1", pinned }, v2: { id: "dp_2", unpinned: 1 } }, { Greeter: "dp_2" }, { askedAt: now }),
})

const force = { deletePolicy: "force" } as const
// The one that serves goes last: without it the server would fall back to the older one.
const all = [`force ${v1}: forget dp_1`, `force ${v1}: delete ${v1}`, `force ${v2}: forget dp_2`, `force ${v2}: delete ${v2}`]

const concluded = (given: World, report: Report = { outcomes: [], failures: [] }) =>
  conclude(snapshot(given), decide(snapshot(given), settings), report, settings)

const done = (given: World): Report => ({
  outcomes: decided(given).steps.flatMap(({ actions }) => actions.map((action: Action) => ({ _tag: "Done", action }) as const)),
  failures: [],
})

describe("deletePolicy force", () => {
  it("removes every version in one pass, registrations first (scenario 95)", () => {
    expect(planned(world({ restate: force }))).toEqual(all)
  })

  it("is written down before the first version goes", () => {
    const first = world({ restate: force, told: false })
    expect(planned(first)).toEqual([])
    expect(concluded(first)).toMatchObject({
      status: { deletion: { policy: "force", phase: "Forcing" }, conditions: [{ reason: "DeletionForced" }, {}] },
      requeue: { _tag: "After", delay: 0 },
    })
  })

  it("is believed by its condition alone, where an older CRD drops status.deletion", () => {
    const conditions = concluded(world({ restate: force, told: false })).status?.["conditions"]
    const given = world({ restate: force })
    const pruned = deployment("v2", {
      restate: force,
      metadata: given.deployment.metadata,
      status: { conditions: JSON.parse(JSON.stringify(conditions)) },
    })
    expect(planned({ ...given, deployment: pruned })).toEqual(all)
  })

  it("names what it has taken from people, once it has happened (scenario 95)", () => {
    const given = world({ restate: force })
    const forced = { type: "Warning", reason: "ForcedDeletion" }
    expect(concluded(given, done(given)).announcements).toContainEqual(
      expect.objectContaining({
        ...forced,
        note: `removed with unfinished invocations: ${[`${v1} (3 pinned invocations) registered as dp_1`, `${v2} (0 pinned, 1 unpinned invocations) registered as dp_2`].toSorted().join(", ")}`,
      }),
    )
    expect(concluded(given).announcements).not.toContainEqual(expect.objectContaining(forced))
  })

  it("removes nothing while the server does not say what is left behind", () => {
    const given = world({ restate: force })
    const away = { ...given, admin: { ...server({}, {}, { askedAt: now }), usage: unseen(now) } }
    expect(planned(away)).toEqual([])
    expect(decided(away)).toMatchObject({ verdict: { state: { _tag: "Unreachable" } } })
  })

  it("does not wait for a deadline that was written down while it drained", () => {
    const given = world({ restate: force })
    const stamped = {
      ...given,
      versions: [version("v2", { id: "dp_2", createdAt: 5, removeAt: 5_000 }), version("v1", { id: "dp_1", removeAt: 5_000 })],
    }
    expect(planned(stamped)).toEqual(all)
  })

  it("asks again rather than destroy on an old answer", () => {
    const given = world({ restate: force })
    const old = { ...given, admin: server({ v1: { id: "dp_1" } }, {}, { askedAt: now - 5_001 }) }
    expect(planned(old).filter((text) => !text.startsWith("need"))).toEqual([])
  })

  it("takes effect on an object that is being drained already (scenario 97)", () => {
    expect(decided(world({ restate: {}, told: false }))).toMatchObject({ verdict: { state: { _tag: "DeletionBlocked" } } })
    expect(decided(world({ restate: force, told: false }))).toMatchObject({ verdict: { state: { _tag: "Forcing" } } })
  })
})

describe("a drain with a time limit", () => {
  const drain = (onTimeout: "hold" | "force") => ({ drain: { timeoutSeconds: 60, onTimeout } })

  it("looks again no later than at its limit", () => {
    expect(decided(world({ restate: drain("hold"), waited: 50, told: false }))).toMatchObject({ requeue: { _tag: "After", delay: 10_000 } })
    expect(decided(world({ restate: drain("hold"), waited: 61, told: false }))).toMatchObject({ requeue: { _tag: "After", delay: 30_000 } })
  })

  it("holds on past the limit, and says that it is overdue and what can be done (scenario 96)", () => {
    const overdue = world({ restate: drain("hold"), waited: 61, told: false })
    expect(planned(overdue)).toEqual([])
    expect(concluded(overdue)).toMatchObject({
      status: {
        deletion: {
          policy: "drain",
          phase: "Overdue",
          onTimeout: "hold",
          startedAt: "2026-01-01T00:15:39Z",
          deadline: "2026-01-01T00:16:39Z",
          totalPendingInvocations: 4,
          pendingInvocations: [
            { version: v2, deploymentId: "dp_2", pinned: 0, unpinned: 1 },
            { version: v1, deploymentId: "dp_1", pinned: 3, unpinned: 0 },
          ],
        },
        conditions: [{ reason: "DeletionDrainOverdue", message: expect.stringContaining("deletePolicy force") }, {}],
      },
    })
    expect(concluded(overdue).announcements).toContainEqual(expect.objectContaining({ type: "Warning", reason: "DeletionDrainOverdue" }))
  })

  it("is not overdue while it only waits out the drain delay", () => {
    const idle = server({ v1: { id: "dp_1" }, v2: { id: "dp_2" } }, { Greeter: "dp_2" }, { askedAt: now })
    expect(concluded({ ...world({ restate: drain("hold"), waited: 61, told: false }), admin: idle }).status).toMatchObject({
      deletion: { phase: "Draining", totalPendingInvocations: 0 },
      conditions: [{ reason: "DeploymentDraining" }, {}],
    })
  })

  it("goes by force past the limit when it says so, and is never shown as overdue (scenario 96)", () => {
    expect(concluded(world({ restate: drain("force"), waited: 61, told: false })).status).toMatchObject({
      deletion: { policy: "drain", phase: "Forcing" },
    })
    expect(planned(world({ restate: drain("force"), waited: 61 }))).toEqual(all)
  })

  it("waits out the drain delay no longer than to the limit", () => {
    const idle = {
      ...world({ restate: drain("force"), waited: 50, told: false }),
      admin: server({ v1: { id: "dp_1" }, v2: { id: "dp_2" } }, { Greeter: "dp_2" }, { askedAt: now }),
    }
    expect(decided(idle)).toMatchObject({ verdict: { state: { _tag: "DeletionDraining" } }, requeue: { _tag: "After", delay: 10_000 } })
  })

  it.each(["1000000000000000", "9007199254740993", "-5", '"soon"'])("of %s does not stop the decision", (text) => {
    const odd: object = Object(parseExactly(`{"drain": {"timeoutSeconds": ${text}, "onTimeout": "hold"}}`))
    expect(decided(world({ restate: odd, told: false }))).toMatchObject({ verdict: { state: { _tag: "DeletionBlocked" } } })
  })
})

describe("a plan for a forced deletion", () => {
  it("deregisters each version before it deletes it", () => {
    for (const { actions } of decided(world({ restate: force })).steps) expect(actions.map(line)[0]).toMatch(/^forget/)
  })
})
