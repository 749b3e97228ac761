import { readdirSync, readFileSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { identify, runs, signal, type ProcessIdentity } from "../process-identity.ts"
import { containerIds, tasksFolder } from "./containerd.ts"
import { removeIfEmpty } from "./folder.ts"
import { places } from "./places.ts"

const shimProgram = "containerd-shim-runc-v2"
const socketFolder = "/run/containerd/s"

/**
 * The shims of our containers. containerd starts them and they outlive it, so no record of ours names them: ours are
 * those that were told the path of our containerd's socket, which lies in a folder that is ours alone.
 */
const ourShims = (): ReadonlyArray<ProcessIdentity> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      // Before the command line is read: a pid that is recycled in between no longer matches its start time.
      const identity = identify(Number(name))
      const [program = "", ...args] = argumentsOf(name)
      return identity !== undefined && basename(program) === shimProgram && args.includes(places.containerdSocket) ? [identity] : []
    })

const argumentsOf = (pid: string): ReadonlyArray<string> => {
  try {
    return readFileSync(join("/proc", pid, "cmdline"), "utf8").split("\0")
  } catch {
    return []
  }
}

/** Ends our shims. Their containers must have been ended before, or they would live on without them. */
export const killShims = async (): Promise<void> => {
  const shims = ourShims()
  for (const shim of shims) signal(shim, "SIGKILL")
  const deadline = Date.now() + 5_000
  while (shims.some(runs)) {
    if (Date.now() > deadline) throw new Error(`these container shims do not end: ${shims.map(({ pid }) => pid).join(" ")}`)
    await sleep(20)
  }
}

/** Removes the sockets of our shims, which lie in a folder of all containerds of the machine whose place is compiled in. */
export const removeShimSockets = (): void => {
  for (const container of containerIds()) {
    let address: string
    try {
      address = readFileSync(join(tasksFolder, container, "address"), "utf8").trim()
    } catch {
      // Containers of a pod share their sandbox's shim, so most have no address of their own.
      continue
    }
    const socket = address.replace(/^unix:\/\//, "")
    if (dirname(socket) === socketFolder) rmSync(socket, { force: true })
  }
  for (const folder of [socketFolder, dirname(socketFolder)]) removeIfEmpty(folder)
}
