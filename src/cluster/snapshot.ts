/** Everything one decision about a server needs. */
import type { ServiceCluster } from "../resources/generated/service-cluster.ts"
import type { PersistentVolumeClaim, Pod, StatefulSet } from "../resources/kubernetes.ts"
import type { KubernetesObject } from "../resources/meta.ts"

export interface Snapshot {
  /** Epoch milliseconds. */
  readonly now: number
  readonly cluster: ServiceCluster
  readonly namespace: NamespaceState
  readonly statefulSet: StatefulSet | undefined
  readonly claims: ReadonlyArray<PersistentVolumeClaim>
  readonly configMaps: ReadonlyArray<KubernetesObject>
  readonly policies: ReadonlyArray<KubernetesObject>
  /** Asked for only when they have not been ready for a while, or when there is no StatefulSet to tell of them. At most twenty. */
  readonly pods: ReadonlyArray<Pod>
  /** Phase of the first pod, which is the one that is asked to provision; undefined when nobody needs to know, or there is none. */
  readonly firstPod: string | undefined
}

/** `Foreign`: somebody else's, which is used and never written to. */
export type NamespaceState = "Absent" | "Ours" | "Foreign" | "Terminating"
