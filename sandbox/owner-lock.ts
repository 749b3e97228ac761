import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { identify, runs, type ProcessIdentity } from "./process-identity.ts"

/**
 * A lock file that names its owner by pid and start time, so that a lock left by a killed process is no obstacle.
 */
export class OwnerLock {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The process that holds the lock; `undefined` when nobody does who still runs. */
  holder(): ProcessIdentity | undefined {
    let text: string
    try {
      text = readFileSync(this.#file, "utf8")
    } catch {
      return undefined
    }
    const [pid, startTime] = text.trim().split(" ")
    if (startTime === undefined) return undefined
    const identity = { pid: Number(pid), startTime }
    return runs(identity) ? identity : undefined
  }

  /** Takes the lock if nobody holds it. */
  tryAcquire(): boolean {
    const me = identify(process.pid)
    if (me === undefined) throw new Error("cannot read /proc of this process")
    const mine = `${this.#file}.${process.pid}`
    writeFileSync(mine, `${me.pid} ${me.startTime}\n`)
    try {
      // A hard link appears with its whole content or not at all, and only if the name is free.
      if (link(mine, this.#file)) return true
      if (this.holder() !== undefined) return false
      rmSync(this.#file, { force: true })
      return link(mine, this.#file)
    } finally {
      rmSync(mine, { force: true })
    }
  }

  /** Waits for the lock; `waiting` is called once when somebody else holds it. */
  async acquire(waiting: (holder: ProcessIdentity) => void): Promise<void> {
    let told = false
    while (!this.tryAcquire()) {
      const holder = this.holder()
      if (!told && holder !== undefined) {
        told = true
        waiting(holder)
      }
      await sleep(500)
    }
  }

  /** Gives the lock back. */
  release(): void {
    if (this.holder()?.pid === process.pid) rmSync(this.#file, { force: true })
  }
}

const link = (from: string, to: string): boolean => {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  }
}
