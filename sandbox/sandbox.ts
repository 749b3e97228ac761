import { join } from "node:path"
import { startControlPlane, type ControlPlane } from "./control-plane.ts"
import { useCurrentCluster } from "./current-cluster.ts"
import { startDurableServer, type DurableServer } from "./durable-server.ts"
import { endWithProcess } from "./ending.ts"
import type { KubernetesClient } from "./kubernetes-client.ts"
import { freePort } from "./ports.ts"
import type { Processes } from "./processes.ts"
import { silent, type Progress } from "./progress.ts"
import { Router } from "./router.ts"
import { claimDirectory } from "./sandbox-directory.ts"
import { ServiceLookup } from "./service-lookup.ts"
import type { ImageTable } from "./stand-in-images.ts"
import { startStandInNode } from "./stand-in-node.ts"

/** What runs the pods: local processes, a kubelet (Linux, root), or nothing. */
export type NodeKind = "stand-in" | "real" | "none"

/** What a sandbox is made of. */
export interface SandboxOptions {
  readonly node?: NodeKind
  /** A durable-execution server; on by default. */
  readonly server?: boolean
  /** Further settings of the server. */
  readonly serverEnv?: Readonly<Record<string, string>>
  /** Where it lives; by default a folder of its own among the user's temporary files. */
  readonly directory?: string
  /** Further images of the stand-in node. */
  readonly images?: ImageTable
  readonly apiServerFlags?: ReadonlyArray<string>
  /** Controllers of Kubernetes that do not run, such as `replicaset-controller`: the caller plays them. */
  readonly withoutControllers?: ReadonlyArray<string>
  readonly progress?: Progress
}

