/** From a template to a routed version, and back. */
import { describe, expect, it } from "vitest"
import { decide } from "../../src/deployment/decide.ts"
import { delays } from "../../src/engine/policies.ts"
import { rejectedBefore } from "../../src/deployment/registration.ts"

import {
  at,
  decided,
  deployment,
  nameOf,
  planned,
  server,
  type ServerFacts,
  settings,
  snapshot,
  template,
  unseen,
  version,
  vocabulary,
} from "../support/given.ts"

const now = at(1000)
const v1 = nameOf("v1")
const v2 = nameOf("v2")
const host = (name: string) => `http://${name}.default.svc.cluster.local:9080/`

describe("a new version", () => {
  it("is held by the finalizer before it is made", () => {
    expect(planned({ now, deployment: deployment("v1", { metadata: { finalizers: ["other/one"] } }) })).toEqual([
      "hold until versions are drained: hold deployment default/greeter",
      `new version ${v1}: create ${v1}`,
    ])
  })

  it("is registered once its pods are up and its Service routes to one", () => {
    const world = { now, deployment: deployment("v1"), versions: [version("v1")] }
    expect(planned(world)).toEqual([`register: register ${host(v1)}`])
    expect(planned({ ...world, routable: false })).toEqual([])
  })

  it.each([
    ["has no status yet", { ...version("v1"), status: {} }, "ReplicaSetNoStatus"],
    ["has too few pods", version("v1", { replicas: 1, ready: 0 }), "ReplicaSetPodNotReady"],
  ])("is not registered while its ReplicaSet %s", (_, replicaSet, reason) => {
    const world = { now, deployment: deployment("v1"), versions: [replicaSet] }
    expect(planned(world)).toEqual([])
    expect(decided(world)).toMatchObject({ verdict: { state: { _tag: "NotReady", gate: { reason } } } })
  })

  it("is not registered with zero replicas", () => {
    const world = { now, deployment: deployment("v1", { spec: { replicas: 0 } }), versions: [version("v1", { replicas: 0 })] }
    expect(decided(world)).toMatchObject({ verdict: { state: { gate: { reason: "ReplicaSetScaledToZero" } } } })
  })

  it("gets another name when its name holds another template", () => {
    const taken = version("v1", { annotations: { [vocabulary.annotations.podTemplate]: "something else" } })
    expect(decided({ now, deployment: deployment("v1"), versions: [taken] })).toMatchObject({
      steps: [],
      verdict: { state: { _tag: "Collision" } },
    })
  })

  it("lets drained versions go first while its own pods cannot start", () => {
    const world = {
      now,
      deployment: deployment("v2"),
      versions: [version("v2", { ready: 0 }), version("v1", { id: "dp_1", removeAt: 999 }), version("v0", { id: "dp_0" })],
      admin: server({ v1: { id: "dp_1" }, v0: { id: "dp_0" } }, { Greeter: "dp_0" }, { askedAt: now }),
    }
    expect(planned(world)).toEqual([`retire ${v1}: scale ${v1} to 0`])
  })

  it("never touches the version that still serves", () => {
    const world = {
      now,
      deployment: deployment("v2"),
      versions: [version("v2", { ready: 0 }), version("v1", { id: "dp_1" })],
      admin: server({ v1: { id: "dp_1" } }, { Greeter: "dp_1" }, { askedAt: now }),
    }
    expect(planned(world)).toEqual([])
  })
})

