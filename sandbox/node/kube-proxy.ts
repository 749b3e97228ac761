import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Processes } from "../processes.ts"
import { addresses } from "./addresses.ts"
import { nodeName, places } from "./places.ts"

/** The name that kube-proxy has at the API server; a built-in role belongs to it. */
export const kubeProxyUser = "system:kube-proxy"

const configuration = (kubeconfig: string): object => ({
  apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
  kind: "KubeProxyConfiguration",
  clientConnection: { kubeconfig, qps: 100, burst: 200 },
  mode: "nftables",
  clusterCIDR: addresses.pods,
  hostnameOverride: nodeName,
  bindAddress: addresses.node,
  healthzBindAddress: "127.0.0.1:10256",
  metricsBindAddress: "127.0.0.1:10249",
  nodePortAddresses: [`${addresses.node}/32`],
  // Zero leaves the machine's own settings of connection tracking alone.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  // A negative one, the default, needs CAP_SYS_RESOURCE.
  oomScoreAdj: 0,
  nftables: {
    minSyncPeriod: "100ms",
    syncPeriod: "30s",
    // Pods share one bridge: an answer would go straight back past the translation, unless the kernel sends bridged
    // packets through the firewall, which many do not. With the node as the sender it comes back the way it went.
    masqueradeAll: true,
  },
})

/** Starts kube-proxy. Its file must not be written again while it runs: it ends itself when that changes. */
export const startKubeProxy = async (processes: Processes, binary: string, kubeconfig: string): Promise<void> => {
  const file = join(places.config, "kube-proxy.json")
  writeFileSync(file, JSON.stringify(configuration(kubeconfig)))
  await processes.start("kube-proxy", binary, [`--config=${file}`])
}