/** A Kubernetes and a durable-execution server on this machine. */
export interface Sandbox {
  readonly directory: string
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly client: KubernetesClient
  /** Empty without a server. */
  readonly adminUrl: string
  readonly ingressUrl: string
  /** An HTTP proxy that knows the cluster's names, for programs of the host; only with the stand-in node or none. */
  readonly proxyUrl?: string
  /** A resolv.conf that knows the cluster's names, for programs of the host; only with the real node. */
  readonly resolvConf?: string
  /** `kubectl` and its like. */
  readonly binaries?: string
  readonly node: { readonly kind: NodeKind | "current"; readonly name: string }
  /** Starts further processes that end with the sandbox; absent with `CLUSTER=current`. */
  readonly processes?: Processes
  /** Writes a kubeconfig that has exactly the rights of a ServiceAccount and returns its path. */
  operatorKubeconfig(namespace: string, serviceAccount: string): Promise<string>
  /** Ends the durable-execution server and starts it again with its data. */
  restartServer(options?: { readonly kill?: boolean }): Promise<void>
  /** Kills the API server and starts it again with its data. */
  restartApiServer(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a sandbox. With `CLUSTER=current` in the environment it is the cluster of the user's kubeconfig instead.
 * It ends with {@link Sandbox.stop} or with this process; after a SIGKILL the next start removes what was left.
 */
export const startSandbox = async (options: SandboxOptions = {}): Promise<Sandbox> => {
  const wantsServer = options.server ?? true
  if (process.env["CLUSTER"] === "current") return useCurrentCluster(wantsServer)
  const progress = options.progress ?? silent
  const kind = options.node ?? "stand-in"

  const { path: directory, processes, release } = await claimDirectory(options.directory)
  const undo: Array<() => Promise<void> | void> = []
  const killNow: Array<() => void> = [() => processes.killAllNow()]
  let stopping: Promise<void> | undefined
  const stopOnce = async (): Promise<void> => {
    // The youngest first; one that fails must not keep the others running.
    const failures: unknown[] = []
    for (const step of undo.toReversed()) {
      try {
        await step()
      } catch (error) {
        failures.push(error)
      }
    }
    await processes.stopAll()
    release()
    untie()
    if (failures.length > 0) throw new AggregateError(failures, "the sandbox did not end in order")
  }
  const stop = (): Promise<void> => (stopping ??= stopOnce())
  const untie = endWithProcess(stop, () => killNow.forEach((kill) => kill()))

  try {
    const base = { directory, processes, progress, stop, undo }
    if (kind !== "real") return await onLocalProcesses(options, kind, base)
    const { RealNode } = await import("./node/real-node.ts")
    const node = new RealNode(progress)
    killNow.unshift(() => node.killNow())
    // Known before it changes the machine, so that a Ctrl-C in the middle of that undoes it.
    undo.push(() => node.stop())
    const needs = await node.prepare()
    const controlPlane = await startControlPlane({ ...controlPlaneOptions(options, base), ...needs })
    undo.push(() => controlPlane.stop())
    // Again, because it goes before its control plane; the second stop of one does nothing.
    undo.push(() => node.stop())
    await node.start(controlPlane)
    const server = wantsServer ? await node.startServer(options.serverEnv) : undefined
    return { ...describe(base, controlPlane, { kind, name: node.name }, server), resolvConf: node.resolvConf }
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

/** What all worlds are built on. */
interface Base {
  readonly directory: string
  readonly processes: Processes
  readonly progress: Progress
  readonly stop: () => Promise<void>
  /** Steps that end what has been started; the last one runs first. */
  readonly undo: Array<() => Promise<void> | void>
}

const controlPlaneOptions = (options: SandboxOptions, { directory, processes, progress }: Base) => ({
  directory,
  processes,
  progress,
  ...(options.apiServerFlags === undefined ? {} : { apiServerFlags: options.apiServerFlags }),
  ...(options.withoutControllers === undefined ? {} : { withoutControllers: options.withoutControllers }),
})

/** Pods as local processes, or none at all; the server is a local process too and finds Services through the router. */
const onLocalProcesses = async (options: SandboxOptions, kind: "stand-in" | "none", base: Base): Promise<Sandbox> => {
  const { directory, processes, progress, undo } = base
  const routerPort = await freePort()
  const proxyUrl = `http://127.0.0.1:${routerPort}`
  const starting = startControlPlane(controlPlaneOptions(options, base))
  // Beside the control plane: it needs nothing of it.
  const serving =
    options.server === false
      ? undefined
      : startDurableServer({
          directory,
          processes,
          progress,
          httpProxy: proxyUrl,
          ...(options.serverEnv === undefined ? {} : { env: options.serverEnv }),
        })
  const [controlPlane, server] = await both(starting, serving)
  undo.push(() => controlPlane.stop())
  if (server !== undefined) undo.push(() => server.stop())
  const { client } = controlPlane
  const lookup = await ServiceLookup.start(client)
  undo.push(() => lookup.close())
  const router = new Router(lookup)
  await router.listen(routerPort)
  undo.push(() => router.close())
  if (kind === "none") return { ...describe(base, controlPlane, { kind, name: "" }, server), proxyUrl }
  const images = options.images ?? {}
  const node = await startStandInNode({ client, processes, images })
  undo.push(() => node.stop())
  return { ...describe(base, controlPlane, { kind, name: node.nodeName }, server), proxyUrl }
}

/** Waits for both even when one fails, so that nothing is still starting while the rest is being stopped. */
const both = async <A, B>(first: Promise<A>, second: Promise<B> | undefined): Promise<readonly [A, B | undefined]> => {
  await Promise.allSettled([first, second])
  return [await first, await second]
}

/** What a server offers, wherever it runs. */
type Server = Pick<DurableServer, "adminUrl" | "ingressUrl" | "restart">

const describe = (base: Base, controlPlane: ControlPlane, node: Sandbox["node"], server: Server | undefined): Sandbox => ({
  directory: base.directory,
  processes: base.processes,
  stop: base.stop,
  kubeconfig: controlPlane.kubeconfig,
  client: controlPlane.client,
  binaries: controlPlane.binaries,
  node,
  adminUrl: server?.adminUrl ?? "",
  ingressUrl: server?.ingressUrl ?? "",
  restartServer: (how) => (server === undefined ? Promise.reject(new Error("this sandbox has no server")) : server.restart(how)),
  restartApiServer: () => controlPlane.restartApiServer(),
  operatorKubeconfig: (namespace, serviceAccount) => {
    const file = join(base.directory, "conf", `${namespace}-${serviceAccount}.kubeconfig`)
    return controlPlane.client.writeServiceAccountKubeconfig(file, namespace, serviceAccount)
  },
})
