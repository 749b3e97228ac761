/** How long pods that are not up have been so, and what that calls for: a closer look after 10 s, a verdict after 10 min. */
import { delays } from "../engine/policies.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { ReplicaSet } from "../resources/kubernetes.ts"
import { readyCondition } from "./conditions.ts"
import type { NotReady } from "./gate.ts"
import type { Snapshot } from "./snapshot.ts"

/** Milliseconds. Sooner, pods are usually just starting. */
const closerLook = 10_000

/** Whether the pods have been down for so long that they should be asked why. */
export const callsForALook = (deployment: ServiceDeployment, live: ReplicaSet, now: number): boolean => {
  const ready = readyCondition(deployment)
  return (
    deployment.spec.replicas !== 0 &&
    ready?.reason?.startsWith("ReplicaSet") === true &&
    (live.status?.readyReplicas ?? 0) < (live.spec.replicas ?? 1) &&
    now - downSince(deployment, live, now) >= closerLook
  )
}

/** When to look again, in milliseconds, and whether the version has taken longer than spec.progressDeadlineSeconds. */
export const pace = (
  { deployment, now }: Snapshot,
  live: ReplicaSet,
  gate: NotReady,
): { readonly again: number; readonly overdue: boolean } => {
  if (!isAboutPods(gate)) return { again: delays.notReady, overdue: false }
  const waited = now - downSince(deployment, live, now)
  const deadline = (deployment.spec.progressDeadlineSeconds ?? 600) * 1000
  const ahead = [closerLook, deadline].filter((moment) => moment > waited).map((moment) => moment - waited)
  return { again: Math.max(delays.floor, Math.min(delays.notReady, ...ahead)), overdue: waited >= deadline }
}

const isAboutPods = ({ reason }: NotReady): boolean => reason.startsWith("ReplicaSet") && reason !== "ReplicaSetScaledToZero"

/**
 * Epoch milliseconds: since this version is the current one, and since the object is not ready, whichever came last. An
 * older CRD drops the list of versions; then the age of the ReplicaSet has to do.
 */
export const downSince = (deployment: ServiceDeployment, live: ReplicaSet, now: number): number => {
  const ready = readyCondition(deployment)
  if (ready === undefined || ready.status === "True") return now
  const entry = deployment.status?.versions?.find(({ name, state }) => name === live.metadata.name && state === "Current")
  const current = Date.parse(entry?.since ?? live.metadata.creationTimestamp ?? "")
  const down = Date.parse(ready.lastTransitionTime ?? "")
  return Math.min(now, Math.max(current || 0, down || 0))
}
