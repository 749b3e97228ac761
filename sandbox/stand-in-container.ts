import { request } from "node:http"
import { connect } from "node:net"
import { dirname } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { ConfigError, environmentOf, expand, type PodPlace } from "./pod-environment.ts"
import type { KubernetesClient } from "./kubernetes-client.ts"
import type { Container, Pod, Probe } from "./kubernetes-types.ts"
import type { Exit, Processes } from "./processes.ts"
import { pull, type ImageTable, type PulledImage } from "./stand-in-images.ts"

/** A container's state in the shape of a pod's status. */
export type ContainerState =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | {
      readonly terminated: {
        readonly exitCode: number
        readonly signal?: number
        readonly reason: string
        readonly startedAt: string
        readonly finishedAt: string
      }
    }

/** What a container needs of the node. */
export interface ContainerHost {
  readonly client: KubernetesClient
  readonly processes: Processes
  readonly images: ImageTable
  readonly place: PodPlace
}

// A kubelet waits 10 s, 20 s, … up to five minutes; who tests does not have that long.
const firstBackoffMs = 1_000
const longestBackoffMs = 10_000
const defaultPort = 9080

/** One container of a pod as a local process: pulled, started, probed, started again. */
export class StandInContainer {
  readonly spec: Container
  state: ContainerState = { waiting: { reason: "ContainerCreating" } }
  lastState: ContainerState | undefined
  ready = false
  restartCount = 0
  readonly #host: ContainerHost
  readonly #pod: () => Pod
  readonly #changed: () => void
  readonly #stop = new AbortController()
  #processName: string | undefined

  /** `pod` gives the pod as it is known now, because its images may be changed while it waits for them. */
  constructor(host: ContainerHost, spec: Container, pod: () => Pod, changed: () => void) {
    this.#host = host
    this.spec = spec
    this.#pod = pod
    this.#changed = changed
  }

  /** The image as the pod names it now. */
  get image(): string {
    const { containers, initContainers = [] } = this.#pod().spec
    return [...containers, ...initContainers].find(({ name }) => name === this.spec.name)?.image ?? this.spec.image
  }

  /** Runs until it has ended for good, as `restartPolicy` says, or {@link stop} is called. */
  async run(restartPolicy: string): Promise<void> {
    const { signal } = this.#stop
    let backoffMs = 0
    while (!signal.aborted) {
      const image = await this.#pull()
      if (image === undefined) return
      const begun = Date.now()
      const exit = await this.#runOnce(image)
      if (signal.aborted || exit === undefined) return
      const again = restartPolicy === "Always" || (restartPolicy === "OnFailure" && exit.code !== 0)
      if (!again) return
      this.lastState = this.state
      // A run that lasted is forgiven, and the first crash is free.
      if (Date.now() - begun > 4 * longestBackoffMs) backoffMs = 0
      if (backoffMs > 0) {
        const message = `back-off ${backoffMs / 1000}s restarting failed container=${this.spec.name}`
        this.#set({ waiting: { reason: "CrashLoopBackOff", message } })
        await this.#pause(backoffMs)
      }
      backoffMs = Math.min(longestBackoffMs, Math.max(firstBackoffMs, backoffMs * 2))
      this.restartCount += 1
    }
  }

