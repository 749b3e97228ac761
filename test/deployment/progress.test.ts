/** A version that does not come up tells why, after a while; and why each version is still there can be read in the status. */
import { describe, expect, it } from "vitest"
import { decide } from "../../src/deployment/decide.ts"
import { trouble } from "../../src/engine/pods.ts"
import { callsForALook } from "../../src/deployment/progress.ts"
import { conclude } from "../../src/deployment/status.ts"
import type { ContainerStatus, Pod } from "../../src/resources/kubernetes.ts"
import { at, decided, deployment, nameOf, server, settings, snapshot, unseen, version, type World } from "../support/given.ts"

const now = at(10_000)
const v1 = nameOf("v1")
const v2 = nameOf("v2")

const pod = (status: NonNullable<Pod["status"]>): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "greeter-x", namespace: "default", uid: "pod", resourceVersion: "1" },
  status,
})
const container = (status: Partial<ContainerStatus>): Pod => pod({ containerStatuses: [{ name: "app", image: "greeter:v1", ...status }] })
const waiting = (reason: string, message = ""): Pod => container({ state: { waiting: { reason, message } } })
const unschedulable = pod({
  conditions: [
    { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes are available: 1 Insufficient cpu.\nmore" },
  ],
})

/** Down for that many seconds, as the status remembers it. */
const down = (seconds: number, { deadline, pods = [] }: { deadline?: number; pods?: ReadonlyArray<Pod> } = {}): World => ({
  now,
  deployment: deployment("v1", {
    ...(deadline === undefined ? {} : { spec: { progressDeadlineSeconds: deadline } }),
    status: {
      versions: [{ name: v1, state: "Current", since: new Date(now - seconds * 1000).toISOString() }],
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "ReplicaSetPodNotReady",
          message: "",
          lastTransitionTime: new Date(now - seconds * 1000).toISOString(),
        },
      ],
    },
  }),
  versions: [version("v1", { ready: 0 })],
  pods,
})

const concluded = (given: World) => conclude(snapshot(given), decide(snapshot(given), settings), { outcomes: [], failures: [] }, settings)

describe("pods that do not come up", () => {
  it.each([
    ["nowhere to run", unschedulable, "cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu."],
    ["an image that is missing", waiting("ErrImagePull", "not found"), 'image "greeter:v1" of container app cannot be pulled'],
    ["the same image a moment later", waiting("ImagePullBackOff", "Back-off"), 'image "greeter:v1" of container app cannot be pulled'],
    [
      "a Secret that is missing",
      waiting("CreateContainerConfigError", 'secret "a" not found'),
      'container app: CreateContainerConfigError: secret "a" not found',
    ],
    [
      "a process that ends, whatever the back-off says",
      container({
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 40s" } },
        lastState: { terminated: { exitCode: 3, reason: "Error" } },
      }),
      "container app ends with exit code 3 (Error)",
    ],
    [
      "a probe",
      pod({ phase: "Running", containerStatuses: [{ name: "app", ready: false }] }),
      "the pods run, and their readiness probe fails",
    ],
  ])("say what is wrong: %s", (_, given, text) => {
    expect(trouble([given])).toBe(text)
  })

  it("have their worst reason told, whichever pod has it", () => {
    expect(trouble([pod({ phase: "Running" }), waiting("ErrImagePull"), unschedulable])).toMatch(/^cannot be scheduled/)
    expect(trouble([])).toBeUndefined()
  })

  it("are asked after 10 s, and not before", () => {
    const asked = (seconds: number) => callsForALook(down(seconds).deployment, version("v1", { ready: 0 }), now)
    expect([asked(9), asked(10)]).toEqual([false, true])
    expect(decided(down(0))).toMatchObject({ requeue: { _tag: "After", delay: 10_000 } })
    expect(decided(down(10))).toMatchObject({ requeue: { _tag: "After", delay: 60_000 } })
  })

  it("put their reason into the message (scenario 46)", () => {
    expect(concluded(down(11, { pods: [waiting("ErrImagePull")] })).status).toMatchObject({
      conditions: [
        { reason: "ReplicaSetPodNotReady", message: expect.stringContaining('image "greeter:v1" of container app cannot be pulled') },
        { type: "Reconciling" },
      ],
    })
  })

  it("stall the object after the progress deadline, with one Warning", () => {
    expect(decided(down(590))).toMatchObject({ requeue: { _tag: "After", delay: 10_000 } })
    const overdue = concluded(down(600, { pods: [unschedulable] }))
    expect(overdue.status).toMatchObject({
      conditions: [
        { type: "Ready", status: "False", reason: "ReplicaSetPodNotReady" },
        { type: "Stalled", status: "True", reason: "ProgressDeadlineExceeded" },
      ],
    })
    expect(overdue.announcements).toMatchObject([
      { type: "Warning", reason: "ProgressDeadlineExceeded", note: expect.stringMatching(/^spec\.template: .*Insufficient cpu/) },
    ])
  })

  it("stall it after spec.progressDeadlineSeconds, when that is set", () => {
    expect(concluded(down(31, { deadline: 30 })).status).toMatchObject({ conditions: [{}, { type: "Stalled" }] })
    expect(concluded(down(29, { deadline: 30 })).status).toMatchObject({ conditions: [{}, { type: "Reconciling" }] })
  })

  it("have all their time again after the template was changed", () => {
    const { deployment: before } = down(900)
    const next: World = {
      now,
      deployment: { ...deployment("v2"), ...(before.status === undefined ? {} : { status: before.status }) },
      versions: [version("v2", { ready: 0, createdAt: 9_999 }), version("v1", { ready: 0 })],
    }
    expect(concluded(next).status).toMatchObject({ conditions: [{}, { type: "Reconciling" }] })
  })
})

