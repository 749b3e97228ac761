import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { OwnerLock } from "./owner-lock.ts"
import { Processes } from "./processes.ts"

// The folders of ended sandboxes hold nothing but logs, which somebody may want to read for a while.
const keepLogsMs = 3_600_000
const unfinished = ".new-"
// A folder with this file is ours to empty; any other is not.
const marker = ".sandbox"
const kept = new Set(["log", "owner", marker])

/** A folder that one running sandbox owns. */
export interface SandboxDirectory {
  readonly path: string
  readonly processes: Processes
  /** Removes everything but the logs and gives the folder back. */
  readonly release: () => void
}

/** Where sandboxes live when nobody says where; only this user may look into it. */
const home = (): string => {
  const path = join(tmpdir(), `service-operator-sandbox-${userInfo().uid}`)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  // The place is known to everybody: make sure that nobody else has made it, or a link of that name.
  const found = lstatSync(path)
  if (!found.isDirectory() || found.uid !== userInfo().uid) throw new Error(`${path} is not a folder of this user`)
  return path
}

const lockOf = (directory: string): OwnerLock => new OwnerLock(join(directory, "owner"))

const clear = (directory: string): void => {
  for (const entry of readdirSync(directory)) {
    if (!kept.has(entry)) rmSync(join(directory, entry), { recursive: true, force: true })
  }
}

const owned = (path: string, lock: OwnerLock): SandboxDirectory => ({
  path,
  processes: new Processes(path),
  release: () => {
    clear(path)
    lock.release()
  },
})

/**
 * Ends what sandboxes have left that were killed before they could clean up, and forgets old logs. Says how many
 * there were. Sandboxes that run are left alone.
 */
export const sweep = async (keepLogs = true): Promise<number> => {
  let killed = 0
  for (const entry of readdirSync(home())) {
    const path = join(home(), entry)
    let age: number
    try {
      age = Date.now() - statSync(path).mtimeMs
    } catch {
      continue
    }
    // Half made: its maker may be about to give it a name.
    if (entry.startsWith(unfinished) && age < 60_000) continue
    if (lockOf(path).holder() !== undefined) continue
    if (existsSync(join(path, "run"))) killed += 1
    await new Processes(path).reapStale()
    clear(path)
    if (!keepLogs || age > keepLogsMs) rmSync(path, { recursive: true, force: true })
  }
  return killed
}

/** A folder for a new sandbox: the given one, or a new one beside those of other sandboxes. */
export const claimDirectory = async (wanted?: string): Promise<SandboxDirectory> => {
  if (wanted !== undefined) {
    mkdirSync(wanted, { recursive: true, mode: 0o700 })
    const content = readdirSync(wanted)
    if (content.length > 0 && !content.includes(marker)) {
      throw new Error(`${wanted} holds something else: a sandbox empties its folder, so give it a new one`)
    }
    writeFileSync(join(wanted, marker), "")
    const lock = lockOf(wanted)
    if (!lock.tryAcquire()) throw new Error(`process ${lock.holder()?.pid ?? "?"} runs a sandbox in ${wanted}`)
    const directory = owned(wanted, lock)
    await directory.processes.reapStale()
    clear(wanted)
    // `clear` has taken the folders of the first one with it.
    return owned(wanted, lock)
  }
  await sweep()
  // It gets its name only when it has an owner, so that no sweep can ever take it for abandoned.
  const fresh = mkdtempSync(join(home(), unfinished))
  writeFileSync(join(fresh, marker), "")
  lockOf(fresh).tryAcquire()
  const path = join(home(), `sandbox-${fresh.slice(-6)}`)
  renameSync(fresh, path)
  return owned(path, lockOf(path))
}
