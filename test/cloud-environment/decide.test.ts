/** What a pass over an environment does, and what people are told. */
import { describe, expect, it } from "vitest"
import { environmentController } from "#src/cloud-environment/controller.ts"
import { tunnelDeployment } from "#src/cloud-environment/parts/deployment.ts"
import type { Report } from "#src/engine/plan.ts"
import { Conflict, Forbidden } from "#src/errors.ts"
import type { KubernetesObject } from "#src/resources/meta.ts"
import { concluded, decided, deployment, given, now, planned, ready, secret, settings, snapshot, type Variation } from "./given.ts"

const service = "the address: apply TunnelService operators/tunnel-main as service-operator"
const pods = "the pods: apply TunnelDeployment operators/tunnel-main as service-operator"

const deploymentOf = (variation?: Variation, digest = "digest-1") => tunnelDeployment(given(variation), digest)

const applied = (changed: boolean): Report => ({
  outcomes: [{ _tag: "Applied", action: { _tag: "Apply", object: deploymentOf(), manager: "m" }, changed, object: deployment() }],
  failures: [],
})

describe("an environment", () => {
  it("has a Service and a Deployment in the operator's namespace, and is ready when its pods are (scenario 109)", () => {
    expect(planned(snapshot())).toEqual([service, pods])
    expect(ready(snapshot())).toEqual({ is: "True Reconciled", message: "all pods of the tunnel are available", others: [] })
    expect(concluded(snapshot())).toMatchObject({ outcome: "ok", announcements: [], requeue: { _tag: "After", delay: 300_000 } })
  })

  it("is held by its finalizer before anything is made", () => {
    expect(planned(snapshot({ metadata: { finalizers: [] } }))[0]).toBe("hold until its end is told: hold environment main")
  })

  it("is told about when it is deleted, and released: its children are garbage-collected", () => {
    const deleted = snapshot({ metadata: { deletionTimestamp: new Date(now).toISOString() } }, { secret: undefined })
    expect(planned(deleted)).toEqual(["its end is told: release environment main"])
    expect(concluded(deleted)).toMatchObject({ status: undefined, announcements: [{ type: "Normal", reason: "DeleteRequested" }] })
  })

  it("is left alone while it is suspended, even to be told of a mistake, but not when it is deleted", () => {
    const metadata = { annotations: { "durable.dev/reconcile": "disabled" }, finalizers: [] }
    const old = { type: "Ready", status: "True" }
    const of = snapshot({ metadata, spec: { region: "" }, status: { conditions: [old] } }, { secret: undefined })
    expect(planned(of)).toEqual([])
    expect(concluded(of)).toMatchObject({
      status: { reconciliation: "Disabled", conditions: [old, { type: "Reconciling", status: "False", reason: "Disabled" }] },
      announcements: [],
      requeue: { _tag: "AwaitChange" },
    })
    const finalizers = [settings.vocabulary.resources.environment.finalizer]
    const deleted = snapshot({ metadata: { ...metadata, finalizers, deletionTimestamp: new Date(now).toISOString() } })
    expect(planned(deleted)).toEqual(["its end is told: release environment main"])
  })

  it("is resuming after a suspension until it is well again", () => {
    const before = { status: { reconciliation: "Disabled" } }
    expect(concluded(snapshot(before, { deployment: undefined })).status).toMatchObject({ reconciliation: "ResumingReconciliation" })
    expect(concluded(snapshot(before)).status).toMatchObject({ reconciliation: "Reconciling" })
  })
})

