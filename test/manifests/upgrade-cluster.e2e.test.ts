/** As `upgrade.e2e.test.ts`, for clusters and environments: what broke a rule before the rule stays manageable. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Vocabulary } from "#src/vocabulary.ts"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import { type JsonObject, committedCrd, connect, editions, eventually, install, refusal } from "../support/api-server.ts"
import * as clusters from "./cluster-manifest.ts"
import * as environments from "./environment-manifest.ts"
import { inOwnGroup, looser, placeOf } from "./older-crd.ts"

let client: KubernetesClient

beforeAll(async () => {
  client = await connect()
})

const finalizer = "test.example.com/hold"

const kinds = [
  {
    role: "cluster",
    manifest: clusters.cluster,
    violations: clusters.stricterThanBefore,
    edit: { clusterName: "edited", compute: { image: "server:2" }, security: { disableNetworkPolicies: true } },
  },
  {
    role: "environment",
    manifest: environments.environment,
    violations: () => environments.stricterThanBefore,
    edit: { authentication: { secret: { key: "edited" } }, tunnel: { image: "tunnel:2" } },
  },
] as const

const cases = editions.flatMap((vocabulary) => kinds.map((kind) => ({ vocabulary, edition: vocabulary.edition, ...kind })))

describe.each(cases)("after an upgrade in the vocabulary $edition, a $role", ({ vocabulary, role, manifest, violations, edit }) => {
  const strict = inOwnGroup(committedCrd(vocabulary, role))
  const { group, collection } = placeOf(strict)
  const renamed = under(group, vocabulary, role)
  const violators = violations(vocabulary).map((violation, index) => ({ ...violation, name: violation.name ?? `violator-${index}` }))

  beforeAll(async () => {
    await install(client, looser(strict))
    for (const { name, spec } of violators) {
      const made = manifest(renamed, name, spec)
      await client.create(collection, { ...made, metadata: { ...made.metadata, finalizers: [finalizer] } })
    }
    await client.apply(strict)
    // Definitions take effect a moment after they are written.
    await eventually(() => refusal(client.create(`${collection}?dryRun=All`, manifest(renamed, "dotted.name"))))
  })

  afterAll(() => client.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${strict.metadata.name}`))

  describe.each(violators)("with $breaks", ({ name }) => {
    const path = `${collection}/${name}`

    it("has its status applied", async () => {
      const { apiVersion, kind, metadata } = manifest(renamed, name)
      const status = { observedGeneration: 1, conditions: [{ type: "Ready", status: "False" }] }
      const applied = client.patch(`${path}/status?fieldManager=operator&force=true`, { apiVersion, kind, metadata, status }, "apply")
      expect(await applied).toMatchObject({ status })
    })

    it("has other fields edited", async () => {
      expect(await client.patch(path, { spec: edit })).toMatchObject({ spec: edit })
    })

    it("is deleted once its finalizer is released", async () => {
      await client.delete(path)
      const { metadata } = await client.get(path)
      expect(metadata.deletionTimestamp).toBeDefined()
      await client.patch(path, { metadata: { finalizers: [], resourceVersion: metadata.resourceVersion } })
      expect(await client.find(path)).toBeUndefined()
    })
  })
})

const signing = (requestSigningPrivateKey: JsonObject): JsonObject => ({ security: { requestSigningPrivateKey } })
const oneSource = "exactly one of secret and secretProvider"

/** An old value that is wrong, a new one that is wrong too, and a sound one. */
const moves: ReadonlyArray<{
  readonly what: string
  readonly role: "cluster" | "environment"
  readonly old: JsonObject
  readonly worse: JsonObject
  readonly says: string
  readonly mended: JsonObject
}> = [
  {
    what: "negative replicas",
    role: "cluster",
    old: { compute: { replicas: -1 } },
    worse: { compute: { replicas: -2 } },
    says: "replicas must be 0 or more",
    mended: { compute: { replicas: 1 } },
  },
  {
    what: "a variable",
    role: "cluster",
    old: { compute: { env: [{ name: "POD_NAME" }] } },
    worse: { compute: { env: [{ name: "POD_NAME" }, { name: "POD_ZONE" }] } },
    says: "spec.compute.env[1].name",
    mended: { compute: { env: [{ name: "POD" }] } },
  },
  {
    what: "a volume",
    role: "cluster",
    old: { compute: { extraVolumes: [{ name: "tmp", emptyDir: {} }] } },
    worse: { compute: { extraVolumes: [{ name: "config", emptyDir: {} }] } },
    says: "spec.compute.extraVolumes[0].name",
    mended: { compute: { extraVolumes: [{ name: "other", emptyDir: {} }] } },
  },
  {
    what: "a mount",
    role: "cluster",
    old: { compute: { extraVolumeMounts: [{ name: "a", mountPath: "/tmp" }] } },
    worse: { compute: { extraVolumeMounts: [{ name: "a", mountPath: "/tmp/" }] } },
    says: "spec.compute.extraVolumeMounts[0].mountPath",
    mended: { compute: { extraVolumeMounts: [] } },
  },
  {
    what: "a sidecar",
    role: "cluster",
    old: { compute: { sidecars: [{ name: "service" }] } },
    worse: { compute: { sidecars: [{ name: "combine-ca-certs" }] } },
    says: "spec.compute.sidecars[0].name",
    mended: { compute: { sidecars: [{ name: "proxy" }] } },
  },
  {
    what: "a version of signing",
    role: "cluster",
    old: signing({ version: "v2", secret: { secretName: "a", key: "b" } }),
    worse: signing({ version: "v3" }),
    says: "version must be v1",
    mended: signing({ version: "v1" }),
  },
  {
    what: "a signing key from nowhere",
    role: "cluster",
    old: signing({ version: "v1" }),
    worse: signing({ secret: { secretName: "a", key: "b" }, secretProvider: { path: "c" } }),
    says: oneSource,
    mended: signing({ secret: { secretName: "a", key: "b" } }),
  },
  {
    what: "a region",
    role: "environment",
    old: { region: "eu..central" },
    worse: { region: "eu." },
    says: "region must be",
    mended: { region: "eu" },
  },
  {
    what: "an id",
    role: "environment",
    old: { environmentId: "env:1" },
    worse: { environmentId: "env:2" },
    says: "environmentId must be",
    mended: { environmentId: "env_1" },
  },
  {
    what: "a key",
    role: "environment",
    old: { signingPublicKey: "a" },
    worse: { signingPublicKey: "b" },
    says: "must begin with publickeyv1_",
    mended: { signingPublicKey: "publickeyv1_b" },
  },
]

