import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Edition, Installed } from "./install.ts"
import { freePort } from "./ports.ts"
import type { Exit, Processes } from "./processes.ts"
import type { Sandbox } from "./sandbox.ts"
import { nodeEnvironment, nodeOptions } from "../build/node-options.ts"
import { cacheDirectory } from "./binaries.ts"
import { waitFor } from "./wait.ts"

export interface OperatorOptions {
  readonly edition: Edition
  readonly installed: Installed
  /** Instead of the one with the ServiceAccount's rights; still those rights, through a proxy for example. */
  readonly kubeconfig?: string
  /** Instead of the sandbox's router: where the operator sends admin calls to cluster names. */
  readonly proxyUrl?: string
  /** Instead of the one that `make build` leaves. */
  readonly bundle?: string
  /** Tells several operators of one sandbox apart. */
  readonly name?: string
  readonly env?: Readonly<Record<string, string>>
  readonly args?: ReadonlyArray<string>
}

/** The operator as users run it: the one bundled file, as a process of its own. */
export interface OperatorProcess {
  readonly pid: number
  readonly url: string
  readonly logFile: string
  readonly exited: Promise<Exit>
  metrics(): Promise<string>
  /** Resident set, bytes. */
  memory(): { readonly now: number; readonly peak: number }
  /** CPU time used so far, seconds. */
  cpu(): number
  kill(signal: NodeJS.Signals): void
  stop(): Promise<void>
}

const built = join(import.meta.dirname, "..", "dist", "operator.mjs")

/**
 * A command that finds the cluster's names: with a file in the place of /etc/resolv.conf that only it sees. Every step
 * becomes the next one, so that the process that is started is the operator.
 */
const resolving = (
  resolvConf: string | undefined,
  command: readonly [string, ...ReadonlyArray<string>],
): readonly [string, ...ReadonlyArray<string>] =>
  resolvConf === undefined
    ? command
    : ["unshare", "--mount", "sh", "-c", `mount --bind ${resolvConf} /etc/resolv.conf && exec "$@"`, "sh", ...command]

/** Starts the operator; it may not be ready yet. */
export const launchOperator = async (sandbox: Sandbox, options: OperatorOptions): Promise<OperatorProcess> => {
  const processes = sandbox.processes
  if (processes === undefined) throw new Error("the operator can be started beside a sandbox only, not with CLUSTER=current")
  const { namespace, serviceAccount } = options.installed
  const kubeconfig = options.kubeconfig ?? (await sandbox.operatorKubeconfig(namespace, serviceAccount))
  const port = await freePort()
  const name = options.name ?? "operator"
  const proxyUrl = options.proxyUrl ?? sandbox.proxyUrl
  const args = [
    options.bundle ?? built,
    "run",
    "--vocabulary",
    options.edition,
    "--http-address",
    `127.0.0.1:${port}`,
    "--operator-namespace",
    namespace,
    ...(options.args ?? []),
  ]
  const env = {
    KUBECONFIG: kubeconfig,
    ...nodeEnvironment,
    // As in the image: the compiled code of the last start.
    NODE_COMPILE_CACHE: join(cacheDirectory(), "compile-cache"),
    // The admin API is plain HTTP behind cluster names, which only the sandbox's router knows.
    ...(proxyUrl === undefined ? {} : { http_proxy: proxyUrl, no_proxy: "127.0.0.1,localhost" }),
    ...options.env,
  }
  const [command, ...rest] = resolving(sandbox.resolvConf, [process.execPath, ...nodeOptions, ...args])
  const { pid, exited } = await processes.start(name, command, rest, { env })
  return operator(processes, name, pid, exited, `http://127.0.0.1:${port}`)
}

/** Starts the operator and waits until all of its controllers run. */
export const startOperator = async (sandbox: Sandbox, options: OperatorOptions): Promise<OperatorProcess> => {
  const operator = await launchOperator(sandbox, options)
  let ended: Exit | undefined
  void operator.exited.then((exit) => (ended = exit))
  await waitFor("the operator", async () => (await fetch(`${operator.url}/ready`)).ok, {
    hopeless: () =>
      ended === undefined
        ? undefined
        : `it has ended with ${ended.code ?? ended.signal}; see ${operator.logFile}\n${tail(operator.logFile)}`,
  })
  return operator
}

const operator = (processes: Processes, name: string, pid: number, exited: Promise<Exit>, url: string): OperatorProcess => ({
  pid,
  url,
  exited,
  logFile: processes.logFile(name),
  metrics: async () => (await fetch(`${url}/metrics`)).text(),
  memory: () => ({ now: statusField(pid, "VmRSS"), peak: statusField(pid, "VmHWM") }),
  cpu: () => {
    // Fields 14 and 15 after the name, which may hold spaces: user and system time in ticks of 10 ms.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  },
  kill: (signal) => processes.signal(name, signal),
  stop: () => processes.stop(name),
})

const statusField = (pid: number, field: string): number =>
  Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024

const tail = (file: string): string => readFileSync(file, "utf8").split("\n").slice(-8).join("\n")
