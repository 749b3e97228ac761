/**
 * Live objects may break rules that were not there when they were made. They must stay manageable: their status can be
 * written, other fields can be edited, and their finalizer can be released, or else they could never be deleted.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Vocabulary, vocabularies } from "#src/vocabulary.ts"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import { type Crd, type JsonObject, committedCrd, connect, eventually, install, refusal } from "../support/api-server.ts"
import { deployment, stricterThanBefore } from "./deployment-manifest.ts"

let client: KubernetesClient

beforeAll(async () => {
  client = await connect()
})

const finalizer = "test.example.com/hold"

describe.each([vocabularies.service, vocabularies.restate])("after an upgrade in the vocabulary $edition", (vocabulary) => {
  const strict = inOwnGroup(committedCrd(vocabulary, "deployment"))
  const { group, collection } = placeOf(strict)
  const renamed: Vocabulary = {
    ...vocabulary,
    resources: { ...vocabulary.resources, deployment: { ...vocabulary.resources.deployment, group } },
  }
  const violators = stricterThanBefore.map((violation, index) => ({ ...violation, name: violation.name ?? `violator-${index}` }))

  beforeAll(async () => {
    await install(client, looser(strict))
    for (const { name, spec } of violators) {
      const manifest = deployment(renamed, name, spec)
      await client.create(collection, { ...manifest, metadata: { ...manifest.metadata, finalizers: [finalizer] } })
    }
    await client.apply(strict)
    // Definitions take effect a moment after they are written.
    await eventually(async () => {
      await refusal(client.create(`${collection}?dryRun=All`, deployment(renamed, "sample", { restate: { servicePath: "/?" } })))
    })
  })

  afterAll(() => client.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${strict.metadata.name}`))

  describe.each(violators)("an object with $breaks", ({ name }) => {
    const path = `${collection}/${name}`

    it("has its status written", async () => {
      const status = { replicas: 1, conditions: [{ type: "Ready", status: "False" }] }
      expect(await client.patch(`${path}/status`, { status })).toMatchObject({ status })
    })

    it("has its replicas scaled", async () => {
      expect(await client.patch(`${path}/scale`, { spec: { replicas: 2 } })).toMatchObject({ spec: { replicas: 2 } })
    })

    it("has another field edited", async () => {
      const containers = [{ name: "greeter", image: "greeter:2" }]
      const template = { metadata: { annotations: { edited: "yes" } }, spec: { containers } }
      const edited = await client.patch(path, { spec: { revisionHistoryLimit: 3, template } })
      expect(edited).toMatchObject({ spec: { revisionHistoryLimit: 3, template } })
    })

    it("is deleted once its finalizer is released", async () => {
      await client.delete(path)
      const { metadata } = await client.get(path)
      expect(metadata.deletionTimestamp).toBeDefined()
      // As the operator does it: the status first, then the whole list under the version that was read.
      const deletion = { policy: "drain", phase: "Draining", totalPendingInvocations: 0 }
      const { metadata: written } = await client.patch(`${path}/status`, { status: { replicas: 0, deletion } })
      await client.patch(path, { metadata: { finalizers: [], resourceVersion: written.resourceVersion } })
      expect(await client.find(path)).toBeUndefined()
    })
  })
})

describe("after an upgrade, a cluster with a dotted name and negative replicas", () => {
  const strict = inOwnGroup(committedCrd(vocabularies.service, "cluster"))
  const { group, names, versions } = strict.spec
  const apiVersion = `${group}/${versions[0]?.name}`
  const collection = `/apis/${apiVersion}/${names.plural}`
  const path = `${collection}/main.eu`
  const manifest = {
    apiVersion,
    kind: names.kind,
    metadata: { name: "main.eu", finalizers: [finalizer] },
    spec: { storage: { storageRequestBytes: 1 }, compute: { image: "server:1", replicas: -1 } },
  }

  beforeAll(async () => {
    await install(client, looser(strict))
    await client.create(collection, manifest)
    await client.apply(strict)
    await eventually(() => refusal(client.create(`${collection}?dryRun=All`, { ...manifest, metadata: { name: "main" } })))
  })

  afterAll(() => client.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${strict.metadata.name}`))

  it("stays manageable", async () => {
    await client.patch(`${path}/status`, { status: { provisioned: true } })
    await client.patch(path, { spec: { compute: { image: "server:2" } } })
    expect((await refusal(client.patch(path, { spec: { compute: { replicas: -2 } } }))).message).toContain("replicas must be 0 or more")
    await client.delete(path)
    await client.patch(path, { metadata: { finalizers: [] } })
    expect(await client.find(path)).toBeUndefined()
  })

  it("is refused when it is new", async () => {
    const sound = { ...manifest, spec: { ...manifest.spec, compute: { image: "server:1" } } }
    const dotted = await refusal(client.create(`${collection}?dryRun=All`, { ...sound, metadata: { name: "main.us" } }))
    expect(dotted.message).toContain("it is the name of a namespace")
    await client.create(`${collection}?dryRun=All`, { ...sound, metadata: { name: "main" } })
  })
})

describe("after an upgrade, an object that breaks a rule", () => {
  const strict = inOwnGroup(committedCrd(vocabularies.service, "deployment"), "changed")
  const { group, collection } = placeOf(strict)
  const { resources } = vocabularies.service
  const renamed: Vocabulary = { ...vocabularies.service, resources: { ...resources, deployment: { ...resources.deployment, group } } }

  beforeAll(async () => {
    await install(client, looser(strict))
    await client.create(collection, deployment(renamed, "path", { restate: { servicePath: "/a?b" } }))
    await client.create(collection, deployment(renamed, "labels", { selector: { matchLabels: { app: "other" } } }))
    await client.create(collection, deployment(renamed, "mode", {}))
    await client.apply(strict)
    await eventually(() =>
      refusal(client.create(`${collection}?dryRun=All`, deployment(renamed, "sample", { restate: { servicePath: "/?" } }))),
    )
  })

  afterAll(() => client.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${strict.metadata.name}`))

  it.each<{ name: string; spec: JsonObject; says: string }>([
    { name: "path", spec: { restate: { servicePath: "/a?c" } }, says: "servicePath must be a path" },
    { name: "labels", spec: { selector: { matchLabels: { app: "third" } } }, says: "every label of selector.matchLabels" },
    { name: "labels", spec: { template: { metadata: { labels: { tier: "frontend" } } } }, says: "every label of selector.matchLabels" },
    { name: "mode", spec: { deploymentMode: "knative", knative: {} }, says: "deploymentMode cannot be changed" },
  ])("cannot break it in another way ($name: $says)", async ({ name, spec, says }) => {
    const { message } = await refusal(client.patch(`${collection}/${name}`, { spec }))
    expect(message).toContain(says)
  })

  it("can be mended", async () => {
    const mended = [
      { name: "path", spec: { restate: { servicePath: "/a" } } },
      { name: "labels", spec: { selector: { matchLabels: { app: "greeter" } } } },
    ]
    for (const { name, spec } of mended) expect(await client.patch(`${collection}/${name}`, { spec })).toMatchObject({ spec })
  })
})

/** The definition under a group of this file's own: the shared ones must not get looser while other files run. */
function inOwnGroup(crd: Crd, word = "upgrade"): Crd {
  const group = `${word}.${crd.spec.group}`
  return { ...crd, metadata: { ...crd.metadata, name: `${crd.spec.names.plural}.${group}` }, spec: { ...crd.spec, group } }
}

function placeOf({ spec: { group, names, versions } }: Crd): { readonly group: string; readonly collection: string } {
  return { group, collection: `/apis/${group}/${versions[0]?.name}/namespaces/default/${names.plural}` }
}

/** The definition without what the operator before this one does not check. */
function looser(crd: Crd): Crd {
  const versions = crd.spec.versions.map((version) => ({
    ...version,
    schema: { openAPIV3Schema: loosened(version.schema.openAPIV3Schema) },
  }))
  return { ...crd, spec: { ...crd.spec, versions } }
}

const ours = ["x-kubernetes-validations", "maxLength", "maxProperties", "pattern"]

function loosened(schema: JsonObject): JsonObject {
  // Where any field may stand, it also checked none.
  const dropped = schema["x-kubernetes-preserve-unknown-fields"] === true ? [...ours, "properties"] : ours
  return Object.fromEntries(Object.entries(schema).flatMap(([key, value]) => (dropped.includes(key) ? [] : [[key, loosenedValue(value)]])))
}

function loosenedValue(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? loosened(Object.fromEntries(Object.entries(value))) : value
}
