import { readFileSync } from "node:fs"
import { attempt, command } from "./command.ts"
import { root } from "./places.ts"

/** The mount points below the node's folder, the latest mounted first. */
export const mountsBelow = (folder: string): ReadonlyArray<string> =>
  readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .flatMap((line) => {
      const point = line.split(" ")[4]
      // The kernel writes a space and the like as an octal escape.
      return point === undefined ? [] : [point.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))]
    })
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    // A mount comes after the one that it lies on, so the reverse is the order in which they can go.
    .toReversed()

/** Removes every mount below the node's folder: root file systems, network namespaces, volumes. */
export const unmountAll = async (): Promise<void> => {
  // Several rounds, because one point may carry several mounts and killed containers let go a moment later.
  for (let round = 0; round < 5; round++) {
    const points = mountsBelow(root)
    if (points.length === 0) return
    for (const point of points) {
      // Lazily when it is busy: it is invisible at once and goes with its last user, which has been killed.
      if (!(await attempt("umount", [point]))) await attempt("umount", ["-l", point])
    }
  }
  const left = mountsBelow(root)
  if (left.length > 0) await command("umount", ["-l", ...left])
}
