/** A ServiceCluster on a real API server with its controllers: what is made, what is repaired, and that nothing is written twice. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { setTimeout as sleep } from "node:timers/promises"
import { vocabularies } from "#src/vocabulary.ts"
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"
import { waitFor } from "../../sandbox/wait.ts"
import { isWrite } from "../support/fault-proxy.ts"
import { OperatorWorld } from "../support/operator-world.ts"

const { cluster: names } = vocabularies.service.resources
const collection = `/apis/${names.group}/${names.version}/${names.plural}`

let world: OperatorWorld

beforeAll(async () => {
  world = await OperatorWorld.start()
}, 120_000)

afterAll(() => world.stop())

type Status = {
  readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string; readonly reason: string; readonly message: string }>
}

const make = (name: string, spec: object = {}, compute: object = {}): Promise<KubernetesObject> =>
  world.sandbox.client.create(collection, {
    apiVersion: `${names.group}/${names.version}`,
    kind: names.kind,
    metadata: { name },
    spec: { storage: { storageRequestBytes: 1024 ** 3 }, compute: { image: "durable-server:none", ...compute }, ...spec },
  })

const statefulSetPath = (name: string): string => `/apis/apps/v1/namespaces/${name}/statefulsets/service`
const find = (path: string): Promise<KubernetesObject | undefined> => world.sandbox.client.find(path)

const reason = async (name: string): Promise<string> => {
  const object: { readonly status?: Status } = { ...(await world.sandbox.client.get(`${collection}/${name}`)) }
  const ready = object.status?.conditions?.find(({ type }) => type === "Ready")
  return `${ready?.status} ${ready?.reason}`
}

/** What the operator writes about a cluster from now until nothing more comes for two seconds, events aside. */
const writesOf = async (name: string, cause: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  const from = world.api.seen.length
  await cause()
  await sleep(2_500)
  return world.api.seen
    .slice(from)
    .filter((request) => isWrite(request) && request.url.includes(name) && !request.url.includes("/events"))
    .map(({ method, url }) => `${method} ${url.replace(/\?.*/, "")}`)
}

/** A change of the object that is none of its children's business. */
const nudge = (name: string): Promise<unknown> =>
  world.sandbox.client.patch(`${collection}/${name}`, { metadata: { annotations: { [`${names.group}/nudge`]: String(Date.now()) } } })

/** Passes so far, by the operator's own count: without them nothing would be written either. */
const passes = async (): Promise<number> =>
  Number(/^service_operator_reconciliations_total(?:\{[^}]*\})? (\d+)/m.exec(await world.operator.metrics())?.[1])

const settled = async (name: string): Promise<void> => {
  await waitFor(`the StatefulSet of ${name}`, async () => (await find(statefulSetPath(name))) !== undefined)
  await waitFor(`${name} to be left alone`, async () => (await writesOf(name, () => Promise.resolve())).length === 0, { timeoutMs: 60_000 })
}

describe("a ServiceCluster", () => {
  it("has everything of a server in its namespace, and says that the pods are not there yet", async () => {
    await make("first")
    await settled("first")
    const kinds = [
      ["/api/v1", "serviceaccounts", "service"],
      ["/api/v1", "configmaps", "service-config-42c4b0e3"],
      ["/api/v1", "services", "service"],
      ["/api/v1", "services", "service-cluster"],
      ["/apis/policy/v1", "poddisruptionbudgets", "service"],
      ["/apis/networking.k8s.io/v1", "networkpolicies", "allow-metrics-access"],
      ["/apis/apps/v1", "statefulsets", "service"],
      ["/api/v1", "persistentvolumeclaims", "storage-service-0"],
    ]
    for (const [root, plural, name] of kinds)
      expect(await find(`${root}/namespaces/first/${plural}/${name}`), `${plural}/${name}`).toBeDefined()
    expect(await reason("first")).toMatch(/^False /)
  })

  it("writes nothing in a second pass (scenario 26)", async () => {
    const before = await passes()
    expect(await writesOf("first", () => nudge("first"))).toEqual([])
    expect(await passes()).toBeGreaterThan(before)
  })

  it("has what was deleted or edited by hand put right (scenario 43)", async () => {
    const { metadata } = await world.sandbox.client.get(statefulSetPath("first"))
    await world.sandbox.client.delete(statefulSetPath("first"))
    await waitFor("another StatefulSet", async () => {
      const found = await find(statefulSetPath("first"))
      return found !== undefined && found.metadata.uid !== metadata.uid
    })
    const service = "/api/v1/namespaces/first/services/service"
    await world.sandbox.client.patch(service, { spec: { selector: { "app.kubernetes.io/instance": "other" } } })
    await waitFor("its selector", async () => JSON.stringify(await find(service)).includes('"app.kubernetes.io/instance":"first"'))
  })

  it("uses a namespace that is there already, and leaves it alone", async () => {
    await world.sandbox.client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "theirs" } })
    await make("theirs")
    await settled("theirs")
    const namespace = await world.sandbox.client.get("/api/v1/namespaces/theirs")
    expect(namespace.metadata.labels).toEqual({ "kubernetes.io/metadata.name": "theirs" })
    expect(namespace.metadata).not.toHaveProperty("ownerReferences")
  })

  it("tells of a mistake in its spec, and the others go on", async () => {
    await make("wrong", { config: "a = [" })
    await waitFor("the mistake to be told", async () => (await reason("wrong")) === "Unknown FailedReconcile")
    expect(await find(statefulSetPath("wrong"))).toBeUndefined()
    await world.sandbox.client.delete(`${collection}/wrong`)
    await waitFor("it to go", async () => (await find(`${collection}/wrong`)) === undefined)
  })

  it("goes, and its namespace with it (scenario 42)", async () => {
    await make("leaving")
    await settled("leaving")
    await world.sandbox.client.delete(`${collection}/leaving`)
    await waitFor("the object to go", async () => (await find(`${collection}/leaving`)) === undefined)
    await waitFor("its namespace to go", async () => (await find("/api/v1/namespaces/leaving"))?.metadata.deletionTimestamp !== undefined)
  })
})

