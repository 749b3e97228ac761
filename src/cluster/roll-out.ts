/** How far the pods are (operator.md §2.14). */
import { trouble } from "../engine/pods.ts"
import type { ServiceCluster } from "../resources/generated/service-cluster.ts"
import type { Pod, StatefulSet } from "../resources/kubernetes.ts"

export interface NotReady {
  readonly reason: "StatefulSetNoStatus" | "StatefulSetScaling" | "StatefulSetPodNotReady" | "StatefulSetRollingOut"
  readonly message: string
}

/** All pods are of the newest template. */
export const rolledOut = ({ metadata, status }: StatefulSet): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) && status?.updateRevision === status?.currentRevision

/** Milliseconds. Sooner, pods are usually just starting. */
export const closerLook = 10_000

/** Whether the pods have been down for so long that they should be asked why. */
export const callsForALook = ({ metadata, status }: ServiceCluster, now: number): boolean => {
  const ready = status?.conditions?.find(({ type }) => type === "Ready")
  return (
    metadata.deletionTimestamp === undefined &&
    ready?.status === "False" &&
    ready.reason?.startsWith("StatefulSet") === true &&
    now - (Date.parse(ready.lastTransitionTime ?? "") || now) >= closerLook
  )
}

/** undefined: all pods are there, ready, and of the newest template. */
export const podsNotReady = (live: StatefulSet | undefined, desired: number, pods: ReadonlyArray<Pod> = []): NotReady | undefined => {
  const status = live?.status
  if (live === undefined || status === undefined || (status.observedGeneration ?? 0) < (live.metadata.generation ?? 0))
    return { reason: "StatefulSetNoStatus", message: "the StatefulSet has not been looked at by its controller yet" }
  const { name, namespace = "" } = live.metadata
  const why = trouble(pods)
  const hint = `${why === undefined ? "" : `${why}; `}see kubectl describe pods -n ${namespace} -l app.kubernetes.io/name=${name}`
  const { readyReplicas = 0, replicas = 0, updatedReplicas = 0 } = status
  if (replicas !== desired) return { reason: "StatefulSetScaling", message: `${replicas} pods exist, ${desired} are wanted` }
  if (readyReplicas !== desired)
    return { reason: "StatefulSetPodNotReady", message: `${readyReplicas} of ${desired} pods are ready; ${hint}` }
  if (!rolledOut(live))
    return { reason: "StatefulSetRollingOut", message: `${updatedReplicas} of ${desired} pods are of the newest template; ${hint}` }
  return undefined
}