describe("an environment whose pods are not up", () => {
  it.each([
    ["there is no Deployment", undefined, "not been looked at"],
    ["its controller has not seen the newest spec", deployment({ observedGeneration: 1 }), "not been looked at"],
    ["not all pods are of the newest template", deployment({ updatedReplicas: 1 }, 2), "1 of 2 pods are of the newest template"],
    ["not all pods are available", deployment({ availableReplicas: 1 }, 2), "1 of 2 pods are available"],
    ["pods of before are still there", deployment({ replicas: 3 }, 2), "1 pods of before"],
    [
      "pods are refused",
      deployment({ updatedReplicas: 0, conditions: [{ type: "ReplicaFailure", status: "True", message: "exceeded quota" }] }),
      "exceeded quota",
    ],
  ])("is not available: %s", (_, live, message) => {
    const of = snapshot({}, { deployment: live })
    expect(ready(of)).toMatchObject({ is: "False TunnelNotAvailable", message: expect.stringContaining(message), others: ["Reconciling"] })
    expect(concluded(of)).toMatchObject({ outcome: "waiting", announcements: [], requeue: { delay: 60_000 } })
  })

  it("is not available with no pods at all, and waits for nothing", () => {
    expect(ready(snapshot({}, { deployment: deployment({}, 0) }))).toMatchObject({ is: "False TunnelNotAvailable", others: [] })
  })

  it("is not believed to be available by what its pods were before this pass changed them", () => {
    expect(ready(snapshot(), applied(true)).is).toBe("False TunnelNotAvailable")
    expect(ready(snapshot(), applied(false)).is).toBe("True Reconciled")
  })
})

describe("an environment whose token is not there", () => {
  it.each([
    ["SecretNotFound", undefined],
    ["SecretKeyNotFound", secret({ other: "digest" })],
    ["SecretKeyNotFound", secret({})],
  ])("says %s with the names of both, once, and leaves the pods as they are", (reason, found) => {
    const of = snapshot({}, { secret: found })
    expect(planned(of)).toEqual([service])
    expect(ready(of)).toMatchObject({ is: `False ${reason}`, others: ["Stalled"] })
    for (const name of ["credentials", "token", "operators"]) expect(ready(of).message).toContain(name)
    expect(concluded(of)).toMatchObject({ outcome: reason, announcements: [{ type: "Warning", reason, note: ready(of).message }] })
    const told = snapshot(
      { status: { conditions: [{ type: "Ready", status: "False", reason, message: ready(of).message }] } },
      { secret: found },
    )
    expect(concluded(told).announcements).toEqual([])
  })

  it("is not taken in by a key that every JavaScript object has", () => {
    const spec = { authentication: { secret: { key: "constructor" } } }
    expect(ready(snapshot({ spec })).is).toBe("False SecretKeyNotFound")
  })
})

describe("a spec that cannot be carried out", () => {
  it.each([
    ["a region with an empty label (scenario 111)", { region: "us..eu" }, "spec.region"],
    ["a region that begins with a dot (scenario 111)", { region: ".us" }, "spec.region"],
    ["a region in capitals (scenario 111)", { region: "US" }, "spec.region"],
    ["a region that ends with a line", { region: "us\n" }, "spec.region"],
    ["an environment that is no id", { environmentId: "env/1" }, "spec.environmentId"],
    ["a signing key of another kind", { signingPublicKey: "ssh-ed25519 AAAA" }, "spec.signingPublicKey"],
    ["a token of no Secret", { authentication: { secret: { name: "" } } }, "spec.authentication.secret.name"],
    ["a token of no entry", { authentication: { secret: { key: "" } } }, "spec.authentication.secret.key"],
    ["no authentication at all", { authentication: null }, "spec.authentication.secret.name"],
    ["fewer pods than none", { tunnel: { replicas: -1 } }, "spec.tunnel.replicas"],
    ["two variables of one name", { tunnel: { env: [{ name: "A", value: "1" }, { name: "A" }] } }, "spec.tunnel.env: A"],
  ])("by %s changes nothing and names the field", (_, spec, field) => {
    const of = snapshot({ spec })
    expect(planned(of)).toEqual([])
    expect(ready(of)).toMatchObject({ is: "Unknown FailedReconcile", message: expect.stringContaining(field), others: ["Stalled"] })
    expect(concluded(of).announcements).toMatchObject([{ type: "Warning", reason: "FailedReconcile" }])
  })

  it.each(["a".repeat(57), "main.eu", "-a"])("is one whose name makes no Service: %s", (name) => {
    expect(ready(snapshot({ metadata: { name } })).message).toContain("metadata.name")
  })

  it("is not one with a region of several names, nor one with an id without prefix (scenario 111)", () => {
    for (const spec of [{ region: "abc.byoc" }, { environmentId: "1a2b" }]) expect(planned(snapshot({ spec }))).toEqual([service, pods])
  })

  it("is counted under the name of its error", () => {
    expect(concluded(snapshot({ spec: { region: "" } })).outcome).toBe("InvalidServiceConfig")
    expect(concluded(snapshot({ spec: { signingPublicKey: "" } })).outcome).toBe("InvalidSigningKeyError")
  })

  it("does not have its signing key repeated: somebody may have put the private one there", () => {
    expect(ready(snapshot({ spec: { signingPublicKey: "PRIVATE" } })).message).not.toContain("PRIVATE")
  })
})