const features: ReadonlyArray<readonly [what: string, spec: object, compute: object]> = [
  ["peers", { security: { networkPeers: { ingress: [], admin: [{ podSelector: { matchLabels: { a: "b" } } }], node: [] } } }, {}],
  ["certificates", { security: { trustedCaCerts: [{ secretName: "ca", key: "ca.crt" }] } }, {}],
  ["signing", { security: { requestSigningPrivateKey: { version: "v1", secret: { secretName: "key", key: "pem" } } } }, {}],
  ["no-policies", { security: { disableNetworkPolicies: true } }, {}],
  [
    "egress",
    { security: { networkEgressRules: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }], ports: [{ port: 443, protocol: "TCP" }] }] } },
    {},
  ],
  ["annotations", { security: { serviceAnnotations: { a: "1" }, serviceAccountAnnotations: { b: "2" } } }, {}],
  ["config", { config: 'log-filter = "info"\n' }, {}],
  ["resources", {}, { resources: { requests: { cpu: "1000m", memory: "1024Mi" }, limits: { memory: "1Gi" } } }],
  [
    "variables",
    {},
    {
      env: [
        { name: "RESTATE_LOG_FORMAT", value: "pretty" },
        { name: "A", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      ],
    },
  ],
  [
    "placement",
    {},
    {
      replicas: 3,
      tolerations: [{ key: "a", operator: "Exists" }],
      nodeSelector: { disk: "ssd" },
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector: { matchLabels: { a: "b" } }, topologyKey: "kubernetes.io/hostname" },
          ],
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { a: "b" } } },
      ],
    },
  ],
  [
    "sidecars",
    {},
    {
      sidecars: [{ name: "proxy", image: "proxy:1", ports: [{ containerPort: 1, name: "p" }] }],
      extraVolumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Gi" } }],
      extraVolumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
      lifecycle: { preStop: { exec: { command: ["sleep", "1"] } } },
      dnsConfig: { options: [{ name: "ndots", value: "1" }] },
      command: ["a"],
      args: ["b"],
      imagePullSecrets: [{ name: "pull" }],
      labels: { tier: "data" },
      annotations: { team: "blue" },
      terminationGracePeriodSeconds: 5,
    },
  ],
]

/** Every pair of features, so that no two of them trip over each other. */
const pairs = features.flatMap((one, index) => features.slice(index + 1).map((other) => [one, other] as const))

describe("a second pass over an unchanged cluster", () => {
  it(`writes nothing, with each of ${pairs.length} pairs of features`, { timeout: 300_000 }, async () => {
    const join = (one: object, other: object): object => ({ ...one, ...other })
    const made = await Promise.all(
      pairs.map(async ([[first, spec, compute], [second, otherSpec, otherCompute]]) => {
        const name = `${first}-${second}`
        const security = { ...Reflect.get(spec, "security"), ...Reflect.get(otherSpec, "security") }
        await make(name, { ...join(spec, otherSpec), security }, join(compute, otherCompute))
        return name
      }),
    )
    for (const name of made)
      await waitFor(`the StatefulSet of ${name}`, async () => (await find(statefulSetPath(name))) !== undefined, { timeoutMs: 120_000 })
    const quiet = async (): Promise<boolean> => {
      const from = world.api.seen.length
      await sleep(4_000)
      return !world.api.seen.slice(from).some((request) => isWrite(request) && !request.url.includes("/events"))
    }
    await waitFor("all to be left alone", quiet, { timeoutMs: 120_000 })
    const from = world.api.seen.length
    const before = await passes()
    for (const name of made) await nudge(name)
    await sleep(10_000)
    expect(await passes()).toBeGreaterThanOrEqual(before + made.length)
    const writes = world.api.seen.slice(from).filter((request) => isWrite(request) && !request.url.includes("/events"))
    expect(writes.map(({ method, url }) => `${method} ${url.replace(/\?.*/, "")}`)).toEqual([])
  })
})
