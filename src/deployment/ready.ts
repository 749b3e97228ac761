/** The Ready condition for each state. Messages are functions of state: no elapsed times, lists sorted, numbers that stand still. */
import type { Ready } from "../engine/conditions.ts"
import type { Snapshot } from "./snapshot.ts"
import { forcingReason, rejectedReason } from "./conditions.ts"
import { rfc3339NotBefore } from "../resources/time.ts"
import { draining, type Older, type Verdict } from "./verdict.ts"

export const readyOf = (verdict: Verdict, { deployment }: Snapshot): Ready => {
  const { deletion, state, wanted } = verdict
  const name = wanted?.name ?? deployment.metadata.name
  switch (state._tag) {
    case "Suspended":
      return { status: "Unknown", reason: "Disabled", message: "switched off before it was ever looked at" }
    case "Invalid":
      return { status: "Unknown", reason: "FailedReconcile", message: `${state.field}: ${state.message}`, stalled: true }
    case "Starting":
      return {
        status: "False",
        reason: "ReplicaSetNoStatus",
        message: `ReplicaSet ${name} has not been looked at by its controller yet`,
        reconciling: true,
      }
    case "Collision":
      return {
        status: "False",
        reason: "HashCollision",
        message: `ReplicaSet ${name} holds another template or belongs to somebody else; another name is tried`,
        reconciling: true,
      }
    case "NotReady":
      return state.overdue
        ? { status: "False", ...state.gate, stalled: overdueReason }
        : { status: "False", ...state.gate, reconciling: state.gate.reason !== "ReplicaSetScaledToZero" }
    case "Asking":
    case "Registering":
      return { status: "False", reason: "NotLatest", message: `${name} is being registered`, reconciling: true }
    case "Deployed":
      return state.pods === undefined
        ? { status: "True", reason: "Deployed", message: `${name} is deployed${older(draining(verdict))}` }
        : { status: "False", ...state.pods, reconciling: true }
    case "Foreign": {
      const holders = state.holders.map(({ endpoint, id, service }) => `${service} -> ${id} at ${endpoint}`)
      return {
        status: "False",
        reason: "ForeignDeployment",
        message: `registered outside this object: ${holders.join(", ")}. Nothing is changed until that registration is gone: two owners of one service take it from each other`,
      }
    }
    case "RejectedBefore":
      return { status: "False", reason: rejectedReason, message: state.message, stalled: true }
    case "Unreachable":
      return {
        status: "False",
        reason: state.missing.rejected ? "AdminCallRejected" : "AdminCallFailed",
        message:
          deletion?.phase === "Forcing"
            ? `${state.missing.because}. By force all versions go, work or not, as soon as it answers`
            : state.missing.because,
        reconciling: true,
      }
    case "DeletionBlocked": {
      const waits = `waits for ${state.by.map(work).toSorted().join(", ")}`
      return deletion?.phase === "Overdue"
        ? {
            status: "False",
            reason: "DeletionDrainOverdue",
            message: `still ${waits}, although the time of spec.restate.drain.timeoutSeconds is over since ${rfc3339NotBefore(deletion.deadline ?? 0)}. ${waysOut}`,
            reconciling: true,
          }
        : {
            status: "False",
            reason: "DeploymentInUse",
            message: `${waits}. ${waysOut}`,
            reconciling: true,
          }
    }
    case "DeletionDraining":
      return {
        status: "False",
        reason: "DeploymentDraining",
        message: `no unfinished invocations; the last version goes at ${rfc3339NotBefore(state.until)}`,
        reconciling: true,
      }
    case "Forcing":
      return {
        status: "False",
        reason: forcingReason,
        message:
          deletion?.policy === "force"
            ? "all versions are removed now, with their unfinished invocations: spec.restate.deletePolicy is force"
            : "all versions are removed now, with their unfinished invocations: the time of spec.restate.drain is over",
        reconciling: true,
      }
    case "Deleted":
      return { status: "False", reason: "DeploymentDraining", message: "no version is left", reconciling: true }
  }
}

/** The version has had spec.progressDeadlineSeconds to come up. */
export const overdueReason = "ProgressDeadlineExceeded"

const older = (versions: ReadonlyArray<Older>): string => {
  const parts = versions.map((version) =>
    version.removeAt === undefined ? work(version) : `${version.version} (until ${rfc3339NotBefore(version.removeAt)})`,
  )
  return parts.length === 0 ? "" : `; draining ${parts.toSorted().join(", ")}`
}

const waysOut =
  "Let the invocations finish, or cancel them on the server; spec.restate.deletePolicy force would remove the versions under them, and they could never finish"

const work = ({ version, pinned, state, unpinned }: Older): string =>
  state === "Unknown"
    ? `${version} (its server does not say what is unfinished)`
    : pinned + unpinned === 0
      ? `${version} (still the latest for one of its services)`
      : `${version} (${calm(pinned)} pinned, ${calm(unpinned)} unpinned invocations)`

const calm = (count: number): string => (count < 10 ? String(count) : `${rounded(count)} or fewer`)

/**
 * Exact up to 9, then one significant digit, rounded up: 37 → 40. Every new number is a write, and a version that drains
 * from 10,000 must not cost 10,000 of them.
 */
export const rounded = (count: number): number => {
  if (count < 10) return count
  const unit = 10 ** Math.floor(Math.log10(count))
  return Math.ceil(count / unit) * unit
}