describe("a write that fails", () => {
  const failing = (error: Forbidden | Conflict): Report => ({
    outcomes: [],
    failures: [{ why: "test", action: { _tag: "Apply", object: deploymentOf(), manager: "m" }, error }],
  })

  it("names the right that is missing, and is tried again", () => {
    const report = failing(new Forbidden({ verb: "patch", subject: 'deployments.apps "operators/tunnel-main"', detail: "no" }))
    expect(ready(snapshot(), report)).toMatchObject({ is: "Unknown FailedReconcile", message: expect.stringContaining("may not patch") })
    expect(concluded(snapshot(), report)).toMatchObject({
      outcome: "KubeError",
      requeue: { _tag: "Retry", policy: "forbidden" },
      announcements: [{ type: "Warning", reason: "FailedReconcile" }],
    })
  })

  it("is no news when somebody wrote first", () => {
    const report = failing(new Conflict({ detail: "changed" }))
    expect(concluded(snapshot(), report)).toMatchObject({ status: undefined, announcements: [], requeue: { policy: "conflict" } })
  })
})

describe("what brings an environment back", () => {
  const { watches } = environmentController(settings)
  const woken = (kind: string, before: KubernetesObject | undefined, after: KubernetesObject | undefined) =>
    watches.flatMap((watch) => (watch.kind === kind ? watch.wakes(before as never, after as never) : []))
  const tunnel = { name: { name: "main" }, priority: "world" }
  const token = { index: "token", value: "credentials", priority: "world" }

  it("is a tunnel that is deleted, edited, or robbed of its labels (scenario 116)", () => {
    const live = deployment()
    for (const kind of ["TunnelDeployment", "TunnelService"]) {
      expect(woken(kind, live, undefined)).toEqual([tunnel])
      expect(woken(kind, live, { ...live, metadata: { ...live.metadata, labels: {} } })).toEqual([tunnel])
      expect(woken(kind, live, deployment({}, 5))).toEqual([tunnel])
      expect(woken(kind, live, { ...live, metadata: { ...live.metadata, resourceVersion: "9" } })).toEqual([])
    }
  })

  it("is a tunnel whose pods come up", () => {
    expect(woken("TunnelDeployment", deployment({ availableReplicas: 0 }), deployment())).toEqual([tunnel])
  })

  it("is not a Deployment that is no tunnel", () => {
    const live = deployment()
    expect(woken("TunnelDeployment", undefined, { ...live, metadata: { ...live.metadata, name: "other" } })).toEqual([])
  })

  it("is its Secret, when it comes, goes, or holds something else (scenario 116)", () => {
    expect(woken("Secret", undefined, secret())).toEqual([token])
    expect(woken("Secret", secret(), undefined)).toEqual([token])
    expect(woken("Secret", secret(), secret({ token: "digest-2" }))).toEqual([token])
    expect(woken("Secret", secret(), { ...secret(), metadata: { ...secret().metadata, resourceVersion: "2" } })).toEqual([])
  })
})

describe("the plan", () => {
  it("says nothing of the token but its digest", () => {
    expect(JSON.stringify(decided(snapshot()).steps).match(/digest-1/g)).toHaveLength(1)
  })
})
