/** What a pass over a server does, and what people are told. */
import { describe, expect, it } from "vitest"
import { decide } from "#src/cluster/decide.ts"
import { callsForALook } from "#src/cluster/roll-out.ts"
import { networkPolicies } from "#src/cluster/parts/network-policies.ts"
import { lines, type Report } from "#src/engine/plan.ts"
import { Unavailable } from "#src/errors.ts"
import type { KubernetesObject } from "#src/resources/meta.ts"
import { beside, cluster, concluded, decided, given, now, ready, settings, snapshot, statefulSet } from "./given.ts"

const object = (kind: string, name: string): KubernetesObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, namespace: "main", uid: `uid-${name}`, resourceVersion: "1" },
})

const claim = (phase: string, storage = String(1024 ** 3)) => ({
  ...object("PersistentVolumeClaim", "storage-service-0"),
  spec: { resources: { requests: { storage } } },
  status: { phase },
})

const applied = (of: Parameters<typeof decided>[0]): ReadonlyArray<string> =>
  decided(of).steps.flatMap(({ actions }) =>
    actions.flatMap((action) => (action._tag === "Apply" ? [`${action.object.ref.kind} ${action.object.ref.name}`] : [])),
  )

const fails = (tag: "Provision" | "Apply"): Report => {
  const error = new Unavailable({ server: "admin", detail: "connection refused" })
  const action =
    tag === "Provision"
      ? ({ _tag: "Provision", address: "http://node" } as const)
      : ({ _tag: "Apply", object: { ref: { kind: "StatefulSet", name: "service" }, body: {} }, manager: "m" } as const)
  return { outcomes: [], failures: [{ why: "test", action, error }] }
}

describe("a minimal server", () => {
  it("has its namespace, account, configuration, two Services, budget, seven policies and a StatefulSet (scenario 13)", () => {
    expect(applied(snapshot({}, { namespace: "Absent", statefulSet: undefined }))).toEqual([
      "Namespace main",
      "NetworkPolicy deny-all",
      "NetworkPolicy allow-egress-to-dns",
      "NetworkPolicy allow-service-egress-to-public-internet",
      "NetworkPolicy allow-service-egress",
      "NetworkPolicy allow-ingress-access",
      "NetworkPolicy allow-admin-access",
      "NetworkPolicy allow-metrics-access",
      "ServiceAccount service",
      "ConfigMap service-config-42c4b0e3",
      "ServerService service",
      "ServerService service-cluster",
      "PodDisruptionBudget service",
      "StatefulSet service",
    ])
  })

  it("uses a namespace of somebody else's, and never writes to it", () => {
    expect(applied(snapshot({}, { namespace: "Foreign" }))).not.toContain("Namespace main")
  })

  it("makes nothing in a namespace that is on its way out, and says so", () => {
    const going = snapshot({}, { namespace: "Terminating" })
    expect(decided(going).steps).toEqual([])
    expect(ready(going)).toBe("False NamespaceTerminating")
  })

  it("is held by the finalizer", () => {
    expect(lines(decided(snapshot({ metadata: { finalizers: [] } })))[0]).toBe("hold until its end is told: hold cluster main")
  })

  it("has a StatefulSet that was deleted made again (scenario 43)", () => {
    expect(applied(snapshot({}, { statefulSet: undefined }))).toContain("StatefulSet service")
  })
})

describe("a server that is deleted", () => {
  const deleted = snapshot({ metadata: { deletionTimestamp: new Date(now).toISOString() } })

  it("is told about, released, and left to the garbage collector (scenario 42)", () => {
    expect(lines(decided(deleted))).toEqual(["its end is told: release cluster main"])
    expect(concluded(deleted).announcements).toMatchObject([{ type: "Normal", reason: "DeleteRequested" }])
    expect(concluded(deleted).status).toBeUndefined()
  })
})

describe("a server that is suspended", () => {
  it("has nothing done to it, and keeps what was said", () => {
    const ready = { type: "Ready", status: "True" }
    const of = snapshot({
      metadata: { annotations: { "durable.dev/reconcile": "disabled" } },
      status: { provisioned: true, conditions: [ready] },
    })
    expect(decided(of).steps).toEqual([])
    expect(concluded(of).status).toMatchObject({
      provisioned: true,
      reconciliation: "Disabled",
      conditions: [ready, { type: "Reconciling", status: "False", reason: "Disabled" }],
    })
  })
})

