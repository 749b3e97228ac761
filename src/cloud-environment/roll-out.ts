/** How far the pods of a tunnel are. */
import type { Deployment } from "../resources/kubernetes.ts"

export interface NotAvailable {
  readonly message: string
  /** It goes on without anybody's help. */
  readonly moving: boolean
}

/** undefined: all pods are there, available, and of the newest template. */
export const notAvailable = (live: Deployment | undefined): NotAvailable | undefined => {
  const status = live?.status
  if (live === undefined || status === undefined || (status.observedGeneration ?? 0) < (live.metadata.generation ?? 0))
    return { message: "the Deployment of the tunnel has not been looked at by its controller yet", moving: true }
  const desired = live.spec.replicas ?? 1
  if (desired === 0)
    return { message: "the tunnel is scaled to zero pods: nothing reaches this Kubernetes cluster through it", moving: false }
  const { availableReplicas = 0, replicas = 0, updatedReplicas = 0 } = status
  const what =
    updatedReplicas < desired
      ? `${updatedReplicas} of ${desired} pods are of the newest template`
      : availableReplicas < desired
        ? `${availableReplicas} of ${desired} pods are available`
        : replicas > updatedReplicas
          ? `${replicas - updatedReplicas} pods of before are still there`
          : undefined
  if (what === undefined) return undefined
  const { name, namespace = "" } = live.metadata
  const trouble = status.conditions?.find(isTrouble)?.message
  const why = trouble === undefined ? "" : ` (${trouble})`
  return { message: `${what}${why}; see kubectl describe pods -n ${namespace} -l app.kubernetes.io/instance=${name}`, moving: true }
}

/** Pods that are refused, by a quota for example, or that take longer than they may. */
const isTrouble = ({ reason, status, type }: { readonly type: string; readonly status: string; readonly reason?: string }): boolean =>
  (type === "ReplicaFailure" && status === "True") || (type === "Progressing" && reason === "ProgressDeadlineExceeded")