describe("a registered version", () => {
  const world = {
    now,
    deployment: deployment("v1"),
    versions: [version("v1", { id: "dp_1" })],
    admin: server({ v1: { id: "dp_1" } }, { Greeter: "dp_1" }, { askedAt: now }),
  }

  it("is left alone while all of its services are routed to it", () => {
    expect(planned(world)).toEqual([])
    expect(decided(world)).toMatchObject({ verdict: { state: { _tag: "Deployed", pods: undefined } } })
  })

  it("is not called ready while its pods are down, and keeps its registration (scenario 72)", () => {
    const down = { ...world, versions: [version("v1", { id: "dp_1", ready: 0 })] }
    expect(planned(down)).toEqual([])
    expect(decided(down)).toMatchObject({ verdict: { state: { _tag: "Deployed", pods: { reason: "ReplicaSetPodNotReady" } } } })
  })

  it("is registered again when the server does not know its id", () => {
    expect(planned({ ...world, admin: server({}, {}, { askedAt: now }) })).toEqual([`register: register ${host(v1)}`])
  })

  it("says so when no answer is ever fresh enough to promote it", () => {
    const known: ServerFacts = { v1: { id: "dp_1" }, v2: { id: "dp_2" } }
    const slow = server(known, { Greeter: "dp_2" }, { askedAt: now - 7000, took: 7000 })
    const back = { ...world, versions: [version("v1", { id: "dp_1", createdAt: 1 }), version("v2", { id: "dp_2" })], admin: slow }
    expect(decided(back)).toMatchObject({
      needs: [],
      requeue: { delay: 30_000 },
      verdict: { state: { _tag: "Unreachable", missing: { because: expect.stringContaining("takes 7 s to answer") } } },
    })
  })

  it("is nobody's business while somebody else serves one of its services", () => {
    const foreign = { ...world, admin: server({ v1: { id: "dp_1" } }, { Greeter: "dp_foreign" }, { askedAt: now }) }
    expect(planned(foreign)).toEqual([])
    expect(decided(foreign)).toMatchObject({ verdict: { state: { _tag: "Foreign", holders: [{ service: "Greeter", id: "dp_foreign" }] } } })
  })

  it("follows a change of replicas without a new version", () => {
    expect(planned({ ...world, deployment: deployment("v1", { spec: { replicas: 3 } }) })).toEqual([
      `current version ${v1}: scale ${v1} to 3`,
    ])
  })

  it("takes over annotations, and drops those that are gone", () => {
    const lines = planned({
      ...world,
      deployment: deployment("v1", { metadata: { annotations: { team: "blue" } } }),
      versions: [version("v1", { id: "dp_1", annotations: { old: "1", theirs: "2" }, owns: ["old"] })],
    })
    expect(lines).toEqual([
      `current version ${v1}: drop old from ${v1}`,
      `current version ${v1}: apply ${v1} as service-operator/propagate-annotations`,
    ])
  })

  it("does not believe operator annotations that a user set on the object", () => {
    const annotations = { [vocabulary.annotations.deploymentId]: "dp_evil", "applyset.kubernetes.io/part-of": "x" }
    expect(planned({ ...world, deployment: deployment("v1", { metadata: { annotations } }) })).toEqual([])
  })

  it("asks for the routing when it has none, or one older than a minute", () => {
    const { admin, ...nobody } = world
    expect(planned(nobody)).toEqual(["need routing of url/http://admin:9070"])
    expect(planned({ ...world, now: now + 60_001 })).toEqual(["need routing of url/http://admin:9070"])
    expect(admin.touchedAt).toBe(0)
  })

  it("is scaled and described while an answer is still on its way", () => {
    const asking = { ...world, now: now + 60_001, deployment: deployment("v1", { spec: { replicas: 3 } }) }
    expect(planned(asking)).toEqual([`current version ${v1}: scale ${v1} to 3`, "need routing of url/http://admin:9070"])
  })

  it("stays Ready through a blip of the admin API, and not for longer", () => {
    const ready = deployment("v1", { status: { deploymentId: "dp_1", conditions: [{ type: "Ready", status: "True" }] } })
    const away = (since: number) => decided({ ...world, deployment: ready, admin: { ...world.admin, routing: unseen(now, since) } })
    expect(away(now - 60_000)).toMatchObject({ verdict: { state: { _tag: "Deployed" } } })
    expect(away(now - 300_000)).toMatchObject({ verdict: { state: { _tag: "Unreachable" } } })
  })
})

describe("a rollback", () => {
  const world = {
    now,
    deployment: deployment("v1"),
    versions: [version("v1", { id: "dp_1", removeAt: 1100 }), version("v2", { id: "dp_2", createdAt: 5 })],
    admin: server({ v1: { id: "dp_1", pinned: 1 }, v2: { id: "dp_2" } }, { Greeter: "dp_2" }, { askedAt: now }),
  }

  it("promotes the version met again, and takes its removal deadline off", () => {
    expect(planned(world)).toEqual([`current version ${v1}: drop durable.dev/remove-version-at from ${v1}`, `promote: promote ${host(v1)}`])
    expect(decided(world).steps.at(-1)).toMatchObject({ actions: [{ force: true, supersedes: "dp_2" }] })
  })

  it("promotes a version that lost only one of its services", () => {
    const admin = server(
      { v1: { id: "dp_1", services: ["Greeter", "Counter"] }, v2: { id: "dp_2" } },
      { Greeter: "dp_2", Counter: "dp_1" },
      { askedAt: now },
    )
    expect(planned({ ...world, admin })).toContain(`promote: promote ${host(v1)}`)
  })

  it("recognises its own version although a crash prevented its record", () => {
    expect(planned({ ...world, versions: [version("v1", { id: "dp_1" }), version("v2")] })).toEqual([`promote: promote ${host(v1)}`])
  })

  it("does not take traffic away on an old answer", () => {
    expect(planned({ ...world, now: now + 6000 }).at(-1)).toBe("need routing of url/http://admin:9070")
  })

  it("is a conflict when a service went to somebody else meanwhile", () => {
    const admin = server(
      { v1: { id: "dp_1", services: ["Greeter", "Counter"] }, v2: { id: "dp_2" } },
      { Greeter: "dp_2", Counter: "dp_x" },
      { askedAt: now },
    )
    expect(decided({ ...world, admin })).toMatchObject({ verdict: { state: { _tag: "Foreign" } } })
  })

  it("removes nothing in a conflict: an old version may be the one that takes the traffic", () => {
    const admin = server({ v1: { id: "dp_1" }, v2: { id: "dp_2" } }, { Greeter: "dp_x" }, { askedAt: now })
    const due = version("v2", { id: "dp_2", createdAt: 5, removeAt: 999 })
    expect(planned({ ...world, versions: [version("v1", { id: "dp_1" }), due], admin })).toEqual([])
  })
})

