/** What the status remembers from pass to pass. The status is the only memory that outlives the process. */
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { Condition } from "../resources/meta.ts"

/** The server refused a registration for good (operator.md §9, #199). */
export const rejectedReason = "RegistrationRejected"

/** All versions are removed, work or not. Stands in the status before the first of them goes. */
export const forcingReason = "DeletionForced"

export const readyCondition = (deployment: ServiceDeployment): Condition | undefined =>
  deployment.status?.conditions?.find(({ type }) => type === "Ready")
