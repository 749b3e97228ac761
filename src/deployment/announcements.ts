/** From what a pass saw and did to the events that people read. Pure. */
import type { Ready } from "../engine/conditions.ts"
import type { Announcement } from "../engine/kind.ts"
import type { Report } from "../engine/plan.ts"
import { delays } from "../engine/policies.ts"
import { forcingReason, readyCondition, rejectedReason } from "./conditions.ts"
import { downSince } from "./progress.ts"
import { overdueReason } from "./ready.ts"
import type { Snapshot } from "./snapshot.ts"
import { isAutoscaling } from "./failure.ts"
import type { Verdict } from "./verdict.ts"

/** Reasons that come with a Warning when they appear or when their text changes. Waiting for pods is no news. */
const alarming = new Set([
  "FailedReconcile",
  "AdminCallFailed",
  "AdminCallRejected",
  rejectedReason,
  "ForeignDeployment",
  "NotLatest",
  "DeploymentInUse",
  "DeletionDrainOverdue",
])

/** Reasons that only a deletion gives: with one of them there it has been announced. */
const deletionReasons = new Set(["DeploymentInUse", "DeploymentDraining", "DeletionDrainOverdue", forcingReason])

/** Pods that are not up after a minute will not come up by waiting: the template asks for something that is not to be had. */
const stuck = ({ deployment, now, replicaSets }: Snapshot, { state, wanted }: Verdict): boolean => {
  const live = replicaSets.find(({ metadata }) => metadata.name === wanted?.name)
  return (
    state._tag === "NotReady" &&
    state.gate.reason.startsWith("ReplicaSetPod") &&
    live !== undefined &&
    now - downSince(deployment, live, now) >= delays.notReady
  )
}

/** What people should be told of this pass. Repeats are counted by whoever sends it. */
export const announcements = (
  snapshot: Snapshot,
  verdict: Verdict,
  ready: Ready | undefined,
  report: Report,
): ReadonlyArray<Announcement> => {
  const registered = report.outcomes.find((outcome) => outcome._tag === "Registered")
  const { deployment } = snapshot
  const before = readyCondition(deployment)
  const deleting = deployment.metadata.deletionTimestamp !== undefined
  const action: Announcement["action"] = deleting ? "Deleting" : "Reconcile"
  const news = ready !== undefined && (before?.reason !== ready.reason || before.message !== ready.message)
  const supersedes = registered?.action._tag === "Register" ? registered.action.supersedes : undefined
  return [
    ...(deleting && !deletionReasons.has(before?.reason ?? "")
      ? [
          {
            type: "Normal",
            reason: "DeleteRequested",
            note: "versions are removed as soon as they have no unfinished invocations",
            action,
          } as const,
        ]
      : []),
    ...(registered !== undefined && supersedes !== undefined && registered.misrouted.length === 0
      ? [
          {
            type: "Normal",
            reason: "Promoted",
            note: `${verdict.wanted?.name ?? ""} (${registered.id}) serves new invocations again, in place of ${supersedes}`,
            action,
          } as const,
        ]
      : []),
    ...(news && alarming.has(ready.reason)
      ? [{ type: "Warning", reason: ready.reason, note: `${ready.message}${instance(verdict)}`, action } as const]
      : []),
    ...(ready !== undefined && stuck(snapshot, verdict)
      ? [
          {
            type: "Warning",
            reason: overdue(verdict) ? overdueReason : ready.reason,
            note: `spec.template: ${ready.message}`,
            action,
          } as const,
        ]
      : []),
    ...forcedOut(verdict, report),
    ...report.failures.filter(isAutoscaling).map(
      ({ error }) =>
        ({
          type: "Warning",
          reason: "AutoscalingApplyFailed",
          note: `spec.autoscaling: ${error.detail}`,
          action,
        }) as const,
    ),
    ...verdict.warnings.map(({ reason, note }) => ({ type: "Warning", reason, note, action }) as const),
  ]
}

/** One that is paused never finishes by itself. In the event only: in the condition each one that finishes would be a write. */
const instance = ({ state }: Verdict): string => {
  const example = state._tag === "DeletionBlocked" ? state.by.find((version) => version.example !== undefined)?.example : undefined
  return example === undefined ? "" : `. One of them is ${example}`
}

const overdue = ({ state }: Verdict): boolean => state._tag === "NotReady" && state.overdue

/** What was taken from people by force, by name; said once it has happened. */
const forcedOut = ({ forced }: Verdict, { outcomes }: Report): ReadonlyArray<Announcement> => {
  const gone = forced.filter(({ id }) =>
    outcomes.some(({ _tag, action }) => _tag === "Done" && action._tag === "Forget" && action.deploymentId === id),
  )
  if (gone.length === 0) return []
  const lost = gone.map(({ example, id = "", pinned, unpinned, version }) => {
    const counts = unpinned === 0 ? `${pinned} pinned invocations` : `${pinned} pinned, ${unpinned} unpinned invocations`
    return `${version} (${counts}) registered as ${id}${example === undefined ? "" : `, such as ${example}`}`
  })
  return [
    {
      type: "Warning",
      reason: "ForcedDeletion",
      note: `removed with unfinished invocations: ${lost.toSorted().join(", ")}`,
      action: "Deleting",
    },
  ]
}
