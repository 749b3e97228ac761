import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { identify } from "../process-identity.ts"
import { missingControllers } from "./control-group.ts"

const instead = "use the stand-in node (the default) instead"

/** Fails with one clear sentence when this machine cannot be a node, before anything of it is touched. */
export const requireNodeMachine = (): void => {
  if (process.platform !== "linux") throw new Error(`the real node needs Linux, this is ${process.platform}; ${instead}`)
  if (process.getuid?.() !== 0) {
    throw new Error(`the real node needs root, because it makes a bridge, mounts and control groups; ${instead}`)
  }
  const powers = missingPowers()
  if (powers.length > 0) {
    throw new Error(`the real node needs ${powers.join(" and ")}, which root does not have in this container; ${instead}`)
  }
  const missing = missingControllers()
  if (missing.length > 0) {
    const list = missing.join(", ")
    throw new Error(`the real node needs writable control groups for ${list}, which this machine does not offer; ${instead}`)
  }
}

/** What root may lack in a container, by its bit in the kernel's set of capabilities. */
const powersNeeded = { CAP_NET_ADMIN: 12n, CAP_SYS_ADMIN: 21n } as const

const missingPowers = (): ReadonlyArray<string> => {
  const [, mask = "0"] = readFileSync("/proc/self/status", "utf8").match(/^CapEff:\s*([0-9a-f]+)/m) ?? []
  const effective = BigInt(`0x${mask}`)
  return Object.entries(powersNeeded).flatMap(([name, bit]) => (((effective >> bit) & 1n) === 0n ? [name] : []))
}

/** Fails when the machine is a node of some other cluster. Asked after an earlier node of ours has been removed. */
export const refuseOtherNode = (): void => {
  const kubelet = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => commandName(pid) === "kubelet" && identify(Number(pid)) !== undefined)
  if (kubelet !== undefined) {
    throw new Error(`this machine is a Kubernetes node already (its kubelet is process ${kubelet}); ${instead}`)
  }
}

const commandName = (pid: string): string | undefined => {
  try {
    return readFileSync(join("/proc", pid, "comm"), "utf8").trim()
  } catch {
    return undefined
  }
}
