import { readFileSync } from "node:fs"
import type { Processes } from "../processes.ts"

/** For waiting on something that certain daemons do: once one of them has ended, the wait ends with its last words. */
export const hopelessWithout = (processes: Processes, ...names: ReadonlyArray<string>) => ({
  timeoutMs: 60_000,
  hopeless: (): string | undefined => {
    const dead = names.find((name) => !processes.alive(name))
    return dead === undefined ? undefined : `${dead} has ended:\n${lastLines(processes.logFile(dead))}`
  },
})

// Quoted, because the file is removed with everything else of a node that did not come up.
const lastLines = (file: string): string => {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-10).join("\n")
  } catch {
    return "(it wrote nothing)"
  }
}
