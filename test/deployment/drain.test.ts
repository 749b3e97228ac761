/** What becomes of old versions: the rule whose breach loses people's work. */
import { describe, expect, it } from "vitest"
import { parseExactly } from "#src/kubernetes/json.ts"
import { at, decided, deployment, nameOf, planned, server, type ServerFacts, unseen, version, type Variation } from "../support/given.ts"

const now = at(1000)
const v1 = nameOf("v1")
const routes = { Greeter: "dp_2" }
const both: ServerFacts = { v1: { id: "dp_1" }, v2: { id: "dp_2" } }
const current = version("v2", { id: "dp_2", createdAt: 10 })

const world = (
  facts: {
    removeAt?: number | string
    pinned?: number
    replicas?: number
    askedAt?: number
    touchedAt?: number
    known?: ServerFacts
  } & Variation,
) => {
  const { removeAt, replicas, pinned = 0, askedAt = now, touchedAt, known = { ...both, v1: { id: "dp_1", pinned } }, ...variation } = facts
  return {
    now,
    deployment: deployment("v2", variation),
    versions: [
      current,
      version("v1", { id: "dp_1", ...(removeAt === undefined ? {} : { removeAt }), ...(replicas === undefined ? {} : { replicas }) }),
    ],
    admin: server(known, routes, { askedAt, ...(touchedAt === undefined ? {} : { touchedAt }) }),
  }
}

describe("a version that is not the latest", () => {
  it("is left alone while it has pinned work, and its numbers are watched", () => {
    const decision = decided(world({ pinned: 2 }))
    expect(planned(world({ pinned: 2 }))).toEqual([])
    expect(decision).toMatchObject({ verdict: { state: { _tag: "Deployed" } } })
    expect(decision.interests).toContainEqual(expect.objectContaining({ look: "usage", ids: ["dp_1"] }))
  })

  it("gets a deadline once its work is done", () => {
    expect(planned(world({}))).toEqual([`drained ${v1}: apply ${v1} as service-operator/remove-version-at`])
    expect(decided(world({}))).toMatchObject({ requeue: { _tag: "After", delay: 300_000 } })
  })

  it("waits for its deadline", () => {
    expect(planned(world({ removeAt: 1060 }))).toEqual([])
    expect(decided(world({ removeAt: 1060 }))).toMatchObject({ requeue: { _tag: "After", delay: 60_000 } })
  })

  it("loses its deadline when it has work again", () => {
    expect(planned(world({ removeAt: 1060, pinned: 1 }))).toEqual([`in use ${v1}: drop durable.dev/remove-version-at from ${v1}`])
  })

  it("goes to zero pods after its deadline and stays registered within the history limit", () => {
    expect(planned(world({ removeAt: 999 }))).toEqual([`retire ${v1}: scale ${v1} to 0`])
  })

  it("is forgotten before it is deleted, beyond the history limit", () => {
    expect(planned(world({ removeAt: 999, spec: { revisionHistoryLimit: 0 } }))).toEqual([
      `retire ${v1}: forget dp_1`,
      `retire ${v1}: delete ${v1}`,
    ])
  })

  it("is not asked about any more once it rests", () => {
    expect(planned({ ...world({ removeAt: 999, replicas: 0 }), admin: server(both, routes, { askedAt: now - 50_000 }) })).toEqual([])
  })

  it("goes at once when the drain delay is 0", () => {
    expect(planned(world({ restate: { drainDelaySeconds: 0 }, spec: { revisionHistoryLimit: 0 } }))).toEqual([
      `retire ${v1}: forget dp_1`,
      `retire ${v1}: delete ${v1}`,
    ])
  })

  it("keeps its Service as long as it has pods: the server still calls it", () => {
    const addresses = decided(world({ pinned: 1 })).steps.flatMap(({ actions }) =>
      actions.flatMap((action) => (action._tag === "Apply" ? [action.object.ref.name] : [])),
    )
    expect(addresses).toEqual([nameOf("v2"), v1])
  })

  it("treats a deadline that is no date as none", () => {
    expect(planned(world({ removeAt: "soon" }))).toEqual([`drained ${v1}: apply ${v1} as service-operator/remove-version-at`])
  })
})

