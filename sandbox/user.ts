import type { ServiceDeployment } from "../src/resources/generated/service-deployment.ts"
import { vocabularies } from "../src/vocabulary.ts"
import type { Edition } from "./install.ts"
import type { KubernetesObject } from "./kubernetes-types.ts"
import type { Sandbox } from "./sandbox.ts"
import { waitFor } from "./wait.ts"

/** A version as its ReplicaSet shows it. */
export interface VersionSeen {
  readonly name: string
  readonly image: string
  readonly replicas: number
  readonly deploymentId: string | undefined
  readonly removeAt: string | undefined
}

/** Unfinished work that a deployment of the server holds. */
export interface Work {
  readonly id: string
  readonly endpoint: string
  readonly pinned: number
}

interface ReplicaSet extends KubernetesObject {
  readonly spec: {
    readonly replicas: number
    readonly template: { readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> } }
  }
}

export interface EventSeen {
  readonly reason: string
  readonly note: string
  readonly type: string
  readonly regarding: { readonly name: string }
}

/** What a service developer does with a ServiceDeployment and its service, and what they can see of it. */
export class User {
  readonly #sandbox: Sandbox
  readonly #edition: Edition
  readonly #path: string
  readonly name: string
  readonly namespace: string

  constructor(sandbox: Sandbox, edition: Edition, namespace = "default", name = "greeter") {
    const { group, version, plural } = vocabularies[edition].resources.deployment
    this.#sandbox = sandbox
    this.#edition = edition
    this.#path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}`
    this.name = name
    this.namespace = namespace
  }

  get(): Promise<ServiceDeployment | undefined> {
    return this.#sandbox.client.find<ServiceDeployment>(this.#path)
  }

  /** `kubectl set image` for the first container. */
  async setImage(image: string): Promise<void> {
    const object = await this.#sandbox.client.get<ServiceDeployment>(this.#path)
    const { spec } = object.spec.template
    const containers = Array.isArray(spec["containers"])
      ? spec["containers"].map((container: object, i) => (i === 0 ? { ...container, image } : container))
      : []
    await this.patch({ spec: { template: { spec: { containers } } } })
  }

  /** Merge patch of the object. */
  async patch(body: object): Promise<void> {
    await this.#sandbox.client.patch(this.#path, body)
  }

  delete(): Promise<void> {
    return this.#sandbox.client.delete(this.#path)
  }

  /** Waits until the newest spec is Ready and served by a version with that image. */
  async ready(image: string, timeoutMs = 60_000): Promise<ServiceDeployment> {
    let last = "not there"
    try {
      return await waitFor(
        `${this.name} to be Ready with ${image}`,
        async () => {
          const object = await this.get()
          const ready = object?.status?.conditions?.find(({ type }) => type === "Ready")
          last = `${ready?.status ?? "no condition"} ${ready?.reason ?? ""} ${ready?.message ?? ""}`
          const current = (await this.versions()).find(
            ({ deploymentId }) => deploymentId !== undefined && deploymentId === object?.status?.deploymentId,
          )
          return object !== undefined &&
            ready?.status === "True" &&
            object.status?.observedGeneration === object.metadata.generation &&
            current?.image === image
            ? object
            : undefined
        },
        { timeoutMs },
      )
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}; last seen: ${last}`, { cause: error })
    }
  }

  /** Waits until the Ready condition is as told, and returns it. */
  async condition(reason: string, timeoutMs = 60_000) {
    let last = "none"
    try {
      return await waitFor(
        `${this.name} to say ${reason}`,
        async () => {
          const ready = (await this.get())?.status?.conditions?.find(({ type }) => type === "Ready")
          last = `${ready?.reason ?? "none"} ${ready?.message ?? ""}`
          return ready?.reason === reason ? ready : undefined
        },
        { timeoutMs },
      )
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}; last seen: ${last}`, { cause: error })
    }
  }

  async versions(): Promise<ReadonlyArray<VersionSeen>> {
    const { annotations, labels } = vocabularies[this.#edition]
    const selector = encodeURIComponent(`${labels.ownedBy}=${this.name}`)
    const sets = await this.#sandbox.client.list<ReplicaSet>(
      `/apis/apps/v1/namespaces/${this.namespace}/replicasets?labelSelector=${selector}`,
    )
    return sets
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, spec }) => ({
        name: metadata.name,
        image: spec.template.spec.containers[0]?.image ?? "",
        replicas: spec.replicas,
        deploymentId: metadata.annotations?.[annotations.deploymentId],
        removeAt: metadata.annotations?.[annotations.removeAt],
      }))
  }

  async version(image: string): Promise<VersionSeen | undefined> {
    return (await this.versions()).find((version) => version.image === image)
  }

  async events(): Promise<ReadonlyArray<EventSeen>> {
    const events = await this.#sandbox.client.list<EventSeen & KubernetesObject>(
      `/apis/events.k8s.io/v1/namespaces/${this.namespace}/events`,
    )
    return events.filter(({ regarding }) => regarding.name === this.name)
  }

  /** Calls a handler through the ingress and returns its answer. */
  async call(handler: string, input: unknown): Promise<string> {
    return this.#ingress(`Greeter/${handler}`, input)
  }

  /** Starts an invocation and leaves it running. With a key the server keeps its result, and starts it only once. */
  async send(handler: string, input: unknown, key?: string): Promise<string> {
    const headers = key === undefined ? {} : { "idempotency-key": key }
    const answer: { readonly invocationId: string } = JSON.parse(await this.#text(`Greeter/${handler}/send`, input, headers))
    return answer.invocationId
  }

  /** Waits for the end of an invocation and returns its answer. */
  async result(invocationId: string): Promise<string> {
    return this.#ingress(`restate/invocation/${invocationId}/attach`, undefined)
  }

  /** What the server's own tables say about its deployments. */
  async work(): Promise<ReadonlyArray<Work>> {
    const query =
      "SELECT d.id, d.endpoint, COUNT(i.id) AS pinned FROM sys_deployment d LEFT JOIN sys_invocation_status i ON i.pinned_deployment_id = d.id AND i.status <> 'completed' GROUP BY d.id, d.endpoint"
    const rows: ReadonlyArray<{ readonly id: string; readonly endpoint: string; readonly pinned?: number }> = await this.query(query)
    return rows.map(({ id, endpoint, pinned = 0 }) => ({ id, endpoint, pinned }))
  }

  /** The rows of a query; what they hold is the caller's to say. */
  async query(query: string) {
    const response = await fetch(`${this.#sandbox.adminUrl}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query }),
    })
    if (!response.ok) throw new Error(`the server answered a query with ${response.status}`)
    const { rows } = JSON.parse(await response.text())
    return rows
  }

  /** Which deployment new invocations go to. */
  async routedTo(): Promise<string> {
    const response = await fetch(`${this.#sandbox.adminUrl}/services/Greeter`)
    const answer: { readonly deployment_id: string } = JSON.parse(await response.text())
    return answer.deployment_id
  }

  async #ingress(path: string, input: unknown): Promise<string> {
    const answer: unknown = JSON.parse(await this.#text(path, input))
    return String(answer)
  }

  async #text(path: string, input: unknown, headers: { readonly [name: string]: string } = {}): Promise<string> {
    const post = { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(input) }
    // An invocation that was lost never answers.
    const signal = AbortSignal.timeout(90_000)
    const response = await fetch(`${this.#sandbox.ingressUrl}/${path}`, { ...(input === undefined ? {} : post), signal })
    const text = await response.text()
    if (!response.ok) throw new Error(`the ingress answered ${path} with ${response.status}: ${text}`)
    return text
  }
}
