import { createRequire } from "node:module"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { freePorts } from "./ports.ts"
import type { Processes } from "./processes.ts"
import { silent, type Progress } from "./progress.ts"
import { waitFor } from "./wait.ts"

/** How a durable-execution server is started. */
export interface DurableServerOptions {
  readonly directory: string
  readonly processes: Processes
  /** Tells several servers of one sandbox apart. */
  readonly name?: string
  /** Where the server sends every call to an `http://` endpoint, as h2c with the endpoint's name as authority. */
  readonly httpProxy?: string
  readonly partitions?: number
  /** Its data is not laid out: that is for somebody to do through the node's own port. */
  readonly unprovisioned?: true
  /** Further settings, over those of the sandbox. */
  readonly env?: Readonly<Record<string, string>>
  readonly progress?: Progress
}

/** A running durable-execution server. */
export interface DurableServer {
  readonly adminUrl: string
  readonly ingressUrl: string
  /** Where nodes talk to each other: gRPC without TLS. */
  readonly nodeUrl: string
  /** Ends it and starts it again with the same data and ports; SIGKILL instead of SIGTERM when `kill` is set. */
  restart(options?: { readonly kill?: boolean }): Promise<void>
  stop(): Promise<void>
}

/** The server's own binary, not npm's wrapper: a wrapper that is killed leaves its child behind. */
const serverBinary = (): string => {
  const require = createRequire(import.meta.url)
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`
  try {
    return require.resolve(`${name}/bin/restate-server`)
  } catch (cause) {
    throw new Error(`there is no durable-execution server for this machine: ${name} is not installed (npm install)`, { cause })
  }
}

/** Whether the server answers queries; `/health` alone is true some moments too early. */
export const answersQueries = async (adminUrl: string): Promise<boolean> => {
  if (!(await fetch(`${adminUrl}/health`)).ok) return false
  const answer = await fetch(`${adminUrl}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: "SELECT id FROM sys_invocation_status LIMIT 1" }),
  })
  await answer.arrayBuffer()
  return answer.ok
}

/** Starts a server and waits until it can be used. */
export const startDurableServer = async (options: DurableServerOptions): Promise<DurableServer> => {
  const { processes } = options
  const name = options.name ?? "durable-server"
  const progress = options.progress ?? silent
  const [nodePort, adminPort, ingressPort] = await freePorts(3)
  const data = join(options.directory, "data", name)
  mkdirSync(data, { recursive: true })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const nodeUrl = `http://127.0.0.1:${nodePort}`

  const env: Record<string, string> = {
    RESTATE_CLUSTER_NAME: "sandbox",
    RESTATE_NODE_NAME: name,
    RESTATE_BASE_DIR: data,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${nodePort}`,
    RESTATE_ADVERTISED_ADDRESS: nodeUrl,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
    RESTATE_DEFAULT_NUM_PARTITIONS: String(options.partitions ?? 4),
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "128MiB",
    RESTATE_DISABLE_TELEMETRY: "true",
    ...(options.unprovisioned === true ? { RESTATE_AUTO_PROVISION: "false" } : {}),
    ...(options.httpProxy === undefined ? {} : { RESTATE_WORKER__INVOKER__HTTP_PROXY: options.httpProxy }),
    ...options.env,
  }
  const start = async (): Promise<void> => {
    const begun = Date.now()
    await processes.start(name, serverBinary(), [], { env, cwd: data })
    // Before it is provisioned the admin API takes calls and answers none.
    const up = async () => (options.unprovisioned === true ? (await fetch(`${nodeUrl}/health`)).ok : answersQueries(adminUrl))
    await waitFor("the durable-execution server", up, {
      hopeless: () => (processes.alive(name) ? undefined : `it has ended, see ${processes.logFile(name)}`),
    })
    progress(`durable-execution server up in ${((Date.now() - begun) / 1000).toFixed(1)} s at ${adminUrl}`)
  }
  await start()
  return {
    adminUrl,
    ingressUrl: `http://127.0.0.1:${ingressPort}`,
    nodeUrl,
    restart: async ({ kill = false } = {}) => {
      if (kill) processes.signal(name, "SIGKILL")
      await processes.stop(name)
      await start()
    },
    stop: () => processes.stop(name),
  }
}
