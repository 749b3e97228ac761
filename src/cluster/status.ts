/** From what a pass saw and did to what people see: status, events, and when to look again. Pure (operator.md §2.14). */
import { conditions, type Ready, reconciliation, suspended } from "../engine/conditions.ts"
import { failedReady } from "../engine/failure.ts"
import type { Announcement, Conclusion } from "../engine/kind.ts"
import type { Failure, Outcome, Plan, Report } from "../engine/plan.ts"
import { delays, policyOf } from "../engine/policies.ts"
import type { ClusterSettings } from "./given.ts"
import { callsForALook, closerLook, podsNotReady } from "./roll-out.ts"
import type { Snapshot } from "./snapshot.ts"
import type { State, Verdict } from "./verdict.ts"

export const conclude = (snapshot: Snapshot, plan: Plan<Verdict>, report: Report, { vocabulary }: ClusterSettings): Conclusion => {
  const { state } = plan.verdict
  const [failure] = report.failures
  const ready = readyNow(snapshot, plan.verdict, report)
  const announced = announcements(snapshot, plan.verdict, ready)
  const invalid =
    state._tag === "Invalid"
      ? state.error === "InvalidSigningKey"
        ? "InvalidSigningKeyError"
        : vocabulary.errors.invalidConfiguration
      : undefined
  return {
    status: state._tag === "Suspended" ? suspension(snapshot) : ready === undefined ? undefined : status(snapshot, ready, report),
    announcements: announced,
    requeue: requeue(snapshot, plan, failure, ready),
    outcome: failure === undefined ? (invalid ?? (ready === undefined || ready.status === "True" ? "ok" : "waiting")) : label(failure),
  }
}

/** undefined: what was written before still says it best. */
const readyNow = (snapshot: Snapshot, { state }: Verdict, report: Report): Ready | undefined => {
  const [failure] = report.failures
  if (failure !== undefined) return failed(failure)
  switch (state._tag) {
    case "Suspended":
    case "Deleted":
      return undefined
    case "Invalid":
      return { status: "Unknown", reason: "FailedReconcile", message: state.message, stalled: true }
    case "NamespaceTerminating":
      return waiting(
        "NamespaceTerminating",
        `namespace ${snapshot.cluster.metadata.name} is being deleted; everything is made again when it is gone`,
      )
    case "ClaimNotBound":
      return waiting(
        "PersistentVolumeClaimNotBound",
        `claim ${state.claim} is ${state.phase || "new"}, not Bound; see kubectl describe pvc -n ${snapshot.cluster.metadata.name} ${state.claim}`,
      )
    case "Replacing":
      return waiting("StatefulSetNoStatus", `the StatefulSet is made anew under its pods: ${state.why}`)
    case "PodNotRunning":
      return waiting(
        "ProvisioningPodNotRunning",
        `the first pod is ${state.phase ?? "not there yet"}; the cluster is provisioned as soon as it is Running`,
      )
    case "Provisioning":
      return waiting("Provisioned", "the cluster has just been provisioned; its pods become ready now")
    case "ScaleDownHeld":
      return held(state, snapshot, report)
    case "Applied":
      return pods(snapshot, report, snapshot.cluster.spec.compute.replicas ?? 1)
  }
}

/** A server with more nodes than asked for serves all the same: nobody who registers with it has to wait. */
const held = ({ message, reason }: Extract<State, { readonly _tag: "ScaleDownHeld" }>, snapshot: Snapshot, report: Report): Ready => {
  const ready = pods(snapshot, report, snapshot.statefulSet?.spec.replicas ?? 1)
  if (ready.status !== "True") return ready
  return { status: "True", reason, message, ...(reason === "ScalingDown" ? { reconciling: true } : { stalled: true }) }
}

const pods = ({ pods: asked, statefulSet }: Snapshot, { outcomes }: Report, wanted: number): Ready => {
  // What the pass has just changed is not what the pods are yet.
  if (outcomes.some(changesPods)) return waiting("StatefulSetNoStatus", "the StatefulSet has just been changed")
  const down = podsNotReady(statefulSet, wanted, asked)
  return down === undefined ? { status: "True", reason: "Reconciled", message: "all pods are ready" } : waiting(down.reason, down.message)
}

const changesPods = (outcome: Outcome): boolean =>
  outcome._tag === "Applied" && outcome.changed && outcome.action._tag === "Apply" && outcome.action.object.ref.kind === "StatefulSet"

const waiting = (reason: string, message: string): Ready => ({ status: "False", reason, message, reconciling: true })

/** A node that does not answer yet is waited for; everything else is the API server's word. */
const failed = ({ action, error }: Failure): Ready | undefined =>
  action._tag === "Provision" && error._tag !== "Conflict" ? waiting("ProvisioningFailed", error.detail) : failedReady(error)

type Status = NonNullable<Conclusion["status"]>

const status = ({ cluster, now }: Snapshot, ready: Ready, report: Report): Status => {
  const { metadata, status: before } = cluster
  const { generation = 0 } = metadata
  const provisioned = before?.provisioned === true || report.outcomes.some(({ action }) => action._tag === "Provision")
  return {
    ...(provisioned ? { provisioned } : {}),
    observedGeneration: generation,
    reconciliation: reconciliation(before?.reconciliation, ready),
    conditions: conditions(before?.conditions, ready, generation, now),
  }
}

const suspension = ({ cluster: { status: before }, now }: Snapshot): Status => ({
  ...before,
  reconciliation: "Disabled",
  conditions: suspended(before?.conditions, now),
})

const requeue = (
  snapshot: Snapshot,
  plan: Plan<Verdict>,
  failure: Failure | undefined,
  ready: Ready | undefined,
): Conclusion["requeue"] => {
  const { _tag } = plan.verdict.state
  if (failure?.action._tag === "Provision") return { _tag: "After", delay: delays.soon, why: "provisioning" }
  if (failure !== undefined) return { _tag: "Retry", policy: policyOf(failure.error) }
  if ((_tag !== "Applied" && _tag !== "ScaleDownHeld") || ready?.status === "True") return plan.requeue
  // Once more soon, to ask the pods why; then they tell by themselves.
  return { _tag: "After", delay: callsForALook(snapshot.cluster, snapshot.now) ? delays.notReady : closerLook, why: "pods" }
}

const label = ({ action, error }: Failure): string =>
  error._tag === "Conflict" ? "waiting" : action._tag === "Provision" ? "ProvisioningFailed" : "KubeError"

/** Waiting is no news; what a person must see to is. */
const announcements = ({ cluster }: Snapshot, { state }: Verdict, ready: Ready | undefined): ReadonlyArray<Announcement> => {
  if (state._tag === "Deleted")
    return [
      {
        type: "Normal",
        reason: "DeleteRequested",
        note: "everything of this cluster is garbage-collected now, and its volumes with the namespace if the operator made it",
        action: "Deleting",
      },
    ]
  const before = cluster.status?.conditions?.find(({ type }) => type === "Ready")
  const news = ready !== undefined && (before?.reason !== ready.reason || before.message !== ready.message)
  const alarming = ready !== undefined && ["FailedReconcile", "ProvisioningFailed", "ScaleDownRefused"].includes(ready.reason)
  return news && alarming ? [{ type: "Warning", reason: ready.reason, note: ready.message, action: "Reconcile" }] : []
}
