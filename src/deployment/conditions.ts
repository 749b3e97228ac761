/** What the status remembers from pass to pass. The status is the only memory that outlives the process. */
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { Condition } from "../resources/meta.ts"

/** The server refused a registration for good (operator.md §9, #199). */
export const rejectedReason = "RegistrationRejected"

/** All versions are removed, work or not. Stands in the status before the first of them goes. */
export const forcingReason = "DeletionForced"

export const readyCondition = (deployment: ServiceDeployment): Condition | undefined =>
  deployment.status?.conditions?.find(({ type }) => type === "Ready")

/**
 * The message of a rejection of this very generation: asking again would only be refused again. CRDs of the other
 * operator prune a condition's observedGeneration, so the status' own counts as well.
 */
export const rejectedBefore = (deployment: ServiceDeployment, now: number): string | undefined => {
  const ready = readyCondition(deployment)
  const seen = ready?.observedGeneration ?? deployment.status?.observedGeneration
  if (ready?.reason !== rejectedReason || seen !== deployment.metadata.generation) return undefined
  // Resyncs come every 5 to 6 minutes, so each half hour has one or two passes that ask again.
  const stalledFor = now - (Date.parse(ready.lastTransitionTime ?? "") || now)
  const again = stalledFor >= secondLook && stalledFor % secondLook < 6 * 60_000
  return again ? undefined : (ready.message ?? "")
}

/** Milliseconds. Whatever stands in the way of a registration may go without the spec being touched. */
const secondLook = 30 * 60_000
