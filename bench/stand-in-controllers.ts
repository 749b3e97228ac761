import { ApiError, type KubernetesClient } from "../sandbox/kubernetes-client.ts"
import { Reflector } from "../sandbox/reflector.ts"
import { namespace, paths, type ReplicaSet, type Service } from "./kinds.ts"
import { Workers } from "./parallel.ts"

/** The controllers of Kubernetes whose part this file plays: they must not run beside it. */
export const playedControllers = ["replicaset-controller", "endpointslice-controller", "endpoints-controller"] as const

/** As many workers as both real controllers have together. */
const width = 10

/**
 * Plays the ReplicaSet and the EndpointSlice controller for pods that are up at once and do not exist: when a version
 * has its Service, the slice is written, and then the ReplicaSet's status, so that the operator finds all in place.
 */
export class StandInControllers {
  readonly #client: KubernetesClient
  readonly #endpointPort: number
  readonly #workers = new Workers(width)
  readonly #routed = new Set<string>()
  readonly #failures: Array<string> = []
  #replicaSets: Reflector<ReplicaSet> | undefined
  #services: Reflector<Service> | undefined
  #writes = 0

  private constructor(client: KubernetesClient, endpointPort: number) {
    this.#client = client
    this.#endpointPort = endpointPort
  }

  /** Follows the bench's namespace from now on. */
  static async start(client: KubernetesClient, endpointPort: number): Promise<StandInControllers> {
    const controllers = new StandInControllers(client, endpointPort)
    const look = ({ object }: { readonly object: ReplicaSet | Service }): void => controllers.#look(object.metadata.name)
    controllers.#services = await Reflector.start<Service>(client, paths.services, look)
    controllers.#replicaSets = await Reflector.start<ReplicaSet>(client, paths.replicaSets, look)
    return controllers
  }

  /** How many ReplicaSets there are now. */
  get versions(): number {
    return [...(this.#replicaSets?.values() ?? [])].length
  }

  /** Writes so far. */
  get writes(): number {
    return this.#writes
  }

  /** What went wrong while playing; a run with anything in it measures nothing. */
  get failures(): ReadonlyArray<string> {
    return this.#failures
  }

  async close(): Promise<void> {
    await Promise.all([this.#services?.close(), this.#replicaSets?.close()])
  }

  /** A version and its Service have the same name. */
  #look(name: string): void {
    if (this.#due(name) !== undefined) this.#workers.add(() => this.#settle(name))
  }

  /** The ReplicaSet that its controller would have to look at. */
  #due(name: string): { readonly set: ReplicaSet; readonly service: Service } | undefined {
    const set = this.#replicaSets?.find(namespace, name)
    const service = this.#services?.find(namespace, name)
    if (service === undefined) this.#routed.delete(name)
    if (set === undefined || service === undefined || set.metadata.deletionTimestamp !== undefined) return undefined
    return set.status?.observedGeneration === set.metadata.generation ? undefined : { set, service }
  }

  async #settle(name: string): Promise<void> {
    const due = this.#due(name)
    if (due === undefined) return
    try {
      if (!this.#routed.has(name)) {
        this.#routed.add(name)
        this.#writes += 1
        await this.#client.create(paths.endpointSlices, this.#slice(due.service))
      }
      this.#writes += 1
      await this.#client.patch(`${paths.replicaSets}/${name}/status`, { status: statusOf(due.set) })
    } catch (error) {
      // Gone meanwhile: the operator may delete what we are about to write.
      if (!(error instanceof ApiError && error.status === 404)) this.#failures.push(error instanceof Error ? error.message : String(error))
    }
  }

  /** Labels are the Service's, as the real controller would copy them. */
  #slice({ metadata, spec }: Service) {
    const { name, uid, labels } = metadata
    return {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: `${name}-1`,
        labels: { ...labels, "kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "bench" },
        ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid, controller: true, blockOwnerDeletion: true }],
      },
      addressType: "IPv4",
      // 10.0.0.1 stands for 127.0.0.1, where the bench's endpoint listens; the API server takes no loopback address.
      endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true, serving: true, terminating: false } }],
      ports: [{ ...portName(spec.ports?.[0]?.name), port: this.#endpointPort, protocol: "TCP" }],
    }
  }
}

const portName = (name: string | undefined) => (name === undefined ? {} : { name })

const statusOf = ({ metadata, spec }: ReplicaSet) => {
  const replicas = spec.replicas ?? 1
  return {
    observedGeneration: metadata.generation,
    replicas,
    fullyLabeledReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  }
}
