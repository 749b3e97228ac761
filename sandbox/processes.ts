import { spawn } from "node:child_process"
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { identify, requireLinux, runs, signal, type ProcessIdentity } from "./process-identity.ts"

/** How a process differs from one that inherits everything. */
export interface StartOptions {
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Its own session (the default), so that Ctrl-C reaches only the sandbox, which then stops its children in order. */
  readonly detached?: boolean
  /** Start from an empty environment instead of this process's. */
  readonly cleanEnvironment?: boolean
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A process that has been started. */
export interface Started {
  readonly pid: number
  /** Resolves when the process ends; never rejects. */
  readonly exited: Promise<Exit>
}

const pollMs = 20

/**
 * Child processes that are remembered on disk, so that the next run can end what a killed run left behind.
 *
 * `<dir>/run/<name>.pid` holds pid and start time, `<dir>/log/<name>.log` the output. A process is signalled only when
 * both pid and start time still match, so nothing that the sandbox did not start can ever be hit.
 */
export class Processes {
  readonly #run: string
  readonly #log: string
  /** In the order of starting; the reverse is the order of stopping. */
  readonly #started: string[] = []
  #ending = false

  constructor(dir: string) {
    requireLinux()
    this.#run = join(dir, "run")
    this.#log = join(dir, "log")
    mkdirSync(this.#run, { recursive: true })
    mkdirSync(this.#log, { recursive: true })
  }

  /** Where the output of a process goes. */
  logFile(name: string): string {
    return join(this.#log, `${name}.log`)
  }

  /** Starts a process and records it at once. Fails when the command cannot be started or the name is in use. */
  async start(name: string, command: string, args: ReadonlyArray<string>, options: StartOptions = {}): Promise<Started> {
    if (this.#ending) throw new Error(`${name} is not started any more: everything is being stopped`)
    if (this.alive(name)) throw new Error(`the process ${name} already runs`)
    const output = openSync(this.logFile(name), "a")
    const child = spawn(command, args, {
      stdio: ["ignore", output, output],
      detached: options.detached ?? true,
      env: { ...(options.cleanEnvironment === true ? {} : process.env), ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
    closeSync(output)
    // Nothing may come between spawn and record: no await, no callback, no call that can throw.
    if (child.pid !== undefined) this.#record(name, child.pid)
    // A forgotten sandbox must not keep its parent's event loop alive; the parent's exit hook ends the children.
    child.unref()
    const exited = new Promise<Exit>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })))
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve)
      child.once("error", (error) => reject(new Error(`cannot start ${name} (${command}): ${error.message}`)))
    })
    if (child.pid === undefined) throw new Error(`cannot start ${name} (${command})`)
    return { pid: child.pid, exited }
  }

  /** The process of this name, if it runs. */
  pid(name: string): number | undefined {
    const identity = this.#recorded(name)
    return identity !== undefined && runs(identity) ? identity.pid : undefined
  }

  /** Whether the process of this name runs, no matter which run of the sandbox started it. */
  alive(name: string): boolean {
    return this.pid(name) !== undefined
  }

  /** Sends a signal without waiting; nothing happens when the process has ended. */
  signal(name: string, signalName: NodeJS.Signals): void {
    const identity = this.#recorded(name)
    if (identity !== undefined) signal(identity, signalName)
  }

  /** Ends a process: SIGTERM, and SIGKILL after `graceMs`. Returns when it is gone. */
  async stop(name: string, graceMs = 10_000): Promise<void> {
    const identity = this.#recorded(name)
    if (identity !== undefined) {
      signal(identity, "SIGTERM")
      if (!(await gone(identity, graceMs))) {
        signal(identity, "SIGKILL")
        await gone(identity, 5_000)
      }
    }
    this.#forget(name)
  }

  /** Ends everything that this object started, the youngest first, and starts nothing any more. */
  async stopAll(): Promise<void> {
    // A start-up that is interrupted is still on its way and would go on starting things behind our back.
    this.#ending = true
    for (const name of this.#started.toReversed()) await this.stop(name)
  }

  /** Ends everything that is recorded, at once and without waiting: for `process.on("exit")`, where nothing can be awaited. */
  killAllNow(): void {
    for (const name of this.#youngestFirst()) {
      this.signal(name, "SIGKILL")
      this.#forget(name)
    }
  }

  /** Ends what an earlier run, killed before it could clean up, has left running. */
  async reapStale(): Promise<void> {
    for (const name of this.#youngestFirst()) {
      const identity = this.#recorded(name)
      if (identity !== undefined) {
        signal(identity, "SIGKILL")
        await gone(identity, 5_000)
      }
      this.#forget(name)
    }
  }

  #file(name: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) throw new Error(`not a process name: ${JSON.stringify(name)}`)
    return join(this.#run, `${name}.pid`)
  }

  #record(name: string, pid: number): void {
    // A process that has ended already leaves nothing to remember.
    const identity = identify(pid)
    if (identity === undefined) return
    const file = this.#file(name)
    // Renamed into place: a reader, or a kill in the middle, never sees half a record.
    writeFileSync(`${file}.new`, `${identity.pid} ${identity.startTime}\n`)
    renameSync(`${file}.new`, file)
    if (!this.#started.includes(name)) this.#started.push(name)
  }

  #recorded(name: string): ProcessIdentity | undefined {
    let text: string
    try {
      text = readFileSync(this.#file(name), "utf8")
    } catch {
      return undefined
    }
    const [pid, startTime] = text.trim().split(" ")
    return startTime === undefined ? undefined : { pid: Number(pid), startTime }
  }

  #forget(name: string): void {
    rmSync(this.#file(name), { force: true })
    const index = this.#started.indexOf(name)
    if (index >= 0) this.#started.splice(index, 1)
  }

  #youngestFirst(): ReadonlyArray<string> {
    // Another sandbox may be sweeping the same remains, and have removed them by now.
    return (existsSync(this.#run) ? readdirSync(this.#run) : [])
      .filter((file) => file.endsWith(".pid"))
      .map((file) => ({
        name: file.slice(0, -".pid".length),
        at: statSync(join(this.#run, file), { throwIfNoEntry: false })?.mtimeMs ?? 0,
      }))
      .toSorted((left, right) => right.at - left.at)
      .map(({ name }) => name)
  }
}

const gone = async (identity: ProcessIdentity, withinMs: number): Promise<boolean> => {
  const deadline = Date.now() + withinMs
  while (runs(identity)) {
    if (Date.now() >= deadline) return false
    await sleep(pollMs)
  }
  return true
}
