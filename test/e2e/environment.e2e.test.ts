/** A ServiceCloudEnvironment on a real API server with its controllers: its tunnel, its token, and who hears of it. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { vocabularies } from "#src/vocabulary.ts"
import { installBundle } from "../../sandbox/install.ts"
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"
import { waitFor } from "../../sandbox/wait.ts"
import { isWrite } from "../support/fault-proxy.ts"
import { OperatorWorld } from "../support/operator-world.ts"

const { environment: names } = vocabularies.service.resources
const collection = `/apis/${names.group}/${names.version}/${names.plural}`
const operators = vocabularies.service.operator
const secrets = `/api/v1/namespaces/${operators}/secrets`

let world: OperatorWorld

beforeAll(async () => {
  world = await OperatorWorld.start()
}, 120_000)

afterAll(() => world.stop())

interface Ready {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

interface Environment extends KubernetesObject {
  readonly status?: { readonly conditions?: ReadonlyArray<Ready> }
}

/** A text that is nowhere else in the world. */
const unique = (): string => `planted-${randomUUID()}`
const planted = { first: unique(), second: unique() }

const make = (name: string, spec: object = {}): Promise<KubernetesObject> =>
  world.sandbox.client.create(collection, {
    apiVersion: `${names.group}/${names.version}`,
    kind: names.kind,
    metadata: { name },
    spec: {
      environmentId: "env_1a2b3c",
      region: "eu.central",
      signingPublicKey: "publickeyv1_4d5e6f",
      authentication: { secret: { name: `${name}-credentials`, key: "token" } },
      ...spec,
    },
  })

const giveToken = (name: string, token: string, key = "token"): Promise<KubernetesObject> =>
  world.sandbox.client.create(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${name}-credentials` },
    stringData: { [key]: token },
  })

const patchSecret = (name: string, patch: object): Promise<KubernetesObject> =>
  world.sandbox.client.patch(`${secrets}/${name}-credentials`, patch)

const deploymentPath = (name: string): string => `/apis/apps/v1/namespaces/${operators}/deployments/tunnel-${name}`
const servicePath = (name: string): string => `/api/v1/namespaces/${operators}/services/tunnel-${name}`
const find = (path: string): Promise<KubernetesObject | undefined> => world.sandbox.client.find(path)
const textOf = async (path: string): Promise<string> => JSON.stringify((await find(path)) ?? "")

const readyOf = async (name: string): Promise<Ready | undefined> => {
  const object = await world.sandbox.client.find<Environment>(`${collection}/${name}`)
  return object?.status?.conditions?.find(({ type }) => type === "Ready")
}

const is = (name: string, status: string, reason: string): Promise<unknown> =>
  waitFor(
    `${name} to be ${status} ${reason}`,
    async () => {
      const ready = await readyOf(name)
      return ready?.status === status && ready.reason === reason
    },
    { timeoutMs: 60_000 },
  )

/** Which token the pods are to be started with, in the operator's words. */
const tokenMark = async (name: string): Promise<string | undefined> =>
  new RegExp(`"${vocabularies.service.annotations.bearerToken}":"([^"]*)"`).exec(await textOf(deploymentPath(name)))?.[1]

/** What the operator writes about an environment from now until nothing more comes for two seconds, events aside. */
const writesOf = async (name: string, cause: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  const from = world.api.seen.length
  await cause()
  await sleep(2_500)
  return world.api.seen
    .slice(from)
    .filter((request) => isWrite(request) && request.url.includes(name) && !request.url.includes("/events"))
    .map(({ method, url }) => `${method} ${url.replace(/\?.*/, "")}`)
}

const settled = async (name: string): Promise<void> => {
  await waitFor(`the tunnel of ${name}`, async () => (await find(deploymentPath(name))) !== undefined)
  await waitFor(`${name} to be left alone`, async () => (await writesOf(name, () => Promise.resolve())).length === 0, { timeoutMs: 60_000 })
}

/** A change of the object that is none of its children's business. */
const nudge = (name: string): Promise<unknown> =>
  world.sandbox.client.patch(`${collection}/${name}`, { metadata: { annotations: { [`${names.group}/nudge`]: String(Date.now()) } } })

/** Passes so far, by the operator's own count: without them nothing would be written either. */
const passes = async (): Promise<number> =>
  Number(/^service_operator_reconciliations_total(?:\{[^}]*\})? (\d+)/m.exec(await world.operator.metrics())?.[1])