describe.each(kinds)("after an upgrade, what is wrong in a $role", ({ role, manifest }) => {
  const [vocabulary] = editions
  if (vocabulary === undefined) throw new Error("no vocabulary")
  const strict = inOwnGroup(committedCrd(vocabulary, role), "changed")
  const { group, collection } = placeOf(strict)
  const renamed = under(group, vocabulary, role)
  const named = moves.filter((move) => move.role === role).map((move, index) => ({ ...move, name: `wrong-${index}` }))

  beforeAll(async () => {
    await install(client, looser(strict))
    for (const { name, old } of named) await client.create(collection, manifest(renamed, name, old))
    await client.apply(strict)
    await eventually(() => refusal(client.create(`${collection}?dryRun=All`, manifest(renamed, "dotted.name"))))
  })

  afterAll(() => client.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${strict.metadata.name}`))

  it.each(named)("cannot get wrong in another way, but right ($what)", async ({ name, worse, says, mended }) => {
    expect((await refusal(client.patch(`${collection}/${name}`, { spec: worse }))).message).toContain(says)
    expect(await client.patch(`${collection}/${name}`, { spec: mended })).toMatchObject({ spec: mended })
  })
})

/** The vocabulary with one kind in another group. */
function under(group: string, vocabulary: Vocabulary, role: "cluster" | "environment"): Vocabulary {
  const { resources } = vocabulary
  return { ...vocabulary, resources: { ...resources, [role]: { ...resources[role], group } } }
}
