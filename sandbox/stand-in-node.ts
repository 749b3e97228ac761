/**
 * A node that is not one: it registers with the API server and runs pods as local processes.
 *
 * Faked: the node and its size; pulling (a table of images); isolation (no namespaces, no limits, no volumes, no
 * mounted token, one user); the pod's address (Kubernetes sees 10.b.c.d, the process listens on 127.b.c.d, which the
 * router knows); probes other than readiness; hooks; `kubectl logs` and `exec` (output is in the sandbox's log folder).
 * Real: everything that the API server and the controller manager do with it, ReplicaSets and EndpointSlices included.
 */
import type { KubernetesClient } from "./kubernetes-client.ts"
import type { Pod } from "./kubernetes-types.ts"
import { PodAddresses } from "./pod-addresses.ts"
import { capacity, unschedulable } from "./pod-placement.ts"
import type { Processes } from "./processes.ts"
import { insist } from "./insist.ts"
import { Reflector, type Change } from "./reflector.ts"
import { standInImages, type ImageTable } from "./stand-in-images.ts"
import { StandInPod, type PodHost } from "./stand-in-pod.ts"

/** How the stand-in node is started. */
export interface StandInNodeOptions {
  readonly client: KubernetesClient
  readonly processes: Processes
  /** Images besides those that every sandbox has. */
  readonly images?: ImageTable
  /** No pod is given longer than this to end, whatever it asks for. */
  readonly longestGraceMs?: number
}

/** A running stand-in node. */
export interface StandInNode {
  readonly nodeName: string
  /** Ends its pods at once and forgets them. */
  stop(): Promise<void>
}

const nodeName = "stand-in"
const labels = {
  "kubernetes.io/hostname": nodeName,
  "kubernetes.io/os": "linux",
  "kubernetes.io/arch": process.arch === "x64" ? "amd64" : process.arch,
  "topology.kubernetes.io/zone": "zone-a",
  "topology.kubernetes.io/region": "region-a",
}
const heartbeatMs = 10_000
const nodePath = `/api/v1/nodes/${nodeName}`

/** Registers the node and runs whatever pods there are and will be. */
export const startStandInNode = async (options: StandInNodeOptions): Promise<StandInNode> => {
  const { client, processes } = options
  const addresses = await PodAddresses.claim()
  const host: PodHost = {
    client,
    processes,
    images: { ...standInImages, ...options.images },
    nodeName,
    nodeIp: addresses.nodeIp,
    longestGraceMs: options.longestGraceMs ?? 5_000,
  }
  await register(client, addresses.nodeIp)
  const heart = setInterval(() => void beat(client).catch(() => {}), heartbeatMs)
  heart.unref()

  const pods = new Map<string, { readonly pod: StandInPod; readonly address: string }>()
  const placing = new Set<string>()
  const onChange = (change: Change<Pod>): void => {
    const pod = change.object
    const { uid } = pod.metadata
    if (uid === undefined) return
    if (change.kind === "gone") {
      const entry = pods.get(uid)
      pods.delete(uid)
      placing.delete(uid)
      if (entry !== undefined) void entry.pod.vanish().then(() => addresses.release(entry.address))
      return
    }
    if (pod.spec.nodeName === undefined) {
      if (!placing.has(uid) && pod.metadata.deletionTimestamp === undefined) {
        placing.add(uid)
        void insist(
          () => place(client, pod),
          () => !placing.has(uid),
        )
      }
      return
    }
    const known = pods.get(uid)
    if (known !== undefined) return known.pod.update(pod)
    if (pod.spec.nodeName !== nodeName || pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") return
    const address = addresses.take()
    const started = new StandInPod(host, pod, address)
    pods.set(uid, { pod: started, address })
    started.run().catch((error: unknown) => console.error(`stand-in pod ${pod.metadata.name}:`, error))
    started.update(pod)
  }
  const reflector = await Reflector.start<Pod>(client, "/api/v1/pods", onChange)

  return {
    nodeName,
    stop: async () => {
      clearInterval(heart)
      placing.clear()
      await reflector.close()
      await Promise.all([...pods.values()].map(({ pod }) => pod.vanish()))
      addresses.close()
    },
  }
}

const register = async (client: KubernetesClient, nodeIp: string): Promise<void> => {
  await client.apply({ apiVersion: "v1", kind: "Node", metadata: { name: nodeName, labels } })
  const now = new Date().toISOString()
  await client.patch(`${nodePath}/status`, {
    status: {
      capacity,
      allocatable: capacity,
      addresses: [
        { type: "InternalIP", address: nodeIp },
        { type: "Hostname", address: nodeName },
      ],
      nodeInfo: {
        architecture: labels["kubernetes.io/arch"],
        bootID: "",
        containerRuntimeVersion: "stand-in://1",
        kernelVersion: "",
        kubeProxyVersion: "",
        kubeletVersion: "v0.0.0-stand-in",
        machineID: "",
        operatingSystem: "linux",
        osImage: "local processes",
        systemUUID: "",
      },
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "StandInReady",
          message: "pods run as local processes",
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        },
      ],
    },
  })
  await client.apply({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: nodeName, namespace: "kube-node-lease" },
    ...leaseSpec(),
  })
}

const leaseSpec = (): object => ({
  // The API wants microseconds.
  spec: { holderIdentity: nodeName, leaseDurationSeconds: 40, renewTime: new Date().toISOString().replace("Z", "000Z") },
})

/** A node whose lease is not renewed is tainted and its pods are evicted. */
const beat = (client: KubernetesClient): Promise<unknown> =>
  client.patch(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`, leaseSpec())

/** The scheduler's part: binds the pod, or says why not. */
const place = async (client: KubernetesClient, pod: Pod): Promise<void> => {
  const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`
  const why = unschedulable(pod, labels)
  if (why === undefined) {
    await client.create(`${path}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: pod.metadata.name, uid: pod.metadata.uid },
      target: { apiVersion: "v1", kind: "Node", name: nodeName },
    })
    return
  }
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: why,
    lastTransitionTime: new Date().toISOString(),
  }
  await client.patch(`${path}/status`, { status: { conditions: [condition] } }, "strategic")
}
