import { accessSync, constants, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Progress } from "../progress.ts"
import { command } from "./command.ts"

/** Where programs and network plugins may lie; not everybody's PATH names all of them. */
const searched = ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/usr/local/sbin"]
const pluginFolders = ["/usr/lib/cni", "/opt/cni/bin"]

/** A Debian package, what of it is used, and why. */
interface Package {
  readonly name: string
  readonly why: string
  readonly programs: ReadonlyArray<string>
  readonly folders: ReadonlyArray<string>
}

const packages: ReadonlyArray<Package> = [
  {
    name: "containerd",
    why: "runs the containers",
    programs: ["containerd", "containerd-shim-runc-v2", "ctr"],
    folders: searched,
  },
  { name: "runc", why: "starts each of them", programs: ["runc"], folders: searched },
  {
    name: "containernetworking-plugins",
    why: "gives pods their addresses",
    programs: ["bridge", "host-local", "loopback"],
    folders: pluginFolders,
  },
  {
    name: "nftables",
    why: "kube-proxy's rules and the firewall around the pods",
    programs: ["nft"],
    folders: searched,
  },
  { name: "iproute2", why: "makes the bridge", programs: ["ip"], folders: searched },
  { name: "mount", why: "the kubelet mounts volumes", programs: ["mount", "umount"], folders: searched },
]

const find = (program: string, folders: ReadonlyArray<string>): string | undefined =>
  folders.find((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/** Found by program and not by package: Docker's containerd.io is as good, and installing Debian's would remove it. */
const missing = (): ReadonlyArray<Package> =>
  packages.filter(({ programs, folders }) => programs.some((program) => find(program, folders) === undefined))

/** Whether this is Debian or made from it. */
const isDebian = (): boolean => {
  try {
    return /^ID(_LIKE)?=.*debian/m.test(readFileSync("/etc/os-release", "utf8"))
  } catch {
    return false
  }
}

/** Installs those of the node's Debian packages that are not there, and says which and why. */
export const installPackages = async (progress: Progress): Promise<void> => {
  const wanted = missing()
  if (wanted.length === 0) return
  const list = wanted.map(({ name, why }) => `${name} (${why})`).join(", ")
  if (!isDebian()) {
    throw new Error(`the real node needs ${list}; they are installed by themselves on Debian only, so install them by your own means`)
  }
  progress(`installing the Debian packages ${list}`)
  const quiet = { env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" } }
  // Another installation may just be running: wait for its lock instead of failing.
  const waiting = ["-o", "DPkg::Lock::Timeout=120", "-q", "-y"]
  await command("apt-get", [...waiting, "update"], quiet)
  await command("apt-get", [...waiting, "install", "--no-install-recommends", "--no-remove", ...wanted.map(({ name }) => name)], quiet)
  const still = missing()
  if (still.length > 0)
    throw new Error(`${still.map(({ name }) => name).join(", ")} installed, but their programs are not where they should be`)
}

/** The full path of a program of one of the packages. */
export const installedProgram = (program: string): string => {
  const folder = find(program, searched)
  if (folder === undefined) throw new Error(`${program} is not installed`)
  return join(folder, program)
}

/** The folder of the network plugins. */
export const pluginFolder = (): string => {
  const folder = find("bridge", pluginFolders)
  if (folder === undefined) throw new Error("the network plugins are not installed")
  return folder
}
