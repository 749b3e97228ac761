import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { OwnerLock } from "../owner-lock.ts"
import { Processes } from "../processes.ts"
import { containerIds, removeNetworkResults } from "./containerd.ts"
import { killPods, removeControlGroup } from "./control-group.ts"
import { removeKubeletTraces } from "./kubelet.ts"
import { mountsBelow, unmountAll } from "./mounts.ts"
import { networkLeft, removeNetwork } from "./network.ts"
import { places, root } from "./places.ts"
import { killShims, removeShimSockets } from "./shims.ts"
import { restoreSysctls } from "./sysctls.ts"

/**
 * Removes every trace of a node, whether it was stopped in order or killed at any point of its life.
 *
 * The order matters: first whoever would start containers again, then the containers, then who watches over them; only
 * then are mounts free, and only when no mount is left may the folder be deleted, because a deletion would go on into
 * whatever is mounted there.
 */
export const tearDown = async (): Promise<void> => {
  await new Processes(root).reapStale()
  await killPods()
  await killShims()
  removeShimSockets()
  await unmountAll()
  await removeNetwork()
  const left = await networkLeft()
  if (left.length > 0) throw new Error(`cannot be removed: ${left.join(", ")}`)
  await removeControlGroup()
  restoreSysctls()
  removeKubeletTraces()
  removeNetworkResults(containerIds())
  const mounted = mountsBelow(root)
  if (mounted.length > 0) throw new Error(`still mounted, so not deleted: ${mounted.join(", ")}`)
  await rm(root, { recursive: true, force: true })
}

/** Removes what a node has left whose sandbox was killed. Says whether there was anything; a node that runs is left alone. */
export const sweepNode = async (): Promise<boolean> => {
  if (!existsSync(root) || process.getuid?.() !== 0) return false
  const lock = new OwnerLock(places.lock)
  if (!lock.tryAcquire()) return false
  try {
    await tearDown()
  } finally {
    lock.release()
  }
  return true
}