describe("a ServiceCloudEnvironment", () => {
  it("says that its Secret is missing, and heals when that comes, with an entry, with a token", async () => {
    await make("first", { tunnel: { image: "tunnel:none" } })
    await is("first", "False", "SecretNotFound")
    expect((await readyOf("first"))?.message).toContain("first-credentials with an entry token in namespace service-operator")
    expect(await find(deploymentPath("first"))).toBeUndefined()
    await giveToken("first", planted.first, "other")
    await is("first", "False", "SecretKeyNotFound")
    expect((await readyOf("first"))?.message).toContain("no entry token")
    await patchSecret("first", { stringData: { token: planted.first } })
    await is("first", "False", "TunnelNotAvailable")
    await settled("first")
    expect(await find(servicePath("first"))).toBeDefined()
  })

  it("writes nothing in a second pass (scenario 109)", async () => {
    const before = await passes()
    expect(await writesOf("first", () => nudge("first"))).toEqual([])
    expect(await passes()).toBeGreaterThan(before)
  })

  it("has what was deleted or edited by hand put right (scenario 116)", async () => {
    const { metadata } = await world.sandbox.client.get(deploymentPath("first"))
    await world.sandbox.client.delete(deploymentPath("first"))
    await waitFor("another Deployment", async () => {
      const found = await find(deploymentPath("first"))
      return found !== undefined && found.metadata.uid !== metadata.uid
    })
    await world.sandbox.client.patch(servicePath("first"), {
      metadata: { labels: { "app.kubernetes.io/name": null } },
      spec: { selector: { "app.kubernetes.io/instance": "other" } },
    })
    await waitFor("its selector and its label", async () => {
      const text = await textOf(servicePath("first"))
      return !text.includes('"other"') && text.split('"app.kubernetes.io/name":"service-cloud-tunnel-client"').length === 3
    })
    await settled("first")
  })

  it("has its pods replaced when the token is another one, and not for any other edit of the Secret (scenario 116)", async () => {
    const before = await tokenMark("first")
    expect(before).toMatch(/^[0-9a-f]{64}$/)
    expect(await writesOf("first", () => patchSecret("first", { metadata: { labels: { a: "b" } }, stringData: { more: "1" } }))).toEqual([])
    await patchSecret("first", { stringData: { token: planted.second } })
    await waitFor("another mark", async () => (await tokenMark("first")) !== before)
    await patchSecret("first", { stringData: { token: planted.first } })
    await waitFor("the mark of before", async () => (await tokenMark("first")) === before)
  })

  it("leaves the pods as they are when the Secret goes", async () => {
    await settled("first")
    const before = await tokenMark("first")
    await world.sandbox.client.delete(`${secrets}/first-credentials`)
    await is("first", "False", "SecretNotFound")
    expect(await tokenMark("first")).toBe(before)
    await giveToken("first", planted.first)
    await is("first", "False", "TunnelNotAvailable")
  })

  it("opens the remote proxy and closes it again (scenario 110)", async () => {
    const proxied = async (path: string) => (await textOf(path)).includes("9070")
    const toggle = (remoteProxy: boolean) => world.sandbox.client.patch(`${collection}/first`, { spec: { tunnel: { remoteProxy } } })
    const both = async () => [await proxied(deploymentPath("first")), await proxied(servicePath("first"))].join()
    await toggle(true)
    await waitFor("the ports", async () => (await both()) === "true,true")
    await toggle(false)
    await waitFor("the ports to go", async () => (await both()) === "false,false")
    await settled("first")
    expect(await writesOf("first", () => nudge("first"))).toEqual([])
  })

  it("writes nothing in a second pass with everything that a spec can say", async () => {
    await giveToken("full", planted.first)
    await make("full", {
      tunnel: {
        remoteProxy: true,
        replicas: 2,
        image: "tunnel:none",
        imagePullPolicy: "IfNotPresent",
        env: [
          { name: "RESTATE_TUNNEL_NAME", value: "mine" },
          { name: "A", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        ],
        resources: { requests: { cpu: "1000m", memory: "1024Mi" }, limits: { memory: "1Gi" } },
        dnsPolicy: "ClusterFirst",
        dnsConfig: { options: [{ name: "ndots", value: "1" }] },
        tolerations: [{ key: "a", operator: "Exists" }],
        nodeSelector: { disk: "ssd" },
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { labelSelector: { matchLabels: { a: "b" } }, topologyKey: "topology.kubernetes.io/zone" },
            ],
          },
        },
      },
    })
    await settled("full")
    const before = await passes()
    expect(await writesOf("full", () => nudge("full"))).toEqual([])
    expect(await passes()).toBeGreaterThan(before)
  })

  it("is ready when its pods are, in a namespace that takes only restricted ones", async () => {
    await giveToken("ready", planted.first)
    // The sandbox has no tunnel client. This program is not asked for its health in HTTP/1, so that somebody answers beside it.
    const answer = "data:text/javascript,import{createServer}from'node:http';createServer((q,a)=>a.end()).listen(9090,process.env.HOST)"
    const env = [
      { name: "PORT", value: "9099" },
      { name: "NODE_OPTIONS", value: `--import=${answer}` },
    ]
    await make("ready", { tunnel: { image: "greeter:v1", env } })
    await is("ready", "True", "Reconciled")
    const message = async () => (await readyOf("ready"))?.message
    expect(await message()).toBe("all pods of the tunnel are available")
    await world.sandbox.client.patch(`${collection}/ready`, { spec: { tunnel: { replicas: 0 } } })
    // First it says that it has just been changed.
    await waitFor("the message", async () => (await message())?.includes("scaled to zero") === true)
    await is("ready", "False", "TunnelNotAvailable")
  })

  it("goes, and its tunnel with it", async () => {
    await world.sandbox.client.delete(`${collection}/full`)
    for (const path of [`${collection}/full`, deploymentPath("full"), servicePath("full")])
      await waitFor(`${path} to go`, async () => (await find(path)) === undefined, { timeoutMs: 60_000 })
  })
})

