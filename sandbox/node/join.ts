import { join } from "node:path"
import type { ControlPlane } from "../control-plane.ts"
import type { KubernetesObject } from "../kubernetes-types.ts"
import type { Processes } from "../processes.ts"
import { waitFor } from "../wait.ts"
import { corednsObjects, corednsUser, namesResolve, startCoredns } from "./coredns.ts"
import { hopelessWithout } from "./daemon.ts"
import { kubeletSubject, startKubelet } from "./kubelet.ts"
import { kubeProxyUser, startKubeProxy } from "./kube-proxy.ts"
import { nodeName } from "./places.ts"

interface Node extends KubernetesObject {
  readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }> }
}

/** Starts the node's daemons and waits until it is Ready and the cluster's names resolve. */
export const joinCluster = async (processes: Processes, binaries: string, controlPlane: ControlPlane): Promise<void> => {
  const { client, authority } = controlPlane
  for (const object of corednsObjects) await client.apply(object)
  await startKubelet(processes, join(binaries, "kubelet"), controlPlane.kubeconfigFor("kubelet", kubeletSubject), authority)
  const proxy = controlPlane.kubeconfigFor("kube-proxy", { commonName: kubeProxyUser })
  await startKubeProxy(processes, join(binaries, "kube-proxy"), proxy)
  await startCoredns(processes, join(binaries, "coredns"), controlPlane.kubeconfigFor("coredns", { commonName: corednsUser }))
  await waitFor(`the node ${nodeName}`, async () => isReady(await client.find<Node>(`/api/v1/nodes/${nodeName}`)), {
    ...hopelessWithout(processes, "containerd", "kubelet"),
  })
  await namesResolve(processes)
}

const isReady = (node: Node | undefined): boolean =>
  node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false