describe("policies", () => {
  it("that are not wanted any more are deleted, and those of others are left alone (scenario 25)", () => {
    const there = [...networkPolicies(given()).map(({ ref }) => object("NetworkPolicy", ref.name)), object("NetworkPolicy", "mine")]
    const off = snapshot({ spec: { security: { disableNetworkPolicies: true } } }, { policies: there })
    expect(beside(off).filter((line) => line.includes("delete"))).toHaveLength(7)
    expect(beside(off).join()).not.toContain("main/mine")
    expect(beside(snapshot({}, { policies: [object("NetworkPolicy", "allow-egress-to-kube-dns")] }))).toContain(
      "who may talk to whom: delete NetworkPolicy main/allow-egress-to-kube-dns",
    )
  })
})

describe("configurations of before", () => {
  const old = object("ConfigMap", "service-config-1")
  const others = object("ConfigMap", "mine")
  const running = (config: string, status = {}) => ({
    ...statefulSet(status),
    spec: { template: { spec: { volumes: [{ configMap: { name: config } }] } } },
  })
  const gone = (set: ReturnType<typeof running>) =>
    beside(snapshot({}, { statefulSet: set, configMaps: [old, others] })).filter((line) => line.includes("delete"))

  it("go once all pods are of the newest template, and no sooner (scenario 15)", () => {
    expect(gone(running("service-config-42c4b0e3"))).toEqual(["configurations of before: delete ConfigMap main/service-config-1"])
    expect(gone(running("service-config-42c4b0e3", { currentRevision: "a", updateRevision: "b" }))).toEqual([])
    expect(gone(running("service-config-42c4b0e3", { observedGeneration: 1 }))).toEqual([])
    expect(gone(running("service-config-1"))).toEqual([])
  })
})

describe("a spec that cannot be carried out", () => {
  it.each([
    [
      "a volume named as one of ours (scenario 17)",
      { compute: { extraVolumes: [{ name: "config", emptyDir: {} }] } },
      "spec.compute.extraVolumes",
    ],
    [
      "a mount on one of ours (scenario 18)",
      { compute: { extraVolumeMounts: [{ name: "x", mountPath: "/tmp" }] } },
      "spec.compute.extraVolumeMounts",
    ],
    [
      "a mount on one of ours, spelled otherwise",
      { compute: { extraVolumeMounts: [{ name: "x", mountPath: "/x/..//tmp/" }] } },
      "spec.compute.extraVolumeMounts",
    ],
    ["a sidecar named as the server", { compute: { sidecars: [{ name: "service", image: "x" }] } }, "spec.compute.sidecars"],
    ["a configuration that is no TOML", { config: "a = [1," }, "spec.config: is no TOML: line 1"],
    ["provisioning twice (scenario 30)", { cluster: { autoProvision: true }, config: "" }, "spec.config"],
    [
      "provisioning twice by a variable",
      { cluster: { autoProvision: true }, compute: { env: [{ name: "RESTATE_AUTO_PROVISION", value: "true" }] } },
      "spec.compute.env: RESTATE_AUTO_PROVISION",
    ],
    [
      "a key of another version (scenario 23)",
      { security: { requestSigningPrivateKey: { version: "v2", secret: { secretName: "a", key: "b" } } } },
      "requestSigningPrivateKey.version",
    ],
    [
      "a variable that the operator sets",
      { compute: { env: [{ name: "SSL_CERT_FILE", value: "/x" }] }, security: { trustedCaCerts: [{ secretName: "ca", key: "a" }] } },
      "spec.compute.env: SSL_CERT_FILE",
    ],
  ])("by %s changes nothing and names the field", (_, spec, field) => {
    const of = snapshot({ spec })
    expect(decided(of)).toMatchObject({ steps: [], verdict: { state: { _tag: "Invalid", message: expect.stringContaining(field) } } })
    expect(ready(of)).toBe("Unknown FailedReconcile")
    expect(concluded(of).announcements).toMatchObject([{ type: "Warning", reason: "FailedReconcile" }])
  })

  it("is counted under the name of its error", () => {
    expect(concluded(snapshot({ spec: { config: "=" } })).outcome).toBe("InvalidServiceConfig")
    const key = { security: { requestSigningPrivateKey: { version: "v2" } } }
    expect(concluded(snapshot({ spec: key })).outcome).toBe("InvalidSigningKeyError")
  })
})

