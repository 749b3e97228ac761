/** The end of a ServiceDeployment. */
import { describe, expect, it } from "vitest"
import { at, decided, deployment, nameOf, planned, server, unseen, type Variation, version } from "../support/given.ts"

const now = at(1000)
const v1 = nameOf("v1")
const deleted: Variation = { metadata: { deletionTimestamp: new Date(at(990)).toISOString() } }
const versions = [version("v1", { id: "dp_1" })]
const admin = (work: { pinned?: number; unpinned?: number } = {}) =>
  server({ v1: { id: "dp_1", ...work } }, { Greeter: "dp_1" }, { askedAt: now })
const world = { now, deployment: deployment("v1", deleted), versions, admin: admin() }

describe("a ServiceDeployment that is being deleted", () => {
  it.each([
    ["pinned", { pinned: 2 }],
    ["not pinned yet", { unpinned: 1 }],
  ])("is held by work that is %s, although it is the latest", (_, work) => {
    const busy = { ...world, admin: admin(work) }
    expect(planned(busy)).toEqual([])
    expect(decided(busy)).toMatchObject({
      interests: [{ look: "usage", ids: ["dp_1"] }],
      requeue: { _tag: "After", delay: 30_000 },
      verdict: { state: { _tag: "DeletionBlocked", by: [{ version: v1, ...work }] } },
    })
  })

  it("asks less and less often (scenario 89)", () => {
    const waiting = (seconds: number) =>
      decided({
        ...world,
        admin: admin({ pinned: 1 }),
        deployment: deployment("v1", { metadata: { deletionTimestamp: new Date(at(1000 - seconds)).toISOString() } }),
      })
    expect(waiting(400)).toMatchObject({ requeue: { delay: 100_000 } })
    expect(waiting(100_000)).toMatchObject({ requeue: { delay: 300_000 } })
  })

  it("waits out the drain delay once it is idle", () => {
    expect(planned(world)).toEqual([`drained ${v1}: apply ${v1} as service-operator/remove-version-at`])
    expect(decided(world)).toMatchObject({ verdict: { state: { _tag: "DeletionDraining" } } })
  })

  it("believes nothing that was asked before it was asked for", () => {
    const before = { ...world, admin: server({ v1: { id: "dp_1" } }, { Greeter: "dp_1" }, { askedAt: at(989) }) }
    expect(planned(before)).toEqual(["need usage of url/http://admin:9070"])
  })

  it("watches a version that waits for its deadline: it is the latest, and new work takes the deadline off", () => {
    const waiting = { ...world, versions: [version("v1", { id: "dp_1", removeAt: 1100 })] }
    expect(planned(waiting)).toEqual([])
    expect(decided(waiting)).toMatchObject({ interests: [{ look: "usage", ids: ["dp_1"] }] })
    expect(planned({ ...waiting, admin: admin({ pinned: 1 }) })).toEqual([`in use ${v1}: drop durable.dev/remove-version-at from ${v1}`])
  })

  it("keeps no history, and forgets before it deletes", () => {
    expect(planned({ ...world, versions: [version("v1", { id: "dp_1", removeAt: 999 })] })).toEqual([
      `retire ${v1}: forget dp_1`,
      `retire ${v1}: delete ${v1}`,
    ])
  })

  it("is released only when no version is left", () => {
    expect(planned({ ...world, versions: [] })).toEqual(["nothing is left to wait for: release deployment default/greeter"])
  })

  const bare = { ...world, deployment: deployment("v1", { ...deleted, status: { labelSelector: "app=greeter" } }), versions: [] }

  it("is held by work at an address of its own although no ReplicaSet is to be seen", () => {
    expect(planned({ ...bare, admin: admin({ pinned: 1 }) })).toEqual([])
    expect(decided({ ...bare, admin: admin({ pinned: 1 }) })).toMatchObject({
      verdict: { state: { _tag: "DeletionBlocked", by: [{ id: "dp_1", pinned: 1 }] } },
    })
  })

  it("leaves no registration behind when its ReplicaSets are gone", () => {
    expect(planned(bare)).toEqual([
      "nothing is left to wait for: forget dp_1",
      "nothing is left to wait for: release deployment default/greeter",
    ])
  })

  it("is not released, and nothing deregistered, upon an answer of more than 5 s ago", () => {
    const earlier = { ...bare, now: at(1006), admin: admin() }
    expect(planned(earlier)).toEqual(["need usage of url/http://admin:9070"])
  })

  it("is not released before its server has said that nothing is left", () => {
    const { admin: _, ...unasked } = bare
    expect(planned(unasked)).toEqual(["need usage of url/http://admin:9070"])
  })

  it("takes an answer that knows none of its versions for what it is: not yet a proof", () => {
    const empty = { ...world, admin: server({}, {}, { askedAt: now }) }
    expect(planned(empty)).toEqual([`drained ${v1}: apply ${v1} as service-operator/remove-version-at`])
  })

  it("is held by a server that does not answer", () => {
    const away = { ...world, admin: { ...admin(), usage: unseen(now) } }
    expect(planned(away)).toEqual([])
    expect(decided(away)).toMatchObject({ verdict: { state: { _tag: "Unreachable" } } })
  })

  it("is released at once when its cluster is proven gone, and not on the cache's word (scenario 90)", () => {
    const variation = { ...deleted, restate: { register: { cluster: "main" } } }
    const gone = (proven: boolean) =>
      planned({
        now,
        deployment: deployment("v1", variation),
        versions: [version("v1", { id: "dp_1", registeredWith: "cluster/main" }, variation)],
        cluster: { _tag: "Absent", proven },
      })
    expect(gone(true)).toEqual(["nothing is left to wait for: release deployment default/greeter"])
    expect(gone(false)).toEqual(["need usage of cluster/main"])
  })

  it("is still held by versions that were registered elsewhere when its cluster is gone", () => {
    const variation = { ...deleted, restate: { register: { cluster: "main" } } }
    const lines = planned({
      now,
      deployment: deployment("v1", variation),
      versions: [version("v1", { id: "dp_1" }, variation)],
      cluster: { _tag: "Absent", proven: true },
      admin: admin({ pinned: 1 }),
    })
    expect(lines).toEqual([])
  })

  it("is not touched when it is not ours any more", () => {
    expect(planned({ ...world, deployment: deployment("v1", { metadata: { ...deleted.metadata, finalizers: [] } }) })).toEqual([])
  })

  it("removes nothing while its spec does not say where its versions are", () => {
    const broken = deployment("v1", { ...deleted, restate: { register: {} } })
    expect(decided({ ...world, deployment: broken })).toMatchObject({ steps: [], verdict: { state: { _tag: "Invalid" } } })
  })
})
