import { mkdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createServer, writeIdentity, type Identity } from "../certificates.ts"
import type { Processes } from "../processes.ts"
import { addresses } from "./addresses.ts"
import { namesIn, removeIfEmpty } from "./folder.ts"
import { controlGroup, nodeName, places } from "./places.ts"

/** The name and group by which the API server knows a node. */
export const kubeletSubject = { commonName: `system:node:${nodeName}`, organization: "system:nodes" }

const configuration = (authority: Identity, authorityFile: string): object => {
  const serving = createServer(authority, kubeletSubject, [addresses.node, "127.0.0.1", nodeName])
  const { certificate, key } = writeIdentity(places.config, "kubelet", serving)
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: addresses.node,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: authorityFile },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: certificate,
    tlsPrivateKeyFile: key,
    // No systemd is assumed, so the kubelet makes the groups itself, below one that is ours.
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${controlGroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    // A negative one, the default, needs CAP_SYS_RESOURCE.
    oomScoreAdj: 0,
    // Or it makes iptables chains that nobody removes.
    makeIPTablesUtilChains: false,
    containerRuntimeEndpoint: `unix://${places.containerdSocket}`,
    clusterDNS: [addresses.dns],
    clusterDomain: addresses.domain,
    resolvConf: join(places.config, "resolv.conf"),
    podLogsDir: places.podLogs,
    volumePluginDir: join(places.config, "volume-plugins"),
    healthzBindAddress: "127.0.0.1",
    nodeStatusUpdateFrequency: "4s",
    // A machine that is short of disk or memory must not make tests fail by evicting their pods.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "1%",
      "nodefs.inodesFree": "1%",
      "imagefs.available": "1%",
    },
    serializeImagePulls: false,
    maxPods: 200,
  }
}

/** Starts the kubelet. */
export const startKubelet = async (processes: Processes, binary: string, kubeconfig: string, authority: Identity): Promise<void> => {
  const authorityFile = join(places.config, "authority.crt")
  writeFileSync(authorityFile, authority.certificatePem)
  // Empty: a pod asks the cluster's name server and nobody else.
  writeFileSync(join(places.config, "resolv.conf"), "")
  mkdirSync(places.podLogs, { recursive: true })
  const file = join(places.config, "kubelet.json")
  writeFileSync(file, JSON.stringify(configuration(authority, authorityFile)))
  await processes.start("kubelet", binary, [
    `--config=${file}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${places.kubelet}`,
    `--cert-dir=${join(places.config, "kubelet")}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${addresses.node}`,
    "--v=1",
  ])
}

/** Removes what the kubelet leaves outside of its folder, at places that are compiled in. */
export const removeKubeletTraces = (): void => {
  const devices = "/var/lib/kubelet/device-plugins"
  for (const name of ["kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"]) rmSync(join(devices, name), { force: true })
  removeIfEmpty(devices)
  removeIfEmpty("/var/lib/kubelet")
  // One link for each container, into our folder of logs.
  const links = "/var/log/containers"
  for (const name of namesIn(links)) {
    const link = join(links, name)
    try {
      if (readlinkSync(link).startsWith(`${places.podLogs}/`)) rmSync(link, { force: true })
    } catch {
      // Not a link, so not ours.
    }
  }
  removeIfEmpty(links)
}