describe("the API token", () => {
  it("is in no log, metric, event, condition, annotation, or any object but its Secret; nor did the operator send it anywhere", async () => {
    const { client } = world.sandbox
    const lists = [
      collection,
      "/apis/events.k8s.io/v1/events",
      "/apis/apps/v1/deployments",
      "/apis/apps/v1/replicasets",
      "/apis/apps/v1/statefulsets",
      ...["configmaps", "endpoints", "namespaces", "nodes", "pods", "serviceaccounts", "services"].map((plural) => `/api/v1/${plural}`),
    ]
    const places = new Map<string, string>([
      ["log", readFileSync(world.operator.logFile, "utf8")],
      ["metrics", await world.operator.metrics()],
      ["requests", JSON.stringify(world.api.seen.filter(({ url }) => !url.includes("/secrets")))],
    ])
    for (const path of lists) places.set(path, JSON.stringify(await client.get(path)))
    // What is looked for can be found: the Secrets themselves hold it, and the places hold what they should.
    const forms = Object.values(planted).flatMap((token) => [token, Buffer.from(token).toString("base64")])
    const kept = JSON.stringify(await client.get(secrets))
    expect(forms.filter((form) => kept.includes(form))).toEqual([Buffer.from(planted.first).toString("base64")])
    expect([...places].filter(([, content]) => content.length < 50)).toEqual([])
    expect(places.get("/apis/events.k8s.io/v1/events")).toContain("SecretNotFound")
    const leaks = [...places].flatMap(([place, content]) => (forms.some((form) => content.includes(form)) ? [place] : []))
    expect(leaks).toEqual([])
  })
})

describe("without the definition of its kind", () => {
  const readiness = async (): Promise<string> => (await fetch(`${world.operator.url}/ready`)).text()
  const missing = async (): Promise<boolean> =>
    (await world.operator.metrics()).includes(`service_operator_crd_missing{crd="${names.plural}.${names.group}"} 1`)

  it("the operator is not ready, says what is missing, goes on with the others, and takes it up when it comes", async () => {
    const { client } = world.sandbox
    await client.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${names.plural}.${names.group}`)
    await waitFor("it to be missed", async () => (await readiness()).includes(`["${names.kind}"]`) && (await missing()), {
      timeoutMs: 60_000,
    })
    const { group, kind, plural, version } = vocabularies.service.resources.cluster
    await client.create(`/apis/${group}/${version}/${plural}`, {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name: "beside" },
      spec: { storage: { storageRequestBytes: 1024 ** 3 }, compute: { image: "durable-server:none" } },
    })
    await waitFor(
      "the others to be worked on",
      async () => (await find("/apis/apps/v1/namespaces/beside/statefulsets/service")) !== undefined,
    )
    await installBundle(client, "service")
    await waitFor("it to be there again", async () => (await readiness()).includes('"ready":true') && !(await missing()), {
      timeoutMs: 60_000,
    })
    await make("first")
    await waitFor("its tunnel", async () => (await find(deploymentPath("first"))) !== undefined, { timeoutMs: 60_000 })
  })
})