  /** Ends the process: SIGTERM, and SIGKILL after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort()
    if (this.#processName !== undefined) await this.#host.processes.stop(this.#processName, graceMs)
  }

  async #pull(): Promise<PulledImage | undefined> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const reference = this.image
      const image = pull(this.#host.images, reference)
      if (image !== undefined) return image
      this.#set({ waiting: { reason: "ErrImagePull", message: `Failed to pull image "${reference}": not found` } })
      await this.#pause(firstBackoffMs)
      if (signal.aborted) return undefined
      this.#set({ waiting: { reason: "ImagePullBackOff", message: `Back-off pulling image "${reference}": not found` } })
      // Looks often, because the only thing that can help is another image in the pod.
      for (let waited = 0; waited < longestBackoffMs && this.image === reference && !signal.aborted; waited += 200) {
        await this.#pause(200)
      }
    }
    return undefined
  }

  async #runOnce(image: PulledImage): Promise<Exit | undefined> {
    const pod = this.#pod()
    const { place, client, processes } = this.#host
    const { command, args, ports } = this.spec
    const { signal } = this.#stop
    let env: Record<string, string>
    for (;;) {
      try {
        env = await environmentOf(client, pod, this.spec, place, {
          // Nothing of the sandbox's own environment but what a program needs to be found.
          PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
          HOME: "/tmp",
          HOSTNAME: pod.metadata.name,
          HOST: place.listenAddress,
          POD_IP: place.listenAddress,
          PORT: String(ports?.[0]?.containerPort ?? defaultPort),
          ...image.env(image.tag),
        })
        break
      } catch (error) {
        if (signal.aborted) return undefined
        const reason = error instanceof ConfigError ? "CreateContainerConfigError" : "CreateContainerError"
        this.#set({ waiting: { reason, message: error instanceof Error ? error.message : String(error) } })
        await this.#pause(firstBackoffMs)
        if (signal.aborted) return undefined
      }
    }
    const entrypoint = command ?? image.entrypoint
    const rest = args ?? (command === undefined ? image.args : [])
    const [program, ...parameters] = [...entrypoint, ...rest].map((part) => expand(part, env))
    if (program === undefined || signal.aborted) return undefined

    const uid = (pod.metadata.uid ?? "").slice(0, 8)
    const name = `pod-${pod.metadata.namespace}-${pod.metadata.name}`.slice(0, 120) + `-${uid}-${this.spec.name}`
    const startedAt = new Date().toISOString()
    this.#processName = name
    try {
      const { exited } = await processes.start(name, program, parameters, { env, cleanEnvironment: true })
      this.#set({ running: { startedAt } })
      const probing = new AbortController()
      const probed = this.#probe(AbortSignal.any([signal, probing.signal]))
      const exit = await exited
      probing.abort()
      await probed
      await processes.stop(name)
      this.#ended(exit, startedAt)
      return exit
    } catch (error) {
      this.#set({ waiting: { reason: "RunContainerError", message: error instanceof Error ? error.message : String(error) } })
      return { code: 127, signal: null }
    }
  }

  #ended(exit: Exit, startedAt: string): void {
    this.ready = false
    const exitCode = exit.code ?? (exit.signal === "SIGKILL" ? 137 : 143)
    const reason = exitCode === 0 ? "Completed" : "Error"
    this.#set({ terminated: { exitCode, reason, startedAt, finishedAt: new Date().toISOString() } })
  }

  /** Asks again and again while the container runs. Without a probe, "ready" is that its port takes connections. */
  async #probe(signal: AbortSignal): Promise<void> {
    const probe = this.spec.readinessProbe
    const periodMs = (probe?.periodSeconds ?? 1) * 1_000
    while (!signal.aborted) {
      const ready = await this.#ask(probe)
      if (signal.aborted) return
      if (ready !== this.ready) {
        this.ready = ready
        this.#changed()
      }
      // Impatient until it is ready: the period of a probe is the time to notice a change for the worse.
      await sleep(ready ? periodMs : 100, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  #ask(probe: Probe | undefined): Promise<boolean> {
    const host = this.#host.place.listenAddress
    const portOf = (port: number | string): number =>
      typeof port === "number" ? port : (this.spec.ports?.find(({ name }) => name === port)?.containerPort ?? defaultPort)
    if (probe?.httpGet !== undefined) return httpAnswers(host, portOf(probe.httpGet.port), probe.httpGet.path ?? "/")
    const port = probe?.tcpSocket?.port ?? this.spec.ports?.[0]?.containerPort
    // No port and no probe: a program that runs is ready, as with a kubelet.
    return port === undefined ? Promise.resolve(true) : tcpAccepts(host, portOf(port))
  }

  #set(state: ContainerState): void {
    this.state = state
    this.#changed()
  }

  #pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {})
  }
}

const tcpAccepts = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 })
    const answer = (value: boolean) => (): void => {
      socket.destroy()
      resolve(value)
    }
    socket.once("connect", answer(true)).once("error", answer(false)).once("timeout", answer(false))
  })

const httpAnswers = (host: string, port: number, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const outgoing = request({ host, port, path, timeout: 1_000 }, (response) => {
      response.resume()
      const status = response.statusCode ?? 0
      resolve(status >= 200 && status < 400)
    })
    outgoing.once("timeout", () => outgoing.destroy())
    outgoing.once("error", () => resolve(false))
    outgoing.end()
  })
