/** What the status remembers from pass to pass. The status is the only memory that outlives the process. */
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { Condition } from "../resources/meta.ts"

/** The server refused a registration for good (operator.md §9, #199). */
export const rejectedReason = "RegistrationRejected"

export const readyCondition = (deployment: ServiceDeployment): Condition | undefined =>
  deployment.status?.conditions?.find(({ type }) => type === "Ready")

/**
 * The message of a rejection of this very generation: asking again would only be refused again. CRDs of the other
 * operator prune a condition's observedGeneration, so the status' own counts as well.
 */
export const rejectedBefore = (deployment: ServiceDeployment): string | undefined => {
  const ready = readyCondition(deployment)
  const seen = ready?.observedGeneration ?? deployment.status?.observedGeneration
  return ready?.reason === rejectedReason && seen === deployment.metadata.generation ? (ready.message ?? "") : undefined
}
