/** What the API server lets into a deployment and what it refuses, with the committed definitions. */
import { beforeAll, describe, expect, it } from "vitest"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import { type JsonObject, committedCrd, connect, editions, install, kubectl, refusal } from "../support/api-server.ts"
import { deployment, strictAsBefore, stricterThanBefore } from "./deployment-manifest.ts"
import { examplesOf } from "./examples.ts"

let client: KubernetesClient

beforeAll(async () => {
  client = await connect()
  for (const vocabulary of editions) await install(client, committedCrd(vocabulary, "deployment"))
})

const hosted = { cluster: null, cloud: "main" }

/** Things that look odd and are right. */
const valid: ReadonlyArray<{ readonly what: string; readonly spec: JsonObject; readonly name?: string }> = [
  { what: "the shortest useful spec", spec: { selector: null, template: { metadata: null } } },
  { what: "a name of 52 characters", name: `a${"b".repeat(51)}`, spec: {} },
  { what: "mode knative with an empty block", spec: { deploymentMode: "knative", knative: {} } },
  { what: "in-process with cloud", spec: { restate: { tunnelMode: "in-process", register: hosted } } },
  { what: "a url with a path", spec: { restate: { register: { cluster: null, url: "https://admin.example.com:9070/restate" } } } },
  { what: "a url with an IPv6 address", spec: { restate: { register: { cluster: null, url: "http://[::1]:9070" } } } },
  { what: "a servicePath without slash", spec: { restate: { servicePath: "api/v1..2/greeter" } } },
  { what: "a servicePath with a colon", spec: { restate: { servicePath: "/a:b" } } },
  {
    what: "autoscaling with minReplicas 0 and fields of a later API",
    spec: { autoscaling: { minReplicas: 0, maxReplicas: 3, novelty: { x: 1 } } },
  },
  { what: "a pod field that nobody knows", spec: { template: { spec: { novelty: { x: 1 } } } } },
]

const mode = (value: string | undefined): JsonObject => ({ deploymentMode: value ?? null, knative: value === "knative" ? {} : null })

describe.each(editions)("in the vocabulary $edition", (vocabulary) => {
  const { group, version, plural } = vocabulary.resources.deployment
  const collection = `/apis/${group}/${version}/namespaces/default/${plural}`
  const tryOut = `${collection}?dryRun=All`

  it.each(valid)("accepts $what", async ({ name, spec }) => {
    const manifest = deployment(vocabulary, name ?? "greeter", spec)
    expect(await client.create(tryOut, manifest)).toMatchObject({ spec: manifest.spec })
  })

  it.each([...strictAsBefore, ...stricterThanBefore])("refuses $breaks and names the field", async ({ name, spec, field, says }) => {
    const { status, message } = await refusal(client.create(tryOut, deployment(vocabulary, name ?? "greeter", spec)))
    expect(status).toBe(422)
    expect(message).toContain(field)
    expect(message).toContain(says)
  })

  it("accepts every example", async () => {
    for (const { object } of examplesOf(vocabulary, "deployment")) {
      const manifest = { ...object, metadata: { ...object.metadata, namespace: "default" } }
      await expect(client.create(`${tryOut}&fieldValidation=Strict`, manifest)).resolves.toBeDefined()
    }
  })

  it("takes null for an optional field as its absence", async () => {
    const { metadata, spec, ...rest } = deployment(vocabulary, "greeter")
    const autoscaling = { maxReplicas: 3, minReplicas: null, scaleTargetRef: null }
    const empty = { deploymentMode: null, knative: null, replicas: null, minReadySeconds: null, autoscaling }
    expect(await client.create(tryOut, { ...rest, metadata, spec: { ...spec, ...empty } })).toMatchObject({ spec: { replicas: 1 } })
  })

  it("puts the defaults of replicas and revisionHistoryLimit into the object and no others", async () => {
    const manifest = deployment(vocabulary, "greeter")
    const { spec } = await client.create<{ spec: unknown }>(tryOut, manifest)
    expect(spec).toEqual({ ...manifest.spec, replicas: 1, revisionHistoryLimit: 10 })
  })

  it.each([
    { from: undefined, to: "knative" },
    { from: "replicaset", to: "knative" },
    { from: "knative", to: "replicaset" },
    { from: "knative", to: undefined },
  ])("refuses to change deploymentMode from $from to $to (scenario 67)", async ({ from, to }) => {
    const name = `mode-${from}-${to}-${vocabulary.edition}`
    await client.create(collection, deployment(vocabulary, name, mode(from)))
    const { message } = await refusal(client.patch(`${collection}/${name}`, { spec: mode(to) }))
    expect(message).toContain("spec.deploymentMode: Invalid value")
    expect(message).toContain(`create another ${vocabulary.resources.deployment.kind} instead`)
    await client.delete(`${collection}/${name}`)
  })

  it("takes an unset deploymentMode and replicaset for the same", async () => {
    const name = `mode-default-${vocabulary.edition}`
    await client.create(collection, deployment(vocabulary, name))
    await expect(client.patch(`${collection}/${name}`, { spec: { deploymentMode: "replicaset" } })).resolves.toBeDefined()
    await expect(client.patch(`${collection}/${name}`, { spec: { deploymentMode: null } })).resolves.toBeDefined()
    await client.delete(`${collection}/${name}`)
  })

  it("scales through the scale subresource", async () => {
    const name = `scale-${vocabulary.edition}`
    await client.create(collection, deployment(vocabulary, name))
    await client.patch(`${collection}/${name}/scale`, { spec: { replicas: 3 } })
    expect(await client.get(`${collection}/${name}`)).toMatchObject({ spec: { replicas: 3 } })
    await client.delete(`${collection}/${name}`)
  })

  it("writes status.deletion on an object that has no status yet", async () => {
    const name = `deleting-${vocabulary.edition}`
    await client.create(collection, deployment(vocabulary, name))
    const deletion = { policy: "drain", phase: "Draining", totalPendingInvocations: 1 }
    const written = await client.patch(`${collection}/${name}/status`, { status: { deletion } })
    expect(written).toMatchObject({ status: { replicas: 0, deletion } })
    await client.delete(`${collection}/${name}`)
  })

  it("explains every field of spec.restate in words", async () => {
    const text = await kubectl("explain", `${plural}.${group}.spec.restate`)
    const words = text.replace(/\s+/g, " ")
    expect(words).toContain("Seconds from the moment a version has no work left to its removal")
    expect(words).toContain("What deleting this object does with unfinished invocations.")
    expect(words).toContain(`through the tunnel pods of the ${vocabulary.resources.environment.kind}.`)
    for (const field of ["register", "servicePath", "useHttp11", "tunnelMode", "drainDelaySeconds", "deletePolicy", "drain"]) {
      expect(text).toMatch(new RegExp(`^  ${field}\\t<`, "m"))
    }
  })
})
