/** The Ready condition for each state. Messages are functions of state: no elapsed times, lists sorted, numbers that stand still. */
import type { Ready } from "../engine/conditions.ts"
import type { Snapshot } from "./snapshot.ts"
import { rejectedReason } from "./conditions.ts"
import { rfc3339 } from "./replica-set.ts"
import type { Draining, Verdict } from "./verdict.ts"

export const readyOf = ({ state, wanted, draining }: Verdict, { deployment }: Snapshot): Ready => {
  const name = wanted?.name ?? deployment.metadata.name
  switch (state._tag) {
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
      return { status: "False", ...state.gate, reconciling: state.gate.reason !== "ReplicaSetScaledToZero" }
    case "Asking":
    case "Registering":
      return { status: "False", reason: "NotLatest", message: `${name} is being registered`, reconciling: true }
    case "Deployed":
      return state.pods === undefined
        ? { status: "True", reason: "Deployed", message: `${name} is deployed${older(draining)}` }
        : { status: "False", ...state.pods, reconciling: true }
    case "Foreign": {
      const holders = state.holders.map(([service, id]) => `${service} -> ${id}`)
      return {
        status: "False",
        reason: "ForeignDeployment",
        message: `registered outside this object: ${holders.join(", ")}. Nothing is changed until that registration is deleted on the server`,
      }
    }
    case "Moving":
      return {
        status: "False",
        reason: "NotLatest",
        message: `${name} has ${calm(state.pinned)} pinned invocations on ${state.from} and moves to the new register target when they are done; a changed template moves at once`,
        reconciling: true,
      }
    case "RejectedBefore":
      return { status: "False", reason: rejectedReason, message: state.message, stalled: true }
    case "Unreachable":
      return {
        status: "False",
        reason: state.missing.rejected ? "AdminCallRejected" : "AdminCallFailed",
        message: state.missing.because,
        reconciling: true,
      }
    case "DeletionBlocked":
      return {
        status: "False",
        reason: "DeploymentInUse",
        message: `waits for ${state.by.map(work).toSorted().join(", ")}. Let the invocations finish, or cancel them on the server`,
        reconciling: true,
      }
    case "DeletionDraining":
      return {
        status: "False",
        reason: "DeploymentDraining",
        message: `no unfinished invocations; the last version goes at ${rfc3339(state.until)}`,
        reconciling: true,
      }
    case "Deleted":
      return { status: "False", reason: "DeploymentDraining", message: "no version is left", reconciling: true }
  }
}

const older = (draining: ReadonlyArray<Draining>): string => {
  const parts = draining.map((version) =>
    version.removeAt === undefined ? work(version) : `${version.version} (until ${rfc3339(version.removeAt)})`,
  )
  return parts.length === 0 ? "" : `; draining ${parts.toSorted().join(", ")}`
}

const work = ({ version, pinned, unpinned }: Draining): string =>
  `${version} (${calm(pinned)} pinned, ${calm(unpinned)} unpinned invocations)`

/**
 * Exact up to 9, then one significant digit, rounded up: 37 → "40 or fewer". Every new text is a write, and a version
 * that drains from 10,000 must not cost 10,000 of them.
 */
const calm = (count: number): string => {
  if (count < 10) return String(count)
  const unit = 10 ** Math.floor(Math.log10(count))
  return `${Math.ceil(count / unit) * unit} or fewer`
}
