import { mkdirSync, writeFileSync } from "node:fs"
import { ensure } from "../binaries.ts"
import type { ControlPlane, ControlPlaneOptions } from "../control-plane.ts"
import { controlPlaneModules } from "../go-programs.ts"
import { pauseModule } from "../images/pause.ts"
import type { KubernetesClient } from "../kubernetes-client.ts"
import { OwnerLock } from "../owner-lock.ts"
import { freePort } from "../ports.ts"
import { Processes } from "../processes.ts"
import { silent, type Progress } from "../progress.ts"
import { addresses } from "./addresses.ts"
import { startContainerd } from "./containerd.ts"
import { killPodsNow, makeControlGroup } from "./control-group.ts"
import { corednsModule } from "./coredns.ts"
import { bringImages } from "./images.ts"
import { joinCluster } from "./join.ts"
import { makeNetwork } from "./network.ts"
import { installPackages } from "./packages.ts"
import { nodeName, places, root } from "./places.ts"
import { refuseOtherNode, requireNodeMachine } from "./requirements.ts"
import { startClusterServer, type ClusterServer } from "./server.ts"
import { adjustSysctls, rememberSysctls } from "./sysctls.ts"
import { tearDown } from "./teardown.ts"
import { startProvisioner } from "./volumes.ts"

/** What a control plane must be started with to serve a real node. */
export type ControlPlaneNeeds = Pick<ControlPlaneOptions, "bindAddress" | "advertiseAddress" | "serviceCidr" | "apiPort" | "scheduler">

const programs = ["kube-scheduler", "kubelet", "kube-proxy", "coredns", "pause"]

/**
 * This machine as a Kubernetes node: `prepare`, then start a control plane with what that answers, then `start`.
 * `stop` may be called at any time, also while one of them is on its way.
 *
 * Needs Linux, root, and Debian (or its packages). A machine has one such node at most.
 */
export class RealNode {
  readonly #progress: Progress
  readonly #lock = new OwnerLock(places.lock)
  readonly #stopping = new AbortController()
  /** The step that changes the machine right now; it never rejects. */
  #busy: Promise<void> = Promise.resolve()
  #processes: Processes | undefined
  #images: Promise<void> = Promise.resolve()
  #binaries = ""
  #client: KubernetesClient | undefined

  /** The node's name in the cluster. */
  readonly name = nodeName
  /** The cluster's names, for programs of the host. */
  readonly resolvConf = places.resolvConf

  constructor(progress: Progress = silent) {
    this.#progress = progress
  }

  /**
   * Removes what an earlier node, killed before it could clean up, has left; installs packages, builds programs, and
   * starts the network and the container runtime. Fails with one clear sentence when the machine cannot be a node.
   */
  async prepare(): Promise<ControlPlaneNeeds> {
    requireNodeMachine()
    if (!this.#lock.tryAcquire()) {
      const { pid } = this.#lock.holder() ?? {}
      throw new Error(`process ${pid} runs the real node of this machine, and there can be only one`)
    }
    await this.#step(tearDown)
    refuseOtherNode()
    const modules = [...controlPlaneModules, corednsModule, pauseModule]
    const [binaries] = await Promise.all([ensure(programs, this.#progress, modules), installPackages(this.#progress)])
    this.#binaries = binaries
    const apiPort = await freePort()
    await this.#step(async () => {
      const processes = new Processes(root)
      this.#processes = processes
      mkdirSync(places.config, { recursive: true, mode: 0o700 })
      writeFileSync(places.resolvConf, `nameserver ${addresses.dns}\noptions ndots:1\n`)
      rememberSysctls()
      makeControlGroup()
      await makeNetwork(apiPort)
      adjustSysctls()
      await startContainerd(processes)
    })
    // Goes on while the control plane starts; `start` and `stop` wait for it.
    this.#images = bringImages(binaries, this.#progress)
    this.#images.catch(() => {})
    return {
      bindAddress: "0.0.0.0",
      advertiseAddress: addresses.node,
      serviceCidr: addresses.services,
      apiPort,
      scheduler: true,
    }
  }

  /** Joins the node to its control plane; returns when it is Ready, has its images, and the cluster's names resolve. */
  async start(controlPlane: ControlPlane): Promise<void> {
    const processes = this.#processes
    if (processes === undefined) throw new Error("the node has not been prepared")
    const begun = Date.now()
    this.#client = controlPlane.client
    await this.#step(() => joinCluster(processes, this.#binaries, controlPlane))
    await startProvisioner(controlPlane.client, this.#stopping.signal)
    await this.#images
    this.#progress(`node ${nodeName} ready in ${seconds(begun)}`)
  }

  /** Runs the durable-execution server in a pod of the node that has been started. */
  async startServer(environment: Readonly<Record<string, string>> = {}): Promise<ClusterServer> {
    if (this.#client === undefined) throw new Error("the node has not been started")
    const begun = Date.now()
    const server = await startClusterServer(this.#client, environment)
    this.#progress(`durable-execution server ready in ${seconds(begun)} at ${server.adminUrl}`)
    return server
  }

  /** Removes everything of the node from the machine. The control plane may be gone already. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#busy
    // Not ours: the lock belongs to another sandbox, or was never asked for.
    if (this.#lock.holder()?.pid !== process.pid) return
    try {
      await tearDown()
      // The import has failed without its container runtime, or it was done.
      await this.#images.catch(() => {})
    } finally {
      this.#lock.release()
    }
  }

  /** Ends all processes of the node at once, for `process.on("exit")`; the next start removes the rest. */
  killNow(): void {
    if (this.#processes === undefined) return
    this.#processes.killAllNow()
    killPodsNow()
  }

  async #step(work: () => Promise<void>): Promise<void> {
    this.#stopping.signal.throwIfAborted()
    const done = work()
    this.#busy = done.catch(() => {})
    await done
  }
}

const seconds = (begun: number): string => `${((Date.now() - begun) / 1000).toFixed(1)} s`
