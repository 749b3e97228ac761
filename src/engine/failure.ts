/** The Ready condition after the API server refused something, or did not answer; the same for every kind. */
import type { WriteError } from "../errors.ts"
import type { Ready } from "./conditions.ts"

/** undefined for a conflict: somebody wrote first, and the next pass, at once, sees what. */
export const failedReady = (error: WriteError): Ready | undefined => {
  switch (error._tag) {
    case "Conflict":
      return undefined
    case "Forbidden":
      return unknown(`the operator may not ${error.verb} ${error.subject}; grant it that right: ${error.detail}`)
    case "Rejected":
    case "Unavailable":
      return unknown(error.detail)
  }
}

const unknown = (message: string): Ready => ({ status: "Unknown", reason: "FailedReconcile", message, reconciling: true })
