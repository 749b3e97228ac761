/** From what a pass saw and did to what people see: status, events, and when to look again. Pure (operator.md §5). */
import { conditions, type Ready, reconciliation, suspended } from "../engine/conditions.ts"
import { failedReady } from "../engine/failure.ts"
import type { Announcement, Conclusion } from "../engine/kind.ts"
import type { Outcome, Plan, Report } from "../engine/plan.ts"
import { delays, policyOf } from "../engine/policies.ts"
import type { EnvironmentSettings } from "./given.ts"
import { notAvailable } from "./roll-out.ts"
import type { Snapshot } from "./snapshot.ts"
import type { State, Verdict } from "./verdict.ts"

export const conclude = (snapshot: Snapshot, plan: Plan<Verdict>, report: Report, settings: EnvironmentSettings): Conclusion => {
  const { state } = plan.verdict
  const ready = readyNow(snapshot, state, report, settings)
  return {
    status: state._tag === "Suspended" ? suspension(snapshot) : ready === undefined ? undefined : status(snapshot, ready),
    announcements: announcements(snapshot, state, ready),
    requeue: requeue(plan, report, ready),
    outcome: outcome(state, report, ready, settings),
  }
}

/** undefined: what was written before still says it best. */
const readyNow = (
  snapshot: Snapshot,
  state: State,
  { failures: [failure], outcomes }: Report,
  { operatorNamespace }: EnvironmentSettings,
): Ready | undefined => {
  if (failure !== undefined) return failedReady(failure.error)
  switch (state._tag) {
    case "Suspended":
    case "Deleted":
      return undefined
    case "Invalid":
      return { status: "Unknown", reason: "FailedReconcile", message: state.message, stalled: true }
    case "SecretNotFound":
      return missing(state._tag, `no Secret ${state.name} with an entry ${state.key} in namespace ${operatorNamespace}`)
    case "SecretKeyNotFound":
      return missing(state._tag, `Secret ${state.name} in namespace ${operatorNamespace} has no entry ${state.key}, or an empty one`)
    case "Applied":
      return pods(snapshot, outcomes)
  }
}

/** It comes back by itself with the Secret, but no sooner. */
const missing = (reason: string, what: string): Ready => ({
  status: "False",
  reason,
  message: `${what}: it must hold the API token; until then the pods of the tunnel are left as they are`,
  stalled: true,
})

const pods = ({ deployment }: Snapshot, outcomes: ReadonlyArray<Outcome>): Ready => {
  // What the pass has just changed is not what the pods are yet.
  const down = outcomes.some(changesPods)
    ? { message: "the Deployment of the tunnel has just been changed", moving: true }
    : notAvailable(deployment)
  return down === undefined
    ? { status: "True", reason: "Reconciled", message: "all pods of the tunnel are available" }
    : { status: "False", reason: "TunnelNotAvailable", message: down.message, reconciling: down.moving }
}

const changesPods = (outcome: Outcome): boolean =>
  outcome._tag === "Applied" && outcome.changed && outcome.action._tag === "Apply" && outcome.action.object.ref.kind === "TunnelDeployment"

type Status = NonNullable<Conclusion["status"]>

const status = ({ environment, now }: Snapshot, ready: Ready): Status => {
  const { metadata, status: before } = environment
  const { generation = 0 } = metadata
  return {
    observedGeneration: generation,
    reconciliation: reconciliation(before?.reconciliation, ready),
    conditions: conditions(before?.conditions, ready, generation, now),
  }
}

const suspension = ({ environment: { status: before }, now }: Snapshot): Status => ({
  ...before,
  reconciliation: "Disabled",
  conditions: suspended(before?.conditions, now),
})

const requeue = (plan: Plan<Verdict>, { failures: [failure] }: Report, ready: Ready | undefined): Conclusion["requeue"] => {
  if (failure !== undefined) return { _tag: "Retry", policy: policyOf(failure.error) }
  if (ready?.reason === "TunnelNotAvailable") return { _tag: "After", delay: delays.notReady, why: "pods" }
  return plan.requeue
}

const outcome = (state: State, { failures: [failure] }: Report, ready: Ready | undefined, { vocabulary }: EnvironmentSettings): string => {
  if (failure !== undefined) return failure.error._tag === "Conflict" ? "waiting" : "KubeError"
  if (state._tag === "SecretNotFound" || state._tag === "SecretKeyNotFound") return state._tag
  if (state._tag === "Invalid")
    return state.error === "InvalidSigningKey" ? "InvalidSigningKeyError" : vocabulary.errors.invalidConfiguration
  return ready === undefined || ready.status === "True" ? "ok" : "waiting"
}

/** Waiting is no news; what a person must see to is. */
const announcements = ({ environment }: Snapshot, state: State, ready: Ready | undefined): ReadonlyArray<Announcement> => {
  if (state._tag === "Deleted")
    return [{ type: "Normal", reason: "DeleteRequested", note: "the tunnel is garbage-collected now", action: "Deleting" }]
  if (ready === undefined || !alarming.has(ready.reason)) return []
  const before = environment.status?.conditions?.find(({ type }) => type === "Ready")
  const news = before?.reason !== ready.reason || before.message !== ready.message
  return news ? [{ type: "Warning", reason: ready.reason, note: ready.message, action: "Reconcile" }] : []
}

const alarming: ReadonlySet<string> = new Set(["FailedReconcile", "SecretNotFound", "SecretKeyNotFound"])
