/** The Ready condition after a step failed. */
import type { Ready } from "../engine/conditions.ts"
import { failedReady } from "../engine/failure.ts"
import type { Failure } from "../engine/plan.ts"
import { rejectedReason } from "./conditions.ts"

/** undefined for a conflict: somebody wrote first, and the next pass, at once, sees what. */
export const failureReady = ({ error, action }: Failure): Ready | undefined => {
  if (error._tag === "Conflict" || error._tag === "Forbidden" || error.server === "kubernetes") return failedReady(error)
  if (error._tag === "Unavailable") return { status: "False", reason: callReason(error), message: error.detail, reconciling: true }
  return action._tag === "Register"
    ? { status: "False", reason: rejectedReason, message: error.detail, stalled: true }
    : { status: "False", reason: "AdminCallRejected", message: error.detail, reconciling: true }
}

/** Rejected: the server answered, and not with a success. Failed: there was no answer, or a success that made no sense. */
export const callReason = ({ status = 0 }: { readonly status?: number }): "AdminCallRejected" | "AdminCallFailed" =>
  status >= 300 ? "AdminCallRejected" : "AdminCallFailed"

/** An autoscaler that is refused leaves its version as large as it is, and holds nothing up. */
export const isAutoscaling = ({ action }: Failure): boolean =>
  action._tag === "Apply" && action.object.ref.kind === "HorizontalPodAutoscaler"