describe("a register target that is moved under a version", () => {
  const there = "url/http://old:9070"
  const world = (pinned: number) => {
    const base = snapshot({ now, deployment: deployment("v1"), versions: [version("v1", { id: "dp_1", registeredWith: there })] })
    return { ...base, admin: new Map([[there, server({ v1: { id: "dp_1", pinned } }, { Greeter: "dp_1" }, { askedAt: now })]]) }
  }

  it("is followed at once, work or not, and first the old server is written down (scenario 86)", () => {
    for (const pinned of [0, 2]) {
      const steps = decide(world(pinned), settings).steps.slice(-1)
      expect(steps).toMatchObject([
        {
          why: "move to url/http://admin:9070",
          actions: [
            {
              object: {
                body: {
                  metadata: {
                    annotations: {
                      "durable.dev/registered-with": "url/http://admin:9070",
                      "durable.dev/also-registered-with": "url/http://old:9070",
                    },
                  },
                },
              },
            },
          ],
        },
      ])
    }
  })
})

describe("bad input", () => {
  it.each([
    ["two register targets", { restate: { register: { url: "http://a:1", cluster: "main" } } }, "spec.restate.register"],
    ["no register target", { restate: { register: {} } }, "spec.restate.register"],
    ["an address that is no URL", { restate: { register: { url: "admin:9070" } } }, "spec.restate.register.url"],
    ["a selector that does not match", { spec: { selector: { matchLabels: { app: "other" } } } }, "spec.selector.matchLabels"],
    ["a name that is too long", { metadata: { name: "a".repeat(53) } }, "metadata.name"],
    ["a path with dots", { restate: { register: { url: "http://a:1" }, servicePath: "/a/../b" } }, "spec.restate.servicePath"],
    ["a mode that is not there yet", { spec: { deploymentMode: "knative" as const } }, "spec.deploymentMode"],
  ])("%s names the field and removes nothing", (_, variation, field) => {
    const world = { now, deployment: deployment("v2", variation), versions: [version("v1", { id: "dp_1", removeAt: 1 })] }
    expect(decided(world)).toMatchObject({ steps: [], verdict: { state: { _tag: "Invalid", field } } })
  })

  it("a cluster that does not exist names the field, and old versions stay", () => {
    const variation = { restate: { register: { cluster: "main" } } }
    const world = {
      now,
      deployment: deployment("v1", variation),
      versions: [version("v1", {}, variation), version("v0", { id: "dp_0", removeAt: 1 })],
      cluster: { _tag: "Absent", proven: false } as const,
    }
    expect(planned(world)).toEqual([])
    expect(decided(world)).toMatchObject({ verdict: { state: { _tag: "Invalid", field: "spec.restate.register.cluster" } } })
  })

  it("a registration refused for this generation is not tried again (scenario 75)", () => {
    const refused = {
      conditions: [
        { type: "Ready", status: "False" as const, reason: "RegistrationRejected", message: "META0006 …", observedGeneration: 1 },
      ],
    }
    expect(planned({ now, deployment: deployment("v1", { status: refused }), versions: [version("v1")] })).toEqual([])
    expect(
      planned({ now, deployment: deployment("v1", { status: refused, metadata: { generation: 2 } }), versions: [version("v1")] }),
    ).toHaveLength(1)
  })

  it("an object without a template is told so, not crashed on", () => {
    const broken = { ...deployment("v1"), spec: { ...deployment("v1").spec, template: { ...template("v1"), spec: [] as never } } }
    expect(decided({ now, deployment: broken })).toMatchObject({ steps: [], verdict: { state: { field: "spec.template.spec" } } })
  })
})

describe("versions of a rollout", () => {
  it("have one name each", () => {
    expect(v1).not.toBe(v2)
  })
})

describe("a registration that was refused for good", () => {
  const refused = deployment("v1", {
    status: {
      observedGeneration: 1,
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "RegistrationRejected",
          message: "no",
          lastTransitionTime: new Date(now).toISOString(),
          observedGeneration: 1,
        },
      ],
    },
  })

  it.each([delays.resync, delays.resync + delays.resyncSpread - 1])(
    "is tried again once or twice in each half hour when passes come every %d ms",
    (every) => {
      const tries: Array<number> = []
      for (let passed = every; passed < 24 * delays.secondLook; passed += every)
        if (rejectedBefore(refused, now + passed) === undefined) tries.push(Math.floor(passed / delays.secondLook))
      const inHalfHour = (nth: number): number => tries.filter((each) => each === nth).length
      expect(inHalfHour(0)).toBe(0)
      for (let nth = 1; nth < 24; nth += 1) expect([1, 2]).toContain(inHalfHour(nth))
    },
  )
})
