/** What the API server lets into a cluster and what it refuses, with the committed definitions. */
import { beforeAll, describe, expect, it } from "vitest"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import { type JsonObject, committedCrd, connect, editions, eventually, install, kubectl, refusal } from "../support/api-server.ts"
import { cluster, strictAsBefore, stricterThanBefore } from "./cluster-manifest.ts"

let client: KubernetesClient

beforeAll(async () => {
  client = await connect()
  for (const vocabulary of editions) await install(client, committedCrd(vocabulary, "cluster"))
})

const secret = { secretName: "signing", key: "private.pem" }

/** Things that look odd and are right. */
const valid: ReadonlyArray<{ readonly what: string; readonly spec: JsonObject; readonly name?: string }> = [
  { what: "the shortest useful spec", spec: {} },
  { what: "a name of 63 characters", name: "a".repeat(63), spec: {} },
  { what: "a name of digits", name: "1", spec: {} },
  { what: "no replicas at all", spec: { compute: { replicas: 0 } } },
  {
    what: "hooks that are killed at once",
    spec: { compute: { terminationGracePeriodSeconds: 0, lifecycle: { preStop: { sleep: { seconds: 5 } } } } },
  },
  {
    what: "a port for everybody",
    spec: { security: { networkPeers: { ingress: [], admin: [{ podSelector: {} }], node: [], metrics: [] } } },
  },
  {
    what: "an egress rule with a port by name, a range and no peer",
    spec: { security: { networkEgressRules: [{ ports: [{ port: "https" }, { port: 32_000, endPort: 32_768, protocol: "UDP" }] }, {}] } },
  },
  {
    what: "quantities as numbers and with every kind of unit",
    spec: {
      compute: { resources: { requests: { cpu: 1, memory: "1.5Gi", "example.com/gpu": "+1e0" }, limits: { cpu: "500m", memory: ".5G" } } },
    },
  },
  { what: "a toleration of every taint", spec: { compute: { tolerations: [{ operator: "Exists", effect: "" }] } } },
  {
    what: "paths and names that only begin like the operator's",
    spec: {
      compute: {
        extraVolumes: [{ name: "tmp2", emptyDir: {} }, { name: "trusted-ca" }, { name: "storage-2" }],
        extraVolumeMounts: ["/tmp/cache", "/tmp2", "/data/tmp", "/config.d", "/trusted-ca-0"].map((mountPath) => ({
          name: "tmp2",
          mountPath,
        })),
        sidecars: [{ name: "service-2", env: [{ name: "POD_NAME" }], ports: [{ containerPort: 80, protocol: "TCP" }] }],
        env: [{ name: "POD_NAMES" }, { name: "pod_name", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
      },
    },
  },
  {
    what: "a volume of a claim with labels",
    spec: {
      compute: {
        extraVolumes: [
          {
            name: "cache",
            ephemeral: {
              volumeClaimTemplate: {
                metadata: { labels: { a: "b" } },
                spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
              },
            },
          },
        ],
      },
    },
  },
  { what: "a signing key from a Secret", spec: { security: { requestSigningPrivateKey: { version: "v1", secret } } } },
  {
    what: "a signing key from a secret store",
    spec: {
      security: {
        requestSigningPrivateKey: { version: "v1", secretProvider: { provider: "aws", parameters: { a: "b" }, path: "key.pem" } },
      },
    },
  },
  { what: "a configuration that is no TOML", spec: { config: "= [" } },
]

describe.each(editions)("in the vocabulary $edition", (vocabulary) => {
  const { group, version, plural, singular } = vocabulary.resources.cluster
  const collection = `/apis/${group}/${version}/${plural}`
  const tryOut = `${collection}?dryRun=All`

  it.each(valid)("accepts $what as it is", async ({ name, spec }) => {
    const manifest = cluster(vocabulary, name ?? "main", spec)
    const { spec: taken } = await client.create<{ readonly spec: unknown }>(`${tryOut}&fieldValidation=Strict`, manifest)
    expect(taken).toEqual(manifest.spec)
  })

  it.each([...strictAsBefore, ...stricterThanBefore(vocabulary)])(
    "refuses $breaks and names the field",
    async ({ name, spec, field, says }) => {
      const { status, message } = await refusal(client.create(tryOut, cluster(vocabulary, name ?? "main", spec)))
      expect(status).toBe(422)
      expect(message).toContain(field)
      expect(message).toContain(says)
    },
  )

  it("drops what it does not know, at every depth", async () => {
    const compute = { novelty: 1, tolerations: [{ key: "a", novelty: 1 }], resources: { limits: { cpu: 1 }, novelty: 1 } }
    const known = { tolerations: [{ key: "a" }], resources: { limits: { cpu: 1 } } }
    const { spec } = await client.create<{ readonly spec: unknown }>(tryOut, cluster(vocabulary, "main", { novelty: 1, compute }))
    expect(spec).toEqual(cluster(vocabulary, "main", { compute: known }).spec)
  })

  it("takes null for an optional field as its absence", async () => {
    const { spec, ...rest } = cluster(vocabulary, "main")
    const compute = Object.fromEntries(
      [
        "replicas command args imagePullPolicy imagePullSecrets env resources dnsPolicy dnsConfig tolerations nodeSelector affinity",
        "topologySpreadConstraints priorityClassName annotations labels lifecycle sidecars terminationGracePeriodSeconds extraVolumes",
        "extraVolumeMounts",
      ].flatMap((names) => names.split(" ").map((name) => [name, null])),
    )
    const storage = { storageRequestBytes: 1, storageClassName: null, volumeAttributesClassName: null }
    const security = { requestSigningPrivateKey: { version: "v1", secret, secretProvider: null }, networkPeers: null, trustedCaCerts: null }
    const empty = { ...spec, clusterName: null, config: null, cluster: null, storage, compute: { image: "server:1", ...compute }, security }
    await expect(client.create(tryOut, { ...rest, spec: empty })).resolves.toBeDefined()
  })

  it("puts the default of autoProvision into the object and no other", async () => {
    const options = { cluster: {}, security: {} }
    const manifest = cluster(vocabulary, "main", options)
    const { spec } = await client.create<{ readonly spec: unknown }>(tryOut, manifest)
    expect(spec).toEqual({ ...manifest.spec, ...options, cluster: { autoProvision: false } })
  })

  const refusals = async (name: string, storage: JsonObject): Promise<string> =>
    (await refusal(client.patch(`${collection}/${name}`, { spec: { storage } }))).message

  it("lets storage grow and keeps it from shrinking (scenario 32)", async () => {
    const name = `growing-${vocabulary.edition}`
    await client.create(collection, cluster(vocabulary, name))
    expect(await refusals(name, { storageRequestBytes: 999 })).toContain(
      "spec.storage.storageRequestBytes: Invalid value: 999: storageRequestBytes cannot be decreased",
    )
    await client.patch(`${collection}/${name}`, { spec: { storage: { storageRequestBytes: 2_000, volumeAttributesClassName: "gold" } } })
    await client.delete(`${collection}/${name}`)
  })

  it("keeps the class of storage from changing, also to and from none (scenario 34)", async () => {
    const [fast, none] = [`fast-${vocabulary.edition}`, `none-${vocabulary.edition}`]
    await client.create(collection, cluster(vocabulary, fast, { storage: { storageClassName: "fast" } }))
    await client.create(collection, cluster(vocabulary, none))
    for (const [name, storageClassName] of [
      [fast, "slow"],
      [fast, null],
      [none, "fast"],
    ] as const) {
      expect(await refusals(name, { storageClassName })).toContain(
        "spec.storage.storageClassName: Invalid value: storageClassName is immutable",
      )
    }
    // Null is none.
    await client.patch(`${collection}/${none}`, [{ op: "add", path: "/spec/storage/storageClassName", value: null }], "json")
    for (const name of [fast, none]) {
      await client.patch(`${collection}/${name}`, { spec: { storage: { storageRequestBytes: 2_000 } } })
      await client.delete(`${collection}/${name}`)
    }
  })

  it("lets two people apply variables of their own", async () => {
    const name = `shared-${vocabulary.edition}`
    const { spec: _, ...rest } = cluster(vocabulary, name)
    const path = `${collection}/${name}`
    await client.create(path.slice(0, path.lastIndexOf("/")), cluster(vocabulary, name))
    for (const [person, variable] of [
      ["ann", "A"],
      ["bob", "B"],
    ])
      await client.patch(`${path}?fieldManager=${person}`, { ...rest, spec: { compute: { env: [{ name: variable }] } } }, "apply")
    expect(await client.get(path)).toMatchObject({ spec: { compute: { env: [{ name: "A" }, { name: "B" }] } } })
    await client.delete(path)
  })

  it("explains spec.compute in words", async () => {
    // What can be explained is published a moment after the definition.
    const text = await eventually(() => kubectl("explain", `${singular}.spec.compute`, `--api-version=${group}/${version}`))
    const words = text.replace(/\s+/g, " ")
    expect(words).toContain("Further environment variables of the server.")
    expect(words).toContain(`These paths are taken: ${vocabulary.server.dataPath}, /tmp,`)
    expect(text).not.toContain("<no description>")
    const deep = await kubectl("explain", `${singular}.spec.compute.affinity.nodeAffinity`, `--api-version=${group}/${version}`)
    expect(deep).toContain("requiredDuringSchedulingIgnoredDuringExecution")
  })

  it("has the columns Ready, Status and Age", async () => {
    const name = `columns-${vocabulary.edition}`
    await client.create(collection, cluster(vocabulary, name))
    const conditions = [{ type: "Ready", status: "True", message: "all pods are ready" }]
    await client.patch(`${collection}/${name}/status`, { status: { conditions } })
    expect(await kubectl("get", `${plural}.${group}`, name)).toMatch(/^NAME +READY +AGE\n\S+ +True +\d+s\n$/)
    expect(await kubectl("get", `${plural}.${group}`, name, "-o", "wide")).toMatch(
      /^NAME +READY +STATUS +AGE\n\S+ +True +all pods are ready +\d+s\n$/,
    )
    await client.delete(`${collection}/${name}`)
  })
})