describe("unknown is never zero", () => {
  const due = world({ removeAt: 999 })

  it("removes nothing while the server does not answer", () => {
    const admin = { ...server(both, routes, { askedAt: now }), usage: unseen(now) }
    expect(planned({ ...due, admin })).toEqual([])
    expect(decided({ ...due, admin })).toMatchObject({ verdict: { state: { _tag: "Unreachable" } } })
  })

  it.each([
    ["older than 5 s", { askedAt: now - 5_001 }],
    ["asked before our own last change of the routing", { askedAt: now - 2000, touchedAt: now - 1000 }],
    ["asked before the deadline", { askedAt: now - 2000, removeAt: 999 }],
  ])("asks again rather than destroy on an answer %s", (_, facts) => {
    expect(planned(world({ removeAt: 990, ...facts }))).toEqual(["need usage of url/http://admin:9070"])
  })

  it("does nothing while a registration of ours is in flight", () => {
    expect(planned(world({ removeAt: 999, touchedAt: Infinity }))).toEqual([])
  })

  it("buries nothing when the server suddenly knows none of our versions", () => {
    const wiped = { ...due, admin: { ...server({}, {}, { askedAt: now }), routing: server(both, routes, { askedAt: now }).routing } }
    expect(planned(wiped)).toEqual([])
    expect(decided(wiped)).toMatchObject({ verdict: { warnings: [{ reason: "ServerForgotVersions" }] } })
  })

  it("takes two answers a drain delay apart for a version that the server forgot while it knows another of ours", () => {
    const known = { v2: { id: "dp_2" } }
    expect(planned(world({ known }))).toEqual([`drained ${v1}: apply ${v1} as service-operator/remove-version-at`])
    expect(planned(world({ known, removeAt: 999 }))).toEqual([`bury forgotten ${v1}: scale ${v1} to 0`])
  })

  it("leaves a version alone whose record leads to somebody else and whose address to nobody", () => {
    const versions = [current, version("v1", { id: "dp_other", removeAt: 1 })]
    const admin = server({ v2: { id: "dp_2" }, other: { id: "dp_other" } }, routes, { askedAt: now })
    expect(planned({ ...world({}), versions, admin })).toEqual([])
  })

  it("believes the address rather than a record that was edited", () => {
    const versions = [current, version("v1", { id: "dp_other", removeAt: 1 })]
    const admin = server({ ...both, v1: { id: "dp_1", pinned: 1 }, other: { id: "dp_other" } }, routes, { askedAt: now })
    expect(planned({ ...world({}), versions, admin })).toEqual([`in use ${v1}: drop durable.dev/remove-version-at from ${v1}`])
  })

  it("spares a version whose record a crash prevented, when the server has its address", () => {
    const versions = [current, version("v1")]
    expect(planned({ ...world({ pinned: 1 }), versions })).toEqual([`in use ${v1}: apply ${v1} as service-operator/registered-with`])
  })

  it("removes a version that was never registered", () => {
    const versions = [current, version("v1")]
    expect(planned({ ...world({}), versions, admin: server({ v2: { id: "dp_2" } }, routes, { askedAt: now }) })).toEqual([
      `bury unregistered ${v1}: scale ${v1} to 0`,
    ])
  })

  it("says so when each answer is too old as it comes, and does not ask as fast as the server can", () => {
    const late = (took: number) => ({ ...world({ removeAt: 999 }), admin: server(both, routes, { askedAt: now - 6000, took }) })
    expect(planned(late(6000))).toEqual([])
    expect(decided(late(6000))).toMatchObject({
      interests: [{ look: "usage", ids: ["dp_1"] }, { look: "routing" }],
      verdict: { state: { _tag: "Unreachable", missing: { because: expect.stringContaining("takes 6 s to answer") } } },
    })
    expect(planned(late(100))).toEqual(["need usage of url/http://admin:9070"])
  })

  it("leaves a version alone whose annotation names no server that it knows", () => {
    const versions = [current, version("v1", { id: "dp_1", registeredWith: "nonsense", removeAt: 1 })]
    expect(planned({ ...world({}), versions })).toEqual([])
  })
})

describe("a drain delay that no date can hold", () => {
  it.each(["10000000000000", "9007199254740991", "9007199254740993", "9223372036854775807", "{}"])(
    "%s does not stop the decision",
    (text) => {
      // As the API server's answer is read: beyond 2^53 it is no number.
      const restate: object = Object(parseExactly(`{"drainDelaySeconds": ${text}}`))
      const odd = { ...world({}), deployment: deployment("v2", { restate }) }
      expect(planned(odd)).toEqual([`drained ${v1}: apply ${v1} as service-operator/remove-version-at`])
    },
  )
})

describe("the history", () => {
  it("keeps the newest, and counts only finished versions", () => {
    const old = ["a", "b", "c"].map((variant, i) => version(variant, { id: `dp_${variant}`, removeAt: 900, createdAt: i }))
    const facts = Object.fromEntries(["a", "b", "c"].map((variant) => [variant, { id: `dp_${variant}` }]))
    const lines = planned({
      now,
      deployment: deployment("v2", { spec: { revisionHistoryLimit: 1 } }),
      versions: [current, ...old],
      admin: server({ ...both, ...facts }, routes, { askedAt: now }),
    })
    expect(lines).toEqual([
      `retire ${nameOf("c")}: scale ${nameOf("c")} to 0`,
      `retire ${nameOf("b")}: forget dp_b`,
      `retire ${nameOf("b")}: delete ${nameOf("b")}`,
      `retire ${nameOf("a")}: forget dp_a`,
      `retire ${nameOf("a")}: delete ${nameOf("a")}`,
    ])
  })
})
