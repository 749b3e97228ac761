import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createAuthority, createServer } from "../sandbox/certificates.ts"
import { startDurableServer } from "../sandbox/durable-server.ts"
import { installBundle, type Installed } from "../sandbox/install.ts"
import { writeKubeconfig } from "../sandbox/kubeconfig.ts"
import { startOperator, type OperatorProcess } from "../sandbox/operator-process.ts"
import type { Exit } from "../sandbox/processes.ts"
import { type Sandbox, startSandbox } from "../sandbox/sandbox.ts"
import { ensureNamespace } from "../sandbox/server-name.ts"
import { waitFor } from "../sandbox/wait.ts"
import { callOf } from "./admin-record.ts"
import { DurableWork } from "./durable-work.ts"
import { Endpoint } from "./endpoint.ts"
import { Fleet, fleetPath, serverName } from "./fleet.ts"
import { namespace } from "./kinds.ts"
import { type MeasuringProxy, nowhere, startProxy } from "./measuring-proxy.ts"
import { MemorySampler } from "./memory.ts"
import type { Recorder } from "./recorder.ts"
import { classify } from "./request-record.ts"
import { playedControllers, StandInControllers } from "./stand-in-controllers.ts"

/** What a world is made for. */
export interface WorldOptions {
  readonly count: number
  readonly drainDelaySeconds: number
  /** Durable-execution servers; the objects take turns among them. */
  readonly servers?: number
  readonly recorder: Recorder
  readonly progress: (line: string) => void
}

/** Real servers, a bench that plays the rest of the cluster, and an operator that reaches the servers only through proxies. */
export class World {
  readonly sandbox: Sandbox
  readonly endpoint: Endpoint
  readonly fleet: Fleet
  readonly controllers: StandInControllers
  readonly work: DurableWork
  readonly memory: MemorySampler
  readonly #installed: Installed
  readonly #kubeconfig: string
  readonly #proxies: ReadonlyArray<MeasuringProxy>
  readonly #adminProxy: string
  #operator: OperatorProcess | undefined
  #ended: Exit | undefined
  /** A name of a server: what the operator asks it is taken and never answered. */
  hanging: string | undefined

