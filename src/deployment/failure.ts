/** The Ready condition after a step failed. */
import type { Ready } from "../engine/conditions.ts"
import type { Failure } from "../engine/plan.ts"
import { rejectedReason } from "./conditions.ts"

/** undefined for a conflict: somebody wrote first, and the next pass, at once, sees what. */
export const failureReady = ({ error, action }: Failure): Ready | undefined => {
  switch (error._tag) {
    case "Conflict":
      return undefined
    case "Forbidden":
      return unknown(`the operator may not ${error.verb} ${error.subject}; grant it that right: ${error.detail}`)
    case "Rejected":
      if (error.server === "kubernetes") return unknown(error.detail)
      return action._tag === "Register"
        ? { status: "False", reason: rejectedReason, message: error.detail, stalled: true }
        : { status: "False", reason: "AdminCallRejected", message: error.detail, reconciling: true }
    case "Unavailable":
      return error.server === "kubernetes"
        ? unknown(error.detail)
        : { status: "False", reason: callReason(error), message: error.detail, reconciling: true }
  }
}

/** Rejected: the server answered, and not with a success. Failed: there was no answer, or a success that made no sense. */
export const callReason = ({ status = 0 }: { readonly status?: number }): "AdminCallRejected" | "AdminCallFailed" =>
  status >= 300 ? "AdminCallRejected" : "AdminCallFailed"

const unknown = (message: string): Ready => ({ status: "Unknown", reason: "FailedReconcile", message, reconciling: true })

/** An autoscaler that is refused leaves its version as large as it is, and holds nothing up. */
export const isAutoscaling = ({ action }: Failure): boolean =>
  action._tag === "Apply" && action.object.ref.kind === "HorizontalPodAutoscaler"
