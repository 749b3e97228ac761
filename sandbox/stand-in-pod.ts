import { insist } from "./insist.ts"
import type { Container, Pod } from "./kubernetes-types.ts"
import { loopbackOf } from "./pod-addresses.ts"
import { StandInContainer, type ContainerHost } from "./stand-in-container.ts"

/** A node's share of a pod's life. */
export interface PodHost extends Omit<ContainerHost, "place"> {
  readonly nodeName: string
  readonly nodeIp: string
  readonly longestGraceMs: number
}

/** One pod that is bound to the stand-in node: its containers as processes, its status as a kubelet would write it. */
export class StandInPod {
  #pod: Pod
  readonly #host: PodHost
  readonly #podIp: string
  readonly #startTime = new Date().toISOString()
  readonly #init: ReadonlyArray<StandInContainer>
  readonly #main: ReadonlyArray<StandInContainer>
  readonly #transitions = new Map<string, { readonly status: string; readonly at: string }>()
  #initialized = false
  #over: "Succeeded" | "Failed" | undefined
  #stopping: Promise<void> | undefined
  #gone = false
  #dirty = false
  #writing: Promise<void> | undefined

  constructor(host: PodHost, pod: Pod, podIp: string) {
    this.#host = host
    this.#pod = pod
    this.#podIp = podIp
    const place = { nodeName: host.nodeName, listenAddress: loopbackOf(podIp) }
    const make = (spec: Container) =>
      new StandInContainer(
        { ...host, place },
        spec,
        () => this.#pod,
        () => this.#report(),
      )
    this.#init = (pod.spec.initContainers ?? []).map(make)
    this.#main = pod.spec.containers.map(make)
  }

  /** Starts init containers one after the other, then all the others. */
  async run(): Promise<void> {
    this.#report()
    const sidecars: Promise<void>[] = []
    for (const container of this.#init) {
      if (container.spec.restartPolicy === "Always") {
        sidecars.push(container.run("Always"))
        continue
      }
      await container.run(this.#pod.spec.restartPolicy === "Never" ? "Never" : "OnFailure")
      if (this.#stopping !== undefined) return
      if (!succeeded(container)) return this.#end("Failed")
    }
    this.#initialized = true
    this.#report()
    await Promise.all(this.#main.map((container) => container.run(this.#pod.spec.restartPolicy ?? "Always")))
    if (this.#stopping !== undefined) return
    await Promise.all(this.#init.map((container) => container.stop(this.#graceMs())))
    await Promise.all(sidecars)
    this.#end(this.#main.every(succeeded) ? "Succeeded" : "Failed")
  }

  /** Takes note of the pod as it is now; one that is to be deleted is ended and then removed for good. */
  update(pod: Pod): void {
    this.#pod = pod
    if (pod.metadata.deletionTimestamp !== undefined) void this.#delete()
  }

  /** Ends the processes of a pod; with `now`, without mercy. */
  stop(now = false): Promise<void> {
    // Main containers first: sidecars are there for them until the end.
    const all = async (): Promise<void> => {
      const graceMs = now ? 0 : this.#graceMs()
      await Promise.all(this.#main.map((container) => container.stop(graceMs)))
      await Promise.all(this.#init.map((container) => container.stop(graceMs)))
    }
    this.#stopping ??= all()
    return this.#stopping
  }

  /** Ends the processes of a pod whose object is gone or about to go with its cluster: no status any more. */
  async vanish(): Promise<void> {
    this.#gone = true
    await this.stop(true)
    await this.#writing
  }

  async #delete(): Promise<void> {
    if (this.#stopping !== undefined) return
    await this.stop()
    await this.#writing
    if (this.#gone) return
    const { uid } = this.#pod.metadata
    await insist(
      () => this.#host.client.delete(this.#path(), { gracePeriodSeconds: 0, preconditions: { uid } }),
      () => this.#gone,
    )
  }

  #graceMs(): number {
    const { metadata, spec } = this.#pod
    const seconds = metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30
    return Math.min(seconds * 1_000, this.#host.longestGraceMs)
  }

  #end(phase: "Succeeded" | "Failed"): void {
    this.#over = phase
    this.#report()
  }

  #path(): string {
    return `/api/v1/namespaces/${this.#pod.metadata.namespace}/pods/${this.#pod.metadata.name}`
  }

  /** Writes the status soon; what changes meanwhile goes into the same write or the next. */
  #report(): void {
    this.#dirty = true
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
      if (this.#dirty && !this.#gone) this.#report()
    })
  }

  async #write(): Promise<void> {
    await Promise.resolve()
    while (this.#dirty && !this.#gone) {
      this.#dirty = false
      const { uid } = this.#pod.metadata
      await insist(
        // Strategic: conditions that others wrote stay. The uid keeps the status off a later pod of the same name.
        () => this.#host.client.patch(`${this.#path()}/status`, { metadata: { uid }, status: this.#status() }, "strategic"),
        () => this.#gone,
      )
    }
  }

  #status(): object {
    const containersReady = this.#initialized && this.#over === undefined && this.#main.every((one) => one.ready)
    const begun = this.#main.some((one) => one.restartCount > 0 || !("waiting" in one.state))
    return {
      phase: this.#over ?? (begun ? "Running" : "Pending"),
      hostIP: this.#host.nodeIp,
      podIP: this.#podIp,
      podIPs: [{ ip: this.#podIp }],
      startTime: this.#startTime,
      conditions: [
        this.#condition("Initialized", this.#initialized, "ContainersNotInitialized"),
        this.#condition("ContainersReady", containersReady, "ContainersNotReady"),
        this.#condition("Ready", containersReady, "ContainersNotReady"),
      ],
      containerStatuses: this.#main.map(statusOf),
      ...(this.#init.length === 0 ? {} : { initContainerStatuses: this.#init.map(statusOf) }),
    }
  }

  #condition(type: string, holds: boolean, reason: string): object {
    const status = holds ? "True" : "False"
    const before = this.#transitions.get(type)
    const transition = before?.status === status ? before : { status, at: new Date().toISOString() }
    this.#transitions.set(type, transition)
    return { type, status, lastTransitionTime: transition.at, reason: holds ? null : reason }
  }
}

const succeeded = (container: StandInContainer): boolean => "terminated" in container.state && container.state.terminated.exitCode === 0

const statusOf = (container: StandInContainer): object => ({
  name: container.spec.name,
  image: container.image,
  imageID: "waiting" in container.state ? "" : `stand-in://${container.image}`,
  ready: container.ready,
  started: "running" in container.state,
  restartCount: container.restartCount,
  state: container.state,
  lastState: container.lastState ?? {},
})
