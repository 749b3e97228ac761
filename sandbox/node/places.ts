import { join } from "node:path"

/**
 * The one folder of the node. It is the same for every checkout, because the bridge, the firewall table and the control
 * groups belong to the machine as well: whoever starts next finds what a killed run left, and there is one node at most.
 * It is short, because the path of a Unix socket may have 107 bytes only.
 */
export const root = "/var/lib/service-operator-sandbox"

/** Where each part of the node keeps its things, all below {@link root}. */
export const places = {
  /** Names the sandbox process that owns the node; beside the folder, because it outlives the folder's removal. */
  lock: `${root}.lock`,
  /** What the machine's settings were before. */
  sysctls: join(root, "sysctls.json"),
  /** Written by the node and read by its daemons. */
  config: join(root, "config"),
  /** For programs of the host that are to know the cluster's names. */
  resolvConf: join(root, "config", "host-resolv.conf"),
  containerd: join(root, "containerd"),
  containerdState: join(root, "state"),
  containerdSocket: join(root, "containerd.sock"),
  runc: join(root, "runc"),
  addresses: join(root, "addresses"),
  kubelet: join(root, "kubelet"),
  volumes: join(root, "volumes"),
  /** Of containers; those of the daemons are beside the records of {@link root}'s processes. */
  podLogs: join(root, "log", "pods"),
} as const

/** The node's name in the cluster. */
export const nodeName = "sandbox"

/** The control group under which every pod runs. */
export const controlGroup = "service-operator-sandbox"