describe("provisioning", () => {
  const spec = { cluster: { autoProvision: true }, config: "auto-provision = false" }
  const call = "lay out the data: provision http://service-0.service-cluster.main.svc.cluster.local:5122"

  it("is asked of the first pod once it runs, and before its pods are ready (scenario 28)", () => {
    expect(beside(snapshot({ spec }, { firstPod: "Running" }))).toContain(call)
    expect(beside(snapshot({ spec }, { firstPod: "Pending" }))).not.toContain(call)
    expect(ready(snapshot({ spec }, { firstPod: "Pending" }))).toBe("False ProvisioningPodNotRunning")
    const [action] = decided(snapshot({ spec }, { firstPod: "Running" })).steps.at(-1)?.actions ?? []
    if (action === undefined) throw new Error("nothing is provisioned")
    const done = concluded(snapshot({ spec }, { firstPod: "Running" }), { outcomes: [{ _tag: "Done", action }], failures: [] })
    expect(done).toMatchObject({ status: { provisioned: true, conditions: [{ reason: "Provisioned" }, {}] }, requeue: { delay: 0 } })
  })

  it("is never asked twice, whatever becomes of the data", () => {
    expect(beside(snapshot({ spec, status: { provisioned: true } }, { firstPod: "Running" }))).not.toContain(call)
    expect(concluded(snapshot({ spec, status: { provisioned: true } })).status).toMatchObject({ provisioned: true })
  })

  it("is tried again after 5 s when the node does not answer (scenario 31)", () => {
    const failed = concluded(snapshot({ spec }, { firstPod: "Running" }), fails("Provision"))
    expect(failed).toMatchObject({
      requeue: { _tag: "After", delay: 5000 },
      status: { conditions: [{ type: "Ready", status: "False", reason: "ProvisioningFailed", message: "connection refused" }, {}] },
    })
    expect(failed.status).not.toHaveProperty("provisioned")
  })

  it("asks nothing of the configuration of a cluster that has been provisioned", () => {
    expect(decided(snapshot({ spec: { ...spec, config: "" }, status: { provisioned: true } })).verdict.state._tag).toBe("Applied")
  })

  it("trusts a literal false in the environment over the configuration", () => {
    const env = [{ name: "SERVICE_AUTO_PROVISION", value: "False" }]
    expect(decide(snapshot({ spec: { ...spec, config: "", compute: { env } } }), settings).verdict.state._tag).not.toBe("Invalid")
  })
})

describe("volumes", () => {
  const grown = { storage: { storageRequestBytes: 2 * 1024 ** 3 } }

  it("grow first, and then the StatefulSet is replaced under its pods", () => {
    expect(beside(snapshot({ spec: grown }, { claims: [claim("Bound")] }))).toEqual([
      "the size of the volumes: apply PersistentVolumeClaim main/storage-service-0 as service-operator",
      "volumes of 1073741824 become volumes of 2147483648: delete StatefulSet main/service and leave its pods",
    ])
    expect(ready(snapshot({ spec: grown }, { claims: [claim("Bound")] }))).toBe("False StatefulSetNoStatus")
  })

  it("that are not bound leave the StatefulSet as it is (scenario 33)", () => {
    const pending = snapshot({ spec: grown }, { claims: [claim("Pending")] })
    expect(beside(pending).join()).not.toContain("StatefulSet")
    expect(ready(pending)).toBe("False PersistentVolumeClaimNotBound")
  })

  it("that are not bound do not keep a StatefulSet from being made: nothing else would bind them", () => {
    expect(applied(snapshot({}, { claims: [claim("Pending")], statefulSet: undefined }))).toContain("StatefulSet service")
  })

  it("are the same in any spelling of their size, and larger ones are left", () => {
    expect(beside(snapshot({}, { statefulSet: statefulSet({}, "1Gi"), claims: [claim("Bound", "1Gi")] }))).toEqual([
      "the pods: apply StatefulSet main/service as service-operator",
    ])
    expect(applied(snapshot({}, { claims: [claim("Bound", "5Gi")] }))).not.toContain("PersistentVolumeClaim storage-service-0")
  })
})

describe("Ready", () => {
  it.each([
    ["no status yet", { observedGeneration: 1 }, "False StatefulSetNoStatus"],
    ["too few pods (scenario 35)", { replicas: 0 }, "False StatefulSetScaling"],
    ["a pod that is not ready (scenario 21)", { readyReplicas: 0 }, "False StatefulSetPodNotReady"],
    ["pods of an older template (scenario 36)", { updateRevision: "b", updatedReplicas: 0 }, "False StatefulSetRollingOut"],
    ["everything", {}, "True Reconciled"],
  ])("with %s is %s", (_, status, expected) => {
    expect(ready(snapshot({}, { statefulSet: statefulSet(status) }))).toBe(expected)
  })

  it("says why pods are not ready, once they have been asked", () => {
    const waiting = { name: "service", image: "none:1", state: { waiting: { reason: "ErrImagePull" } } }
    const pod = { ...object("Pod", "service-0"), status: { phase: "Pending", containerStatuses: [waiting] } }
    const of = snapshot({}, { statefulSet: statefulSet({ readyReplicas: 0 }), pods: [pod] })
    expect(concluded(of).status).toMatchObject({
      conditions: [{ message: expect.stringContaining('image "none:1" of container service cannot be pulled') }, {}],
    })
  })

  it("has pods asked only after 10 s of not being ready", () => {
    const down = (seconds: number, reason = "StatefulSetPodNotReady") =>
      cluster({
        status: {
          conditions: [{ type: "Ready", status: "False", reason, lastTransitionTime: new Date(now - seconds * 1000).toISOString() }],
        },
      })
    expect([down(9), down(10), down(60, "ProvisioningFailed"), cluster()].map((each) => callsForALook(each, now))).toEqual([
      false,
      true,
      false,
      false,
    ])
  })

  it("is not True right after a change, which the pods have not heard of yet (scenario 36)", () => {
    const action = { _tag: "Apply", object: { ref: { kind: "StatefulSet", name: "service" }, body: {} }, manager: "m" } as const
    const report: Report = { outcomes: [{ _tag: "Applied", action, changed: true, object: statefulSet() }], failures: [] }
    expect(ready(snapshot(), report)).toBe("False StatefulSetNoStatus")
  })

  it("is Unknown after a failure, which is told once", () => {
    const before = { type: "Ready", status: "Unknown", reason: "FailedReconcile", message: "connection refused" }
    expect(ready(snapshot(), fails("Apply"))).toBe("Unknown FailedReconcile")
    expect(concluded(snapshot(), fails("Apply")).announcements).toMatchObject([{ type: "Warning", reason: "FailedReconcile" }])
    expect(concluded(snapshot({ status: { conditions: [before] } }), fails("Apply")).announcements).toEqual([])
  })
})

