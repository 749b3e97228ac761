/**
 * A durable-execution server in memory, as measured on the real one: registration is idempotent by address, a forced one
 * promotes, deleting the latest falls back to the highest revision left, pinning is lazy, and a deletion asks nobody.
 */
import type { DeploymentUsage, Routing, Usage } from "#src/admin/admin.ts"
import { endpointKey } from "#src/admin/endpoint.ts"

interface Deployment {
  readonly id: string
  readonly endpoint: string
  services: ReadonlyArray<string>
}

export type InvocationState = "waiting" | "attempting" | "pinned" | "completed" | "lost"

export interface Invocation {
  readonly name: string
  readonly service: string
  /** Milliseconds of work once it is pinned. */
  readonly work: number
  /** Milliseconds that its first attempt takes until it has something to write down, and so is pinned. */
  readonly attempt: number
  state: InvocationState
  /** The deployment that its attempt runs on, or that it is pinned to. */
  on: string | undefined
  /** Since when it belongs to whichever deployment it belongs to. */
  since: number
}

/** What the server needs of the world around it. */
export interface Surroundings {
  readonly now: () => number
  readonly after: (milliseconds: number, then: () => void) => void
  /** The services that an address offers, undefined when nobody answers there. */
  readonly discover: (endpoint: string) => ReadonlyArray<string> | undefined
}

/** Milliseconds until an attempt that found nobody is made again. */
const retry = 2_000

export class DurableServer {
  readonly invocations: Array<Invocation> = []
  /** Ids begin with it; no two servers give the same. */
  readonly #prefix: string
  readonly #world: Surroundings
  readonly #deployments = new Map<string, Deployment>()
  /** Service → deployment → revision. */
  readonly #revisions = new Map<string, Map<string, number>>()
  #ids = 0

  constructor(world: Surroundings, prefix = "dp") {
    this.#world = world
    this.#prefix = prefix
  }

