import { readFileSync } from "node:fs"

/**
 * Who a process is: its pid alone may be recycled by the kernel, the pair of pid and start time may not.
 */
export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks since boot at which the process began: field 22 of `/proc/PID/stat`. It survives `exec`. */
  readonly startTime: string
}

/** Says in one sentence that the sandbox cannot work here, instead of failing on a missing `/proc` later. */
export const requireLinux = (): void => {
  if (process.platform !== "linux") {
    throw new Error(
      `the sandbox needs Linux (it reads /proc and uses the whole of 127.0.0.0/8), this is ${process.platform}; ` +
        "on another system set CLUSTER=current and use a cluster you have",
    )
  }
}

/** The identity of the process that has this pid now; `undefined` when there is none or it is only a zombie. */
export const identify = (pid: number): ProcessIdentity | undefined => {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch {
    return undefined
  }
  // The second field is the command in parentheses and may itself hold spaces and parentheses: read on from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const state = fields[0]
  const startTime = fields[19]
  const threads = Number(fields[17])
  // A zombie has ended; whoever should have collected it (process 1 in many containers) is only late. But while it has
  // threads that are still dying, its sockets and files are open.
  if (startTime === undefined || (state === "Z" && threads <= 1) || state === "X") return undefined
  return { pid, startTime }
}

/** Whether exactly this process, not another with a recycled pid, runs. */
export const runs = (identity: ProcessIdentity): boolean => identify(identity.pid)?.startTime === identity.startTime

/** Sends a signal to exactly this process; a process that has ended meanwhile is no error. */
export const signal = (identity: ProcessIdentity, name: NodeJS.Signals): void => {
  if (!runs(identity)) return
  try {
    process.kill(identity.pid, name)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error
  }
}
