import type { KubernetesClient } from "../sandbox/kubernetes-client.ts"
import { Reflector } from "../sandbox/reflector.ts"
import { vocabularies } from "../src/vocabulary.ts"
import { type Deployment, namespace } from "./kinds.ts"
import { inParallel } from "./parallel.ts"

const { group, version, plural, kind } = vocabularies.service.resources.deployment

/** Path of the bench's ServiceDeployments. */
export const fleetPath = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`

/** Connections of the bench when it acts as the users. */
const width = 10

/** How a server is named in the objects; where the name leads is the admin proxy's affair. */
export const serverName = (index: number): string => (index === 0 ? "durable-server" : `durable-server-${index}`)

/** A ServiceDeployment of the bench. */
export const deploymentOf = (name: string, image: string, drainDelaySeconds: number, server = serverName(0)) => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    // Finished versions go at once, so that a rollout is measured with its burial.
    revisionHistoryLimit: 0,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "service", image, ports: [{ name: "service", containerPort: 9080 }] }] },
    },
    restate: { register: { service: { namespace: "durable", name: server } }, drainDelaySeconds },
  },
})

/** The N ServiceDeployments and what users do with all of them at once. */
export class Fleet {
  readonly #client: KubernetesClient
  readonly #count: number
  readonly #drainDelaySeconds: number
  readonly #servers: number
  #objects: Reflector<Deployment> | undefined
  #writes = 0

  private constructor(client: KubernetesClient, count: number, drainDelaySeconds: number, servers: number) {
    this.#client = client
    this.#count = count
    this.#drainDelaySeconds = drainDelaySeconds
    this.#servers = servers
  }

  /** The objects take turns among the servers. */
  static async start(client: KubernetesClient, count: number, drainDelaySeconds: number, servers = 1): Promise<Fleet> {
    const fleet = new Fleet(client, count, drainDelaySeconds, servers)
    fleet.#objects = await Reflector.start<Deployment>(client, fleetPath)
    return fleet
  }

  /** Writes so far. */
  get writes(): number {
    return this.#writes
  }

  /** How many objects there are. */
  get size(): number {
    return this.#all().length
  }

  /** How many objects are Ready with the spec they have now. */
  get ready(): number {
    return this.#all().filter(isReady).length
  }

  /** How many of the objects are Ready that are not registered with that server. */
  readyBeside(server: string): number {
    return this.#all().filter((object) => isReady(object) && object.spec?.restate.register.service?.name !== server).length
  }

  create(image: string): Promise<void> {
    return this.#each((name, index) =>
      this.#client.create(fleetPath, deploymentOf(name, image, this.#drainDelaySeconds, serverName(index % this.#servers))),
    )
  }

  /** Rolls every object to another image. Ready means the new version as soon as this returns. */
  async rollTo(image: string): Promise<void> {
    const containers = [{ name: "service", image, ports: [{ name: "service", containerPort: 9080 }] }]
    const generations = new Map<string, number>()
    await this.#each(async (name) => {
      const { metadata } = await this.#client.patch(`${fleetPath}/${name}`, { spec: { template: { spec: { containers } } } })
      generations.set(name, metadata.generation ?? 0)
    })
    // The watch may be a moment behind; what it has not seen yet must not count as Ready.
    const behind = ({ metadata }: Deployment): boolean => (metadata.generation ?? 0) < (generations.get(metadata.name) ?? 0)
    while (this.#all().some(behind)) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  delete(): Promise<void> {
    return this.#each((name) => this.#client.delete(`${fleetPath}/${name}`))
  }

  /** What the first objects that are not Ready say about themselves. */
  complaints(): ReadonlyArray<string> {
    return this.#all()
      .filter((object) => !isReady(object))
      .slice(0, 3)
      .map(({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === "Ready")
        return `${metadata.name}: ${ready === undefined ? "no condition" : `${ready.reason ?? ""} ${ready.message ?? ""}`}`
      })
  }

  async close(): Promise<void> {
    await this.#objects?.close()
  }

  #all(): ReadonlyArray<Deployment> {
    return [...(this.#objects?.values() ?? [])]
  }

  #each(act: (name: string, index: number) => Promise<unknown>): Promise<void> {
    return inParallel(Array(this.#count).keys(), width, (index) => {
      this.#writes += 1
      return act(`bench-${index}`, index)
    })
  }
}

const isReady = ({ metadata, status }: Deployment): boolean =>
  status?.observedGeneration === metadata.generation &&
  status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") === true