  private constructor(parts: Parts) {
    this.sandbox = parts.sandbox
    this.endpoint = parts.endpoint
    this.fleet = parts.fleet
    this.controllers = parts.controllers
    this.work = new DurableWork(parts.sandbox, parts.endpoint)
    this.memory = new MemorySampler(() => (this.#ended === undefined ? this.#operator : undefined))
    this.#installed = parts.installed
    this.#kubeconfig = parts.kubeconfig
    this.#proxies = parts.proxies
    this.#adminProxy = parts.adminProxy
  }

  /** Starts everything but the operator. */
  static async open({ count, drainDelaySeconds, servers, recorder, progress }: WorldOptions): Promise<World> {
    const sandbox = await startSandbox({ node: "none", withoutControllers: playedControllers, progress })
    const undo: Array<() => void> = []
    try {
      const { client } = sandbox
      const installed = await installBundle(client, "service")
      await ensureNamespace(client, namespace)
      // A kind that was established this moment is refused for another: its storage is still being prepared.
      await waitFor("the ServiceDeployments to be served", async () => (await client.list(fleetPath)).length === 0)
      const endpoint = await Endpoint.start()
      undo.push(() => endpoint.close())
      const api = await startApiProxy(sandbox, installed, recorder)
      const further = await furtherServers(sandbox, servers ?? 1)
      let world: World | undefined
      const admin = await startProxy({
        upstream: sandbox.adminUrl,
        lead: ({ url }) => {
          const name = new URL(url ?? "/", sandbox.adminUrl).hostname.split(".")[0] ?? ""
          return name === world?.hanging ? nowhere : further.get(name)
        },
        onRequest: (request) => {
          const call = callOf(request.method ?? "", request.url ?? "")
          const at = Date.now()
          return (status) => recorder.addAdmin({ at, call, status, ms: Date.now() - at })
        },
      })
      world = new World({
        sandbox,
        installed,
        endpoint,
        fleet: await Fleet.start(client, count, drainDelaySeconds, servers),
        controllers: await StandInControllers.start(client, endpoint.port),
        kubeconfig: api.kubeconfig,
        proxies: [api.proxy, admin],
        adminProxy: admin.url,
      })
      return world
    } catch (error) {
      undo.forEach((step) => step())
      await sandbox.stop().catch(() => {})
      throw error
    }
  }

  /** Starts the operator and waits until it is ready. */
  async startOperator(): Promise<OperatorProcess> {
    const operator = await startOperator(this.sandbox, {
      edition: "service",
      installed: this.#installed,
      kubeconfig: this.#kubeconfig,
      proxyUrl: this.#adminProxy,
    })
    this.#ended = undefined
    this.#operator = operator
    void operator.exited.then((exit) => {
      if (this.#operator === operator) this.#ended = exit
    })
    return operator
  }

  /** Ends the operator as Kubernetes does, with SIGTERM. */
  async stopOperator(): Promise<void> {
    await this.#operator?.stop()
  }

  /** Why there is no point in waiting any longer. */
  get hopeless(): string | undefined {
    const [failure] = this.controllers.failures
    if (failure !== undefined) return `the bench could not play its part: ${failure}`
    if (this.#ended === undefined) return undefined
    return `the operator has ended with ${this.#ended.code ?? this.#ended.signal}; see ${this.#operator?.logFile ?? "its log"}`
  }

  /** Writes of the bench itself: as the users, and as the controllers that it plays. */
  get ownWrites(): number {
    return this.fleet.writes + this.controllers.writes
  }

  async close(): Promise<void> {
    this.memory.close()
    await this.stopOperator().catch(() => {})
    await Promise.allSettled([this.fleet.close(), this.controllers.close()])
    for (const proxy of this.#proxies) proxy.close()
    this.endpoint.close()
    await this.sandbox.stop()
  }
}

interface Parts {
  readonly sandbox: Sandbox
  readonly installed: Installed
  readonly endpoint: Endpoint
  readonly fleet: Fleet
  readonly controllers: StandInControllers
  readonly kubeconfig: string
  readonly proxies: ReadonlyArray<MeasuringProxy>
  readonly adminProxy: string
}

/** The base URLs of all but the first server, by name. They end with the sandbox. */
const furtherServers = async (sandbox: Sandbox, count: number): Promise<ReadonlyMap<string, string>> => {
  const urls = new Map<string, string>()
  const { directory, processes, proxyUrl } = sandbox
  if (processes === undefined || proxyUrl === undefined) return urls
  for (let index = 1; index < count; index += 1) {
    const name = serverName(index)
    const { adminUrl } = await startDurableServer({ directory, processes, name, httpProxy: proxyUrl, partitions: 1 })
    urls.set(name, adminUrl)
  }
  return urls
}

/** A proxy in front of the API server, and a kubeconfig that leads to it with the rights of the operator's ServiceAccount. */
const startApiProxy = async (sandbox: Sandbox, { namespace, serviceAccount }: Installed, recorder: Recorder) => {
  const authority = createAuthority("bench-ca")
  const proxy = await startProxy({
    upstream: sandbox.client.server,
    authorityPem: authorityOf(sandbox.kubeconfig),
    identity: createServer(authority, { commonName: "bench-proxy" }, ["127.0.0.1"]),
    onRequest: (request) => {
      const kind = classify(request.method ?? "", request.url ?? "", request.headers["content-type"])
      const at = Date.now()
      return (status) => recorder.addKubernetes({ at, ...kind, status, ms: Date.now() - at })
    },
  })
  const token = await sandbox.client.tokenFor(namespace, serviceAccount)
  const file = join(sandbox.directory, "conf", "bench-operator.kubeconfig")
  return { proxy, kubeconfig: writeKubeconfig(file, proxy.url, authority.certificatePem, serviceAccount, { token }, namespace) }
}

/** Who vouches for the API server; kubeconfigs of the sandbox are JSON. */
const authorityOf = (kubeconfig: string): string => {
  const config: { readonly clusters: ReadonlyArray<{ readonly cluster: { readonly "certificate-authority-data"?: string } }> } = JSON.parse(
    readFileSync(kubeconfig, "utf8"),
  )
  const data = config.clusters[0]?.cluster["certificate-authority-data"]
  if (data === undefined) throw new Error("the sandbox's kubeconfig names no authority")
  return Buffer.from(data, "base64").toString("utf8")
}
