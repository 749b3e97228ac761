import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { namesIn } from "./folder.ts"
import { controlGroup } from "./places.ts"

const hierarchyRoot = "/sys/fs/cgroup"

/** What the kubelet cannot work without. */
const needed = ["cpu", "cpuset", "memory", "pids"] as const

/** One hierarchy (version 2), or one for each controller (version 1); version 1 is what the sandbox was measured on. */
const controlGroupVersion = (): 1 | 2 => (existsSync(join(hierarchyRoot, "cgroup.controllers")) ? 2 : 1)

const writable = (folder: string): boolean => {
  try {
    accessSync(join(folder, "cgroup.procs"), constants.W_OK)
    return true
  } catch {
    // Not there, or mounted for reading only, as containers see it.
    return false
  }
}

const availableControllers = (): ReadonlyArray<string> => {
  if (controlGroupVersion() === 1) return namesIn(hierarchyRoot).filter((name) => writable(join(hierarchyRoot, name)))
  if (!writable(hierarchyRoot)) return []
  return readFileSync(join(hierarchyRoot, "cgroup.controllers"), "utf8").trim().split(" ")
}

/** The controllers that a node needs and this machine does not offer for writing. */
export const missingControllers = (): ReadonlyArray<string> => {
  const available = availableControllers()
  return needed.filter((name) => !available.includes(name))
}

/** The node's own group in each hierarchy. */
const folders = (): ReadonlyArray<string> =>
  controlGroupVersion() === 2
    ? [join(hierarchyRoot, controlGroup)]
    : availableControllers().map((name) => join(hierarchyRoot, name, controlGroup))

/** Makes the group that the kubelet puts all pods under, and so tells ours from any other program's for certain. */
export const makeControlGroup = (): void => {
  for (const folder of folders()) {
    mkdirSync(folder, { recursive: true })
    // A cpuset of version 1 begins empty, and no process can enter an empty one.
    for (const name of ["cpuset.cpus", "cpuset.mems"]) {
      const parent = join(folder, "..", name)
      if (controlGroupVersion() === 1 && existsSync(parent)) writeFileSync(join(folder, name), readFileSync(parent))
    }
  }
  if (controlGroupVersion() === 2) {
    const enable = needed.map((name) => `+${name}`).join(" ")
    writeFileSync(join(hierarchyRoot, "cgroup.subtree_control"), enable)
    writeFileSync(join(hierarchyRoot, controlGroup, "cgroup.subtree_control"), enable)
  }
}

/** Folder first, then its children. */
const tree = (folder: string): ReadonlyArray<string> => {
  try {
    const children = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return [folder, ...children.flatMap((entry) => tree(join(folder, entry.name)))]
  } catch {
    // Never made, or it has gone since it was listed.
    return []
  }
}

const members = (): ReadonlySet<number> =>
  new Set(
    folders()
      .flatMap(tree)
      .flatMap((folder) => {
        try {
          const lines = readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n")
          return lines.filter((line) => line !== "").map(Number)
        } catch {
          // It has gone since it was listed.
          return []
        }
      }),
  )

/** Sends SIGKILL to every process of every pod, and answers with their number. */
export const killPodsNow = (): number => {
  const pids = members()
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It has ended by itself.
    }
  }
  return pids.size
}

/** Ends every process of every pod, whether or not the container runtime still lives. */
export const killPods = async (): Promise<void> => {
  const deadline = Date.now() + 10_000
  while (killPodsNow() > 0) {
    if (Date.now() > deadline) throw new Error(`processes of pods cannot be ended: ${[...members()].join(" ")}`)
    await sleep(20)
  }
}

/** Removes the group, which must be empty. */
export const removeControlGroup = async (): Promise<void> => {
  const deadline = Date.now() + 5_000
  for (;;) {
    const left = folders().flatMap(tree).toReversed()
    if (left.length === 0) return
    if (Date.now() > deadline) throw new Error(`these control groups cannot be removed: ${left.join(" ")}`)
    for (const folder of left) {
      try {
        rmdirSync(folder)
      } catch {
        // A member that has just been killed may count for a moment yet.
      }
    }
    await sleep(20)
  }
}