  latest(service: string): string | undefined {
    let best: readonly [id: string, revision: number] | undefined
    for (const [id, revision] of this.#revisions.get(service) ?? []) if (best === undefined || revision > best[1]) best = [id, revision]
    return best?.[0]
  }

  knows(id: string): boolean {
    return this.#deployments.has(id)
  }

  /** Ids registered under an address on this host. */
  idsAt(host: string): ReadonlyArray<string> {
    return [...this.#deployments.values()].filter(({ endpoint }) => endpointKey(endpoint).startsWith(host)).map(({ id }) => id)
  }

  /** Services whose new invocations go to this deployment. */
  servedBy(id: string): ReadonlyArray<string> {
    return (this.#deployments.get(id)?.services ?? []).filter((service) => this.latest(service) === id)
  }

  /** Unfinished work that would be lost, or would have nowhere to go, without this deployment. */
  workOf(id: string): ReadonlyArray<Invocation> {
    return this.invocations.filter(
      ({ on, service, state }) =>
        ((state === "pinned" || state === "attempting") && on === id) || (state === "waiting" && this.latest(service) === id),
    )
  }

  // What the admin API answers.

  routing(): Routing {
    const services = [...this.#revisions.keys()].flatMap((service) => {
      const id = this.latest(service)
      return id === undefined ? [] : [[service, id] as const]
    })
    return {
      services: new Map(services),
      deployments: new Map([...this.#deployments].map(([id, { endpoint, services }]) => [id, { endpoint, services }])),
    }
  }

  usage(): Usage {
    const row = ({ endpoint, id }: Deployment): DeploymentUsage => {
      const work = this.workOf(id)
      const unpinned = work.filter(({ state }) => state === "waiting").length
      return { endpoint, pinned: work.length - unpinned, unpinned, latestFor: this.servedBy(id).length }
    }
    return new Map([...this.#deployments.values()].map((deployment) => [deployment.id, row(deployment)]))
  }

  /** undefined: the endpoint did not answer its discovery. */
  register(endpoint: string, force: boolean): { readonly id: string; readonly services: ReadonlyArray<string> } | undefined {
    const known = [...this.#deployments.values()].find((deployment) => endpointKey(deployment.endpoint) === endpointKey(endpoint))
    if (known !== undefined && !force) return known
    const services = this.#world.discover(endpoint)
    if (services === undefined) return undefined
    const deployment = known ?? { id: `${this.#prefix}_${(this.#ids += 1)}`, endpoint: new URL(endpoint).href, services }
    deployment.services = services
    this.#deployments.set(deployment.id, deployment)
    this.#moved(() => {
      for (const service of services) {
        const revisions = this.#revisions.get(service) ?? new Map<string, number>()
        this.#revisions.set(service, revisions)
        revisions.set(deployment.id, Math.max(0, ...revisions.values()) + 1)
      }
    })
    return deployment
  }

  /** No in-use check: what is pinned there will never end. */
  forget(id: string): void {
    this.#moved(() => {
      this.#deployments.delete(id)
      for (const revisions of this.#revisions.values()) revisions.delete(id)
    })
    for (const invocation of this.invocations) if (invocation.on === id && invocation.state === "pinned") invocation.state = "lost"
  }

  // What people and their invocations do.

  start(service: string, work: number, attempt: number): void {
    const name = `${service}-${this.invocations.length + 1}`
    const invocation: Invocation = { name, service, work, attempt, state: "waiting", on: undefined, since: this.#world.now() }
    this.invocations.push(invocation)
    this.#attempt(invocation)
  }

  /** A delayed call: not pinned until its time comes. */
  schedule(service: string, delay: number, work: number): void {
    const name = `${service}-${this.invocations.length + 1}`
    const invocation: Invocation = { name, service, work, attempt: 100, state: "waiting", on: undefined, since: this.#world.now() }
    this.invocations.push(invocation)
    this.#world.after(delay, () => this.#attempt(invocation))
  }

  /** A person cancels what cannot go on: unpinned work of a service that is about to go. */
  cancel(services: ReadonlySet<string>): void {
    for (const invocation of this.invocations)
      if (services.has(invocation.service) && invocation.state === "waiting") invocation.state = "completed"
  }

  /** An attempt goes to the latest deployment; its first entry pins it there, if it is still there. */
  #attempt(invocation: Invocation): void {
    if (invocation.state !== "waiting") return
    const id = this.latest(invocation.service)
    if (id === undefined || !this.#answers(id)) return this.#world.after(retry, () => this.#attempt(invocation))
    this.#belongs(invocation, "attempting", id)
    this.#world.after(invocation.attempt, () => {
      if (!this.#answers(id)) {
        this.#belongs(invocation, "waiting", undefined)
        return this.#world.after(retry, () => this.#attempt(invocation))
      }
      invocation.state = "pinned"
      this.#world.after(invocation.work, () => this.#finish(invocation, id))
    })
  }

  /** The last step needs the pods of the version. */
  #finish(invocation: Invocation, id: string): void {
    if (invocation.state !== "pinned") return
    if (this.#answers(id)) invocation.state = "completed"
    else this.#world.after(retry, () => this.#finish(invocation, id))
  }

  #answers(id: string): boolean {
    const deployment = this.#deployments.get(id)
    return deployment !== undefined && this.#world.discover(deployment.endpoint) !== undefined
  }

  #belongs(invocation: Invocation, state: InvocationState, on: string | undefined): void {
    Object.assign(invocation, { state, on, since: this.#world.now() })
  }

  /** Waiting work belongs to whoever is latest after a change. */
  #moved(change: () => void): void {
    const before = new Map([...this.#revisions.keys()].map((service) => [service, this.latest(service)]))
    change()
    for (const invocation of this.invocations)
      if (invocation.state === "waiting" && before.get(invocation.service) !== this.latest(invocation.service))
        invocation.since = this.#world.now()
  }
}
