/** From what a pass saw and did to what people see: status, events, and when to look again. Pure. */
import { conditions, type Ready, reconciliation, suspended as suspendedConditions } from "../engine/conditions.ts"
import type { Conclusion } from "../engine/kind.ts"
import type { Failure, Outcome, Plan, Report, Requeue } from "../engine/plan.ts"
import { delays, policyOf } from "../engine/policies.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { ReplicaSet } from "../resources/kubernetes.ts"
import { isOwnedBy } from "../resources/meta.ts"
import { announcements } from "./announcements.ts"
import { callReason, failureReady, isAutoscaling } from "./failure.ts"
import { readyOf } from "./ready.ts"
import { wantedReplicas } from "./replica-set.ts"
import { labelSelector } from "./selector.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import type { Verdict } from "./verdict.ts"
import { deletionStatus, recalled, versions } from "./version-status.ts"

export const conclude = (snapshot: Snapshot, decided: Plan<Verdict>, report: Report, settings: DeploymentSettings): Conclusion => {
  const plan = { ...decided, verdict: recalled(decided.verdict, snapshot, report) }
  const failure = worst(report)
  const registered = report.outcomes.find((outcome) => outcome._tag === "Registered")
  const collision = plan.verdict.state._tag === "Collision" || collided(snapshot, plan.verdict, report, settings)
  const ready = readyNow(snapshot, plan.verdict, report, collision)
  return {
    status:
      plan.verdict.state._tag === "Suspended"
        ? suspended(snapshot)
        : ready === undefined
          ? undefined
          : status(snapshot, plan.verdict, ready, registered?.id, collision),
    announcements: announcements(snapshot, plan.verdict, ready, report),
    requeue: requeue(snapshot, plan, report, collision),
    outcome: failure === undefined ? (ready?.status === "True" ? "ok" : outcomeOf(plan.verdict, settings)) : label(failure),
  }
}

/** The failure that people read about, and whose pace the key keeps: what can mend itself soonest comes back soonest. */
const worst = ({ failures }: Report): Failure | undefined =>
  failures.filter((failure) => !isAutoscaling(failure)).toSorted((a, b) => urgency.indexOf(a.error._tag) - urgency.indexOf(b.error._tag))[0]

const urgency: ReadonlyArray<Failure["error"]["_tag"]> = ["Unavailable", "Forbidden", "Rejected", "Conflict"]

/** undefined: what was written before still says it best. */
const readyNow = (snapshot: Snapshot, verdict: Verdict, report: Report, collision: boolean): Ready | undefined => {
  const failure = worst(report)
  if (failure !== undefined) return at(verdict, failureReady(failure))
  if (verdict.state._tag === "Deleted" || verdict.state._tag === "Suspended") return undefined
  if (collision) return readyOf({ ...verdict, state: { _tag: "Collision" } }, snapshot)
  const registered = report.outcomes.find((outcome) => outcome._tag === "Registered")
  // The next pass, at once, has the same to say and more: one write instead of two.
  const passing = ["Registering", "Starting", "Asking"].includes(verdict.state._tag)
  if (registered === undefined) return passing ? undefined : at(verdict, readyOf(verdict, snapshot))
  if (registered.misrouted.length === 0) {
    // With older versions about, the next pass, at once, has more to say: one write instead of two.
    return snapshot.replicaSets.length > 1 ? undefined : readyOf({ ...verdict, state: { _tag: "Deployed", pods: undefined } }, snapshot)
  }
  const pairs = registered.misrouted.map(({ service, deploymentId }) => `${service} -> ${deploymentId || "nothing"}`).toSorted()
  return {
    status: "False",
    reason: "NotLatest",
    message: `registered as ${registered.id}, but the server still routes ${pairs.join(", ")}`,
    reconciling: true,
  }
}

/** Which server: an operator has many, and the text of a broken connection names none. */
const at = ({ server }: Verdict, ready: Ready | undefined): Ready | undefined =>
  ready !== undefined && server !== undefined && ready.reason.startsWith("AdminCall")
    ? { ...ready, message: `${server.key}: ${ready.message}` }
    : ready

/**
 * A Create found the name in use by something that is not this very version. One that is has been made by an earlier
 * try whose answer was lost: counting that as a collision would rename every version of the object for ever.
 */
const collided = ({ deployment }: Snapshot, { wanted }: Verdict, report: Report, { vocabulary }: DeploymentSettings): boolean =>
  report.outcomes.some(
    (outcome) =>
      outcome._tag === "Taken" &&
      !(
        isOwnedBy(outcome.object, deployment.metadata.uid) &&
        outcome.object.metadata.annotations?.[vocabulary.annotations.podTemplate] === wanted?.template
      ),
  )

type Status = NonNullable<Conclusion["status"]>

