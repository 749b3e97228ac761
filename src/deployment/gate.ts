/** What must be true before a version may be registered, and for Ready afterwards (operator.md §3.8). */
import type { Pod, ReplicaSet } from "../resources/kubernetes.ts"
import { trouble } from "../engine/pods.ts"
import type { Snapshot } from "./snapshot.ts"
import { hashLabel } from "./version.ts"

export interface NotReady {
  readonly reason:
    | "ClusterNotReady"
    | "ReplicaSetNoStatus"
    | "ReplicaSetScaledToZero"
    | "ReplicaSetScaling"
    | "ReplicaSetPodNotReady"
    | "ReplicaSetPodNotAvailable"
  readonly message: string
}

/** undefined: the pods are up. Extra pods (scaling down) are no reason to wait. */
export const podsNotReady = (replicaSet: ReplicaSet, desired: number, pods: ReadonlyArray<Pod>): NotReady | undefined => {
  const { status } = replicaSet
  const name = replicaSet.metadata.name
  if (status === undefined || (status.observedGeneration ?? 0) < (replicaSet.metadata.generation ?? 0)) {
    return { reason: "ReplicaSetNoStatus", message: `ReplicaSet ${name} has not been looked at by its controller yet` }
  }
  const refused = status.conditions?.find(({ type, status: state }) => type === "ReplicaFailure" && state === "True")
  const why = refused === undefined ? trouble(pods) : `${refused.reason ?? ""} ${refused.message ?? ""}`.trimEnd()
  const because = why === undefined ? "" : `: ${why}`
  const short = (reason: NotReady["reason"], have: number | undefined, what: string) =>
    (have ?? 0) < desired
      ? { reason, message: `${have ?? 0} of ${desired} pods of ${name} ${what}${because}; ${hint(replicaSet)}` }
      : undefined
  return (
    short("ReplicaSetScaling", status.replicas, "exist") ??
    short("ReplicaSetPodNotReady", status.readyReplicas, "are ready") ??
    short("ReplicaSetPodNotAvailable", status.availableReplicas, "are available")
  )
}

/** The command that tells why, for people at 3 a.m. */
const hint = ({ metadata }: ReplicaSet): string =>
  `see kubectl describe pods -n ${metadata.namespace ?? ""} -l ${hashLabel}=${metadata.labels?.[hashLabel] ?? ""}`

/** undefined: registering now can succeed. */
export const registrationGate = (
  replicaSet: ReplicaSet,
  desired: number,
  { cluster, pods, routable }: Pick<Snapshot, "cluster" | "pods" | "routable">,
): NotReady | undefined => {
  const name = replicaSet.metadata.name
  if (cluster._tag === "Present" && !cluster.ready)
    return { reason: "ClusterNotReady", message: `spec.restate.register.cluster: "${cluster.name}" is not ready${cluster.message}` }
  if (desired === 0)
    return {
      reason: "ReplicaSetScaledToZero",
      message: "spec.replicas is 0, so there is nothing to register; scale up to register this version",
    }
  const down = podsNotReady(replicaSet, desired, pods)
  if (down !== undefined) return down
  // The pods are ready before kube-proxy knows: registering now would fail with a spurious META0003 (upstream #204).
  return routable.has(name) ? undefined : { reason: "ReplicaSetPodNotReady", message: `Service ${name} does not route to a ready pod yet` }
}