describe("status.versions", () => {
  const versions = [
    version("v2", { id: "dp_2", createdAt: 9 }),
    version("v1", { id: "dp_1", createdAt: 8 }),
    version("v0", { id: "dp_0", createdAt: 7, removeAt: 10_050 }),
    version("va", { id: "dp_a", createdAt: 6, removeAt: 5_000, replicas: 0 }),
  ]
  const facts = { v0: { id: "dp_0" }, v1: { id: "dp_1", pinned: 37 }, v2: { id: "dp_2" }, va: { id: "dp_a" } }
  const world: World = { now, deployment: deployment("v2"), versions, admin: server(facts, { Greeter: "dp_2" }, { askedAt: now }) }
  const since = new Date(now).toISOString().replace(".000Z", "Z")

  it("says why each version is still there", () => {
    expect(concluded(world).status?.["versions"]).toEqual([
      { name: v2, state: "Current", deploymentId: "dp_2", since },
      { name: v1, state: "InUse", deploymentId: "dp_1", pinned: 40, unpinned: 0, since },
      { name: nameOf("v0"), state: "Draining", deploymentId: "dp_0", removeAt: "2026-01-01T02:47:30Z", since },
      { name: nameOf("va"), state: "Kept", deploymentId: "dp_a", since },
    ])
  })

  it("keeps the time of each state, and does not move while nothing changes", () => {
    const first = concluded(world).status
    const later = {
      ...world,
      now: now + 10_000,
      deployment: deployment("v2", { status: { ...first } }),
      admin: server(facts, { Greeter: "dp_2" }, { askedAt: now + 10_000 }),
    }
    expect(concluded(later).status).toEqual(first)
  })

  it("keeps what was last known of a version whose server is silent, and calls it Unknown when nothing was", () => {
    const first = concluded(world).status
    const away = { ...server(facts, { Greeter: "dp_2" }, { askedAt: now }), usage: unseen(now) }
    expect(concluded({ ...world, admin: away, deployment: deployment("v2", { status: { ...first } }) }).status?.["versions"]).toEqual(
      first?.["versions"],
    )
    expect(concluded({ ...world, admin: away }).status?.["versions"]).toMatchObject([
      {},
      { name: v1, state: "Unknown" },
      { state: "Unknown" },
      { state: "Kept" },
    ])
  })

  it("warns of a version that has been in use for hours, with one of its invocations", () => {
    const given = server(facts, { Greeter: "dp_2" }, { askedAt: now })
    const usage = given.usage._tag === "Seen" ? given.usage.value : new Map()
    const named = { ...given, usage: { ...given.usage, value: new Map([...usage].map(([id, row]) => [id, { ...row, example: "inv_1" }])) } }
    const warned = (seconds: number) =>
      decided({
        ...world,
        admin: named,
        deployment: deployment("v2", {
          status: { versions: [{ name: v1, state: "InUse", since: new Date(now - seconds * 1000).toISOString() }] },
        }),
      }).verdict.warnings.map(({ note, reason }) => [reason, note.includes("inv_1") && note.includes(v1)])
    expect(warned(3_599)).toEqual([])
    expect(warned(3_600)).toEqual([["DrainTakesLong", true]])
  })
})