const status = (snapshot: Snapshot, verdict: Verdict, ready: Ready, registered: string | undefined, collision: boolean): Status => {
  const { deployment, replicaSets, now } = snapshot
  const { generation = 0 } = deployment.metadata
  const before = deployment.status
  const live = replicaSets.find(({ metadata }) => metadata.name === verdict.wanted?.name)
  const collisionCount = (before?.collisionCount ?? 0) + (collision ? 1 : 0)
  const deploymentId = registered ?? verdict.id ?? (keepsId(verdict) ? (before?.deploymentId ?? undefined) : undefined)
  const deletion = deletionStatus(snapshot, verdict, ready.message)
  return {
    ...(verdict.wanted === undefined ? carriedCounts(before) : counts(deployment, live)),
    ...(deploymentId ? { deploymentId } : {}),
    ...(collisionCount > 0 ? { collisionCount } : {}),
    ...(verdict.wanted === undefined
      ? before?.labelSelector
        ? { labelSelector: before.labelSelector }
        : {}
      : { labelSelector: labelSelector(deployment, verdict.wanted) }),
    observedGeneration: generation,
    reconciliation: reconciliation(before?.reconciliation, ready),
    versions: versions(snapshot, verdict, deploymentId),
    ...(deletion === undefined || deletion === null ? {} : { deletion }),
    conditions: conditions(before?.conditions, ready, generation, now).map((condition) => ({ ...condition })),
  }
}

/** All as it was, and that nothing is done any more. */
const suspended = ({ deployment: { status: before }, now }: Snapshot): Status => ({
  ...before,
  replicas: before?.replicas ?? 0,
  reconciliation: "Disabled",
  conditions: suspendedConditions(before?.conditions, now).map((condition) => ({ ...condition })),
})

/** Passes that say nothing about the registration leave the id alone; a new version that is not registered has none. */
const keepsId = ({ wanted, state }: Verdict): boolean => wanted === undefined || state._tag === "Deployed" || state._tag === "Unreachable"

/** As the ReplicaSet of the current version says, zeros when it says nothing. */
const counts = (deployment: ServiceDeployment, live: ReplicaSet | undefined): Status => {
  const desired = wantedReplicas(deployment)
  const available = live?.status?.availableReplicas ?? 0
  return {
    replicas: live?.status?.replicas ?? 0,
    desiredReplicas: desired,
    readyReplicas: live?.status?.readyReplicas ?? 0,
    availableReplicas: available,
    unavailableReplicas: Math.max(0, desired - available),
  }
}

const carriedCounts = (before: ServiceDeployment["status"]): Status => {
  const carry = (["desiredReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"] as const).flatMap(
    (field): Array<[string, number]> => {
      const value = before?.[field]
      return typeof value === "number" ? [[field, value]] : []
    },
  )
  return { replicas: before?.replicas ?? 0, ...Object.fromEntries(carry) }
}

/** A second name is tried at once. More than that is no accident: somebody rewrites what we create, and must not be answered with a flood. */
const collisionDelay = ({ deployment }: Snapshot): number => {
  const count = deployment.status?.collisionCount ?? 0
  return count === 0 ? 0 : Math.min(delays.resync, 1000 * 2 ** Math.min(count, 20))
}

const requeue = (snapshot: Snapshot, plan: Plan<Verdict>, report: Report, collision: boolean): Conclusion["requeue"] => {
  const failure = worst(report)
  if (failure !== undefined) return { _tag: "Retry", policy: policyOf(failure.error) }
  if (collision) return after(collisionDelay(snapshot), "hash collision")
  const outcome = (tag: Outcome["_tag"]) => report.outcomes.find(({ _tag }) => _tag === tag)
  // The lane wakes the key; this is for the case that its server never answers again.
  if (outcome("Parked") !== undefined) return after(delays.notReady, "waits for its turn to register")
  // The object changed under us: the watch is about to tell how.
  if (outcome("Withheld") !== undefined) return after(delays.floor, "changed meanwhile")
  const registered = report.outcomes.find((done) => done._tag === "Registered")
  if (registered !== undefined && registered.misrouted.length > 0) return after(delays.blocked, "not routed yet")
  return plan.requeue
}

const after = (delay: number, why: string): Requeue => ({ _tag: "After", delay, why })

const label = ({ error }: Failure): string => {
  if (error._tag === "Conflict") return "waiting"
  if (error._tag === "Forbidden" || error.server === "kubernetes") return "KubeError"
  return callReason(error)
}

const outcomeOf = ({ state }: Verdict, { vocabulary }: DeploymentSettings): string => {
  switch (state._tag) {
    case "Invalid":
      return vocabulary.errors.invalidConfiguration
    case "Collision":
      return "HashCollision"
    case "Foreign":
      return "DeploymentNotLatest"
    case "RejectedBefore":
      return "AdminCallRejected"
    case "Unreachable":
      return state.missing.rejected ? "AdminCallRejected" : "AdminCallFailed"
    default:
      return "waiting"
  }
}
