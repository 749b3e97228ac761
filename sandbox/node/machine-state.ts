import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { attempt, command } from "./command.ts"
import { controlGroup, root } from "./places.ts"
import { readSysctls } from "./sysctls.ts"

/** Everything of a machine that a node could change for good, as lines that can be compared. */
export const machineState = async (): Promise<ReadonlySet<string>> =>
  new Set([
    ...lines("interface", await command("ip", ["-brief", "link"])),
    ...lines("route", await command("ip", ["route"])),
    // The rules of iptables are tables of nft, too; on a machine that has no nft yet there are none of either.
    ...((await attempt("nft", ["--version"])) ? lines("firewall table", await command("nft", ["list", "tables"])) : []),
    ...lines("mount", readFileSync("/proc/self/mountinfo", "utf8").replace(/^.*? .*? .*? .*? (\S+) .*$/gm, "$1")),
    ...Object.entries(readSysctls()).map(([name, value]) => `setting ${name} = ${value}`),
    ...folders("/sys/fs/cgroup")
      .filter((path) => ofPods.test(path))
      .map((path) => `control group ${path}`),
    ...programs().map((path) => `process ${path}`),
    ...outside.flatMap(files).map((path) => `file ${path}`),
  ])

/** Where the daemons write outside of the node's own folder, at places that are compiled in. */
const outside = [
  root,
  `${root}.lock`,
  "/run/containerd",
  "/var/lib/kubelet",
  "/var/lib/cni",
  "/var/log/containers",
  "/var/log/pods",
  "/opt/containerd",
]

const ofPods = new RegExp(`${controlGroup}|kubepods`)

/** Those that only a real node has: sandboxes with a stand-in node may come and go beside it. */
const daemons = /^(containerd|kubelet|kube-proxy|kube-scheduler|coredns|pause)/

const lines = (what: string, text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => `${what} ${line}`)

const folders = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [join(folder, entry.name), ...folders(join(folder, entry.name))] : [],
  )

const files = (path: string): ReadonlyArray<string> => (existsSync(path) ? [path] : [])

const programs = (): ReadonlyArray<string> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const name = readFileSync(join("/proc", pid, "comm"), "utf8").trim()
        const isZombie = /\) Z /.test(readFileSync(join("/proc", pid, "stat"), "utf8"))
        return daemons.test(name) && !isZombie ? [`${name} (${pid})`] : []
      } catch {
        // It has ended since it was listed.
        return []
      }
    })