describe("fewer nodes", () => {
  const nodes = (count: number, status: object = {}) => ({
    ...statefulSet({ replicas: count, readyReplicas: count, updatedReplicas: count, ...status }),
    spec: { replicas: count },
  })
  const shrunk = (replicas: number, from: ReturnType<typeof nodes>, config = "", annotations: object = {}) =>
    snapshot({ spec: { compute: { replicas }, config }, metadata: { annotations } }, { statefulSet: from })
  const asked = (of: ReturnType<typeof shrunk>): unknown =>
    decided(of)
      .steps.flatMap(({ actions }) => actions)
      .flatMap((action) => (action._tag === "Apply" && action.object.ref.kind === "StatefulSet" ? [action.object.body["spec"]] : []))
      .at(0)

  it("go one at a time, each when all others are well", () => {
    expect(asked(shrunk(2, nodes(5)))).toMatchObject({ replicas: 4 })
    expect(ready(shrunk(2, nodes(5)))).toBe("True ScalingDown")
    expect(ready(shrunk(2, nodes(4, { readyReplicas: 3 })))).toBe("False StatefulSetPodNotReady")
    expect(asked(shrunk(2, nodes(4, { readyReplicas: 3 })))).toMatchObject({ replicas: 4 })
    expect(asked(shrunk(2, nodes(4, { observedGeneration: 1 })))).toMatchObject({ replicas: 4 })
    expect(asked(shrunk(2, nodes(3)))).toMatchObject({ replicas: 2 })
    expect(ready(shrunk(2, nodes(2)))).toBe("True Reconciled")
  })

  it.each(["default-replication = 2", 'default-replication = "{node: 2}"', "[default-replication]\nnode = 2"])(
    "than there are copies of the data are refused (%s), unless somebody says that number",
    (config) => {
      expect(asked(shrunk(1, nodes(3), config))).toMatchObject({ replicas: 3 })
      expect(ready(shrunk(1, nodes(3), config))).toBe("True ScaleDownRefused")
      expect(concluded(shrunk(1, nodes(3), config)).status).toMatchObject({
        conditions: [{ type: "Ready" }, { type: "Stalled", status: "True" }],
      })
      expect(concluded(shrunk(1, nodes(3), config)).announcements).toMatchObject([{ type: "Warning", reason: "ScaleDownRefused" }])
      expect(asked(shrunk(1, nodes(3), config, { "durable.dev/allow-scale-down": "0" }))).toMatchObject({ replicas: 3 })
      expect(asked(shrunk(1, nodes(3), config, { "durable.dev/allow-scale-down": "1" }))).toMatchObject({ replicas: 2 })
    },
  )

  it("are not what a StatefulSet comes back with that was replaced under more pods", () => {
    const pods = [0, 1, 2].map((index) => object("Pod", `service-${index}`))
    const gone = { ...shrunk(1, nodes(3), "default-replication = 2"), statefulSet: undefined, pods }
    expect(asked(gone)).toMatchObject({ replicas: 3 })
    expect(asked({ ...shrunk(2, nodes(3)), statefulSet: undefined, pods })).toMatchObject({ replicas: 3 })
  })

  it("to none are a pause, and more are simply made", () => {
    expect(asked(shrunk(0, nodes(3), "default-replication = 2"))).toMatchObject({ replicas: 0 })
    expect(asked(shrunk(5, nodes(3)))).toMatchObject({ replicas: 5 })
  })
})
