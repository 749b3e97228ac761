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
        ? { status: "False", reason: rejectedReason, message: `${error.code} ${error.detail}`.trimStart(), stalled: true }
        : { status: "False", reason: "AdminCallRejected", message: `${error.status} ${error.detail}`, reconciling: true }
    case "Unavailable":
      if (error.server === "kubernetes") return unknown(error.detail)
      return {
        status: "False",
        reason: error.status === undefined ? "AdminCallFailed" : "AdminCallRejected",
        message: `${error.status === undefined ? "" : `${error.status} `}${error.detail}`,
        reconciling: true,
      }
  }
}

const unknown = (message: string): Ready => ({ status: "Unknown", reason: "FailedReconcile", message, reconciling: true })
