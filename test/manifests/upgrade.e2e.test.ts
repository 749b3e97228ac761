/**
 * Live objects may break rules that were not there when they were made. They must stay manageable: their status can be
 * written, other fields can be edited, and their finalizer can be released, or else they could never be deleted.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Vocabulary, vocabularies } from "#src/vocabulary.ts"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import { type JsonObject, committedCrd, connect, eventually, install, refusal } from "../support/api-server.ts"
import { deployment, stricterThanBefore } from "./deployment-manifest.ts"
import { inOwnGroup, looser, placeOf } from "./older-crd.ts"

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
