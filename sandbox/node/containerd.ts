import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pauseImage } from "../images/pause.ts"
import type { Processes } from "../processes.ts"
import { waitFor } from "../wait.ts"
import { addresses } from "./addresses.ts"
import { command } from "./command.ts"
import { hopelessWithout } from "./daemon.ts"
import { namesIn, removeIfEmpty } from "./folder.ts"
import { installedProgram, pluginFolder } from "./packages.ts"
import { places, root } from "./places.ts"

/** What `statfs` calls a file system that is itself an overlay, as the root of most containers is. */
const overlayMagic = 0x794c7630

/** An overlay cannot lie on an overlay: there every layer is copied, which is slower and works everywhere. */
const snapshotter = (): string => (statfsSync(root).type === overlayMagic ? "native" : "overlayfs")

// Form 2 is what Debian's containerd 1.6 reads; containerd 2 reads it too.
const configuration = (): string => `
version = 2
root = "${places.containerd}"
state = "${places.containerdState}"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "${places.containerdSocket}"
[debug]
  level = "warn"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  # Root without CAP_SYS_RESOURCE may not lower a score, and the failure looks like one of runc's pipes.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${join(places.config, "registries")}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${pluginFolder()}"
    conf_dir = "${join(places.config, "network")}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "${snapshotter()}"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "${places.runc}"
        SystemdCgroup = false
`

/** The library of the network plugins names its files after it. */
const podNetworkName = "service-operator-sandbox"

const podNetwork = {
  cniVersion: "0.4.0",
  name: podNetworkName,
  plugins: [
    {
      type: "bridge",
      bridge: addresses.bridge,
      isGateway: true,
      // A pod may call a Service that leads back to itself.
      hairpinMode: true,
      ipMasq: false,
      ipam: {
        type: "host-local",
        dataDir: places.addresses,
        ranges: [[{ subnet: addresses.pods, gateway: addresses.node }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
}

const writeConfiguration = (): string => {
  const file = join(places.config, "containerd.toml")
  const registries = join(places.config, "registries", "_default")
  const network = join(places.config, "network")
  for (const folder of [registries, network]) mkdirSync(folder, { recursive: true })
  writeFileSync(file, configuration())
  // A closed port of this machine: whoever names an image that the sandbox does not have learns it at once.
  writeFileSync(join(registries, "hosts.toml"), 'server = "http://127.0.0.1:9"\n')
  writeFileSync(join(network, "10-bridge.conflist"), JSON.stringify(podNetwork))
  return file
}

/** One folder for each container, with the address of its shim. */
export const tasksFolder = join(places.containerdState, "io.containerd.runtime.v2.task", "k8s.io")

const ctr = ["--address", places.containerdSocket, "--namespace", "k8s.io"]

/** Starts the container runtime and waits until it answers. */
export const startContainerd = async (processes: Processes): Promise<void> => {
  await processes.start("containerd", installedProgram("containerd"), ["--config", writeConfiguration()])
  await waitFor("containerd", () => command(installedProgram("ctr"), [...ctr, "version"]), hopelessWithout(processes, "containerd"))
}

/** Puts the images of an OCI archive where the kubelet finds them. */
export const importImages = async (archive: string): Promise<void> => {
  await command(installedProgram("ctr"), [...ctr, "images", "import", "--snapshotter", snapshotter(), archive])
}

/** The containers, by id, that containerd holds or held when it was killed. */
export const containerIds = (): ReadonlyArray<string> => namesIn(tasksFolder)

/** Removes what the library of the network plugins keeps, at a place that is compiled in, of pods that were killed. */
export const removeNetworkResults = (containers: ReadonlyArray<string>): void => {
  const results = "/var/lib/cni/results"
  for (const name of namesIn(results)) {
    // The loopback network has the same name for every containerd of a machine; the container tells ours.
    const ours = name.startsWith(`${podNetworkName}-`) || containers.some((id) => name.includes(`-${id}-`))
    if (ours) rmSync(join(results, name), { force: true })
  }
  for (const folder of [results, "/var/lib/cni"]) removeIfEmpty(folder)
}
