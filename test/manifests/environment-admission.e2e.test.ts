/** What the API server lets into an environment and what it refuses, with the committed definitions. */
import { beforeAll, describe, expect, it } from "vitest"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import { type JsonObject, committedCrd, connect, editions, eventually, install, kubectl, refusal } from "../support/api-server.ts"
import { environment, strictAsBefore, stricterThanBefore } from "./environment-manifest.ts"

let client: KubernetesClient

beforeAll(async () => {
  client = await connect()
  for (const vocabulary of editions) await install(client, committedCrd(vocabulary, "environment"))
})

/** Things that look odd and are right. */
const valid: ReadonlyArray<{ readonly what: string; readonly spec: JsonObject; readonly name?: string }> = [
  { what: "no tunnel settings", spec: {} },
  { what: "a name of 56 characters", name: "a".repeat(56), spec: {} },
  { what: "an id without prefix", spec: { environmentId: "1A2b-3_c" } },
  { what: "a region of one name", spec: { region: "us" } },
  { what: "a region of many names", spec: { region: "dev.eu-central-1.aws" } },
  { what: "no tunnel pods", spec: { tunnel: { replicas: 0 } } },
  { what: "a variable that the operator sets too", spec: { tunnel: { env: [{ name: "RUST_LOG", value: "debug" }] } } },
  {
    what: "pods with everything",
    spec: {
      tunnel: {
        remoteProxy: true,
        image: "tunnel:1",
        imagePullPolicy: "Always",
        resources: { limits: { cpu: 2, memory: "2Gi" } },
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["10.0.0.10"], options: [{ name: "ndots", value: "2" }] },
        tolerations: [{ operator: "Exists", effect: "" }],
        nodeSelector: { zone: "a" },
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: { topologyKey: "zone", labelSelector: { matchLabels: { a: "b" } } } },
            ],
          },
        },
      },
    },
  },
]

describe.each(editions)("in the vocabulary $edition", (vocabulary) => {
  const { group, version, plural, singular } = vocabulary.resources.environment
  const collection = `/apis/${group}/${version}/${plural}`
  const tryOut = `${collection}?dryRun=All`

  it.each(valid)("accepts $what as it is", async ({ name, spec }) => {
    const manifest = environment(vocabulary, name ?? "main", spec)
    const { spec: taken } = await client.create<{ readonly spec: unknown }>(`${tryOut}&fieldValidation=Strict`, manifest)
    expect(taken).toEqual(manifest.spec)
  })

  it.each([...strictAsBefore, ...stricterThanBefore])("refuses $breaks and names the field", async ({ name, spec, field, says }) => {
    const { status, message } = await refusal(client.create(tryOut, environment(vocabulary, name ?? "main", spec)))
    expect(status).toBe(422)
    expect(message).toContain(field)
    expect(message).toContain(says)
  })

  it("takes null for an optional field as its absence, and adds no default", async () => {
    const { spec, ...rest } = environment(vocabulary, "main")
    const names = "remoteProxy replicas image imagePullPolicy env resources dnsPolicy dnsConfig tolerations affinity".split(" ")
    for (const tunnel of [null, {}, Object.fromEntries(names.map((name) => [name, null]))])
      expect(await client.create(tryOut, { ...rest, spec: { ...spec, tunnel } })).toMatchObject({ spec: { ...spec, tunnel } })
  })

  it("writes a status", async () => {
    const path = `${collection}/status-${vocabulary.edition}`
    await client.create(collection, environment(vocabulary, `status-${vocabulary.edition}`))
    const status = {
      observedGeneration: 1,
      reconciliation: "Reconciling",
      conditions: [{ type: "Ready", status: "True", observedGeneration: 1 }],
    }
    expect(await client.patch(`${path}/status`, { status })).toMatchObject({ status })
    await client.delete(path)
  })

  it("explains every field of spec.tunnel in words", async () => {
    // What can be explained is published a moment after the definition.
    const text = await eventually(() => kubectl("explain", `${singular}.spec.tunnel`, `--api-version=${group}/${version}`))
    expect(text.replace(/\s+/g, " ")).toContain("Everybody who reaches the pods may use them, without a token of their own.")
    expect(text).not.toContain("<no description>")
  })

  it("has the columns Environment, Region and Age", async () => {
    const name = `columns-${vocabulary.edition}`
    await client.create(collection, environment(vocabulary, name))
    expect(await kubectl("get", `${plural}.${group}`, name)).toMatch(
      /^NAME +ENVIRONMENT +REGION +AGE\n\S+ +env_1a2b3c +eu\.central +\d+s\n$/,
    )
    await client.delete(`${collection}/${name}`)
  })
})
