/** The operator's own manifest is taken by the API server, and its pod satisfies the restricted standard of its namespace. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseAllDocuments } from "yaml"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"
import { connect, editions, eventually, refusal } from "../support/api-server.ts"

interface Workload extends KubernetesObject {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: { readonly containers: ReadonlyArray<object> } } }
}

let client: KubernetesClient

beforeAll(async () => {
  client = await connect()
})

describe.each(editions)("install.yaml in the vocabulary $edition", ({ edition, operator }) => {
  const namespace = `install-${edition}`
  const file = join(import.meta.dirname, "../../dist-manifests", edition, "install.yaml")
  // Names of its own, for other tests use the real ones on the same API server.
  const text = readFileSync(file, "utf8").replaceAll(`namespace: ${operator}\n`, `namespace: ${namespace}\n`)
  const objects = parseAllDocuments(text).map((document): KubernetesObject => {
    const object: KubernetesObject = document.toJS()
    return object.kind === "Namespace" ? { ...object, metadata: { ...object.metadata, name: namespace } } : object
  })

  beforeAll(async () => {
    for (const object of objects) await client.apply(object)
  })

  afterAll(() => client.delete(`/api/v1/namespaces/${namespace}`))

  it("is admitted", async () => {
    expect(await client.get(`/apis/apps/v1/namespaces/${namespace}/deployments/${operator}`)).toMatchObject({ kind: "Deployment" })
  })

  it("has a pod that the restricted standard admits", async () => {
    const workload = await client.get<Workload>(`/apis/apps/v1/namespaces/${namespace}/deployments/${operator}`)
    const { metadata, spec } = workload.spec.template
    const pods = `/api/v1/namespaces/${namespace}/pods?dryRun=All`
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "try" }, spec }
    await eventually(() => client.create(pods, pod))
    const careless = { ...pod, spec: { ...spec, containers: spec.containers.map((container) => ({ ...container, securityContext: {} })) } }
    expect((await refusal(client.create(pods, careless))).message).toContain('violates PodSecurity "restricted')
  })
})
