import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { addresses } from "./addresses.ts"
import { places } from "./places.ts"

/** What the node needs otherwise, and what the kubelet, kube-proxy and the bridge plugin set without asking. */
const touched = [
  "net/ipv4/ip_forward",
  "net/ipv4/conf/all/route_localnet",
  "net/ipv4/conf/all/send_redirects",
  "net/bridge/bridge-nf-call-iptables",
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
] as const

const file = (name: string): string => join("/proc/sys", name)

const read = (name: string): string | undefined => {
  try {
    return readFileSync(file(name), "utf8").trim()
  } catch {
    // Not every kernel has every one.
    return undefined
  }
}

/** Those settings as they are now. */
export const readSysctls = (): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {}
  for (const name of touched) {
    const value = read(name)
    if (value !== undefined) found[name] = value
  }
  return found
}

/** Notes the machine's settings before anything of the node changes one. */
export const rememberSysctls = (): void => {
  // Renamed into place: what a kill in the middle leaves is no half record.
  writeFileSync(`${places.sysctls}.new`, JSON.stringify(readSysctls()))
  renameSync(`${places.sysctls}.new`, places.sysctls)
}

/**
 * Sets what the node needs. Pods reach one another's Services through the one bridge, in and out, so the kernel would
 * tell them of a shorter way; these messages share a limit with refusals, and a pod that calls a Service without
 * endpoints then waited 1 s to more than 6 s for a refusal that takes 10 ms.
 */
export const adjustSysctls = (): void => {
  for (const name of ["all", addresses.bridge]) writeFileSync(file(`net/ipv4/conf/${name}/send_redirects`), "0")
}

/** Puts back what {@link rememberSysctls} noted, and only what differs. */
export const restoreSysctls = (): void => {
  let text: string
  try {
    text = readFileSync(places.sysctls, "utf8")
  } catch {
    return
  }
  const before: Readonly<Record<string, unknown>> = JSON.parse(text)
  for (const name of touched) {
    const value = before[name]
    if (typeof value === "string" && read(name) !== value) writeFileSync(file(name), value)
  }
  rmSync(places.sysctls, { force: true })
}
