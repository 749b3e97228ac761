import { createHash } from "node:crypto"
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { goBuild, requireGo } from "./go-build.ts"
import { contentHash, controlPlaneModules, type GoModule } from "./go-programs.ts"
import { OwnerLock } from "./owner-lock.ts"
import { silent, type Progress } from "./progress.ts"

/** The user's cache folder of the sandbox. It may be deleted at any time when no sandbox runs. */
export const cacheDirectory = (): string => {
  const base = process.env["XDG_CACHE_HOME"]
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "service-operator")
}

/**
 * Makes sure that programs are there and answers with a folder that holds all of them.
 *
 * Each is taken from `KUBEBUILDER_ASSETS`, else from the cache, else built. The cache keeps plain binaries: whoever
 * carries it between machines compresses anyway, and unpacking 300 MB at each start would cost more than it saves.
 */
export const ensure = async (
  names: ReadonlyArray<string>,
  progress: Progress = silent,
  modules: ReadonlyArray<GoModule> = controlPlaneModules,
): Promise<string> => {
  const found = new Map<string, string>()
  for (const name of names) {
    const asset = fromAssets(name)
    if (asset !== undefined) found.set(name, asset)
  }
  for (const module of modules) {
    const wanted = Object.entries(module.programs).filter(([name]) => names.includes(name) && !found.has(name))
    if (wanted.length === 0) continue
    const directory = join(cacheDirectory(), `${module.name}-${contentHash(module)}`)
    await fill(module, directory, wanted, progress)
    for (const [name] of wanted) found.set(name, join(directory, name))
  }
  const unknown = names.filter((name) => !found.has(name))
  if (unknown.length > 0) throw new Error(`no module of the sandbox builds ${unknown.join(", ")}`)
  return folderOfLinks(found)
}

const fromAssets = (name: string): string | undefined => {
  const assets = process.env["KUBEBUILDER_ASSETS"]
  if (assets === undefined || assets === "") return undefined
  const file = join(assets, name)
  return executable(file) ? file : undefined
}

const executable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Builds what is missing. Files appear by rename, so a build that was cut off leaves nothing that looks finished. */
const fill = async (
  module: GoModule,
  directory: string,
  wanted: ReadonlyArray<readonly [string, string]>,
  progress: Progress,
): Promise<void> => {
  const missing = () => wanted.filter(([name]) => !executable(join(directory, name)))
  if (missing().length === 0) return
  await requireGo(module)
  mkdirSync(directory, { recursive: true })
  const lock = new OwnerLock(`${directory}.lock`)
  await lock.acquire((holder) => progress(`waiting for process ${holder.pid}, which builds ${module.name}`))
  try {
    const programs = missing()
    if (programs.length === 0) return
    // Under the lock, so every half-done folder belongs to a run that is dead.
    for (const entry of readdirSync(directory)) {
      if (entry.startsWith(".building-")) rmSync(join(directory, entry), { recursive: true, force: true })
    }
    const building = mkdtempSync(join(directory, ".building-"))
    try {
      await goBuild(module, programs, building, progress)
      for (const [name] of programs) renameSync(join(building, name), join(directory, name))
    } finally {
      rmSync(building, { recursive: true, force: true })
    }
  } finally {
    lock.release()
  }
}

const folderOfLinks = (targets: ReadonlyMap<string, string>): string => {
  const hash = createHash("sha256")
    .update(JSON.stringify([...targets]))
    .digest("hex")
    .slice(0, 16)
  const folder = join(cacheDirectory(), `bin-${hash}`)
  if (existsSync(folder)) return folder
  mkdirSync(cacheDirectory(), { recursive: true })
  const fresh = mkdtempSync(join(cacheDirectory(), ".links-"))
  for (const [name, target] of targets) symlinkSync(target, join(fresh, name))
  try {
    renameSync(fresh, folder)
  } catch (error) {
    // Somebody else was quicker with the same folder.
    rmSync(fresh, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}
