/** The end of a ServiceDeployment: nothing goes while a version has unfinished work (operator.md §3.12). */
import type { Action, AdminServer } from "../engine/action.ts"
import { awaitChange, type Plan, type Requeue, type Step } from "../engine/plan.ts"
import { delays, deletionRetry } from "../engine/policies.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { cleanup } from "./cleanup.ts"
import { needUsage, provenSince, tooSlow, usageOf } from "./proof.ts"
import { forcingReason, readyCondition } from "./conditions.ts"
import { milliseconds } from "./seconds.ts"
import { address } from "./service.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import type { Invalid, Target } from "./target.ts"
import { type Deletion, nowhere, type Older, type State, type Verdict } from "./verdict.ts"
import { idsOf, newestFirst, type Version, versionOf } from "./version.ts"

export const decideDeletion = (snapshot: Snapshot, target: Target | Invalid, settings: DeploymentSettings): Plan<Verdict> => {
  const { deployment } = snapshot
  const { finalizer } = settings.vocabulary.resources.deployment
  if (deployment.metadata.finalizers?.includes(finalizer) !== true) return end([], { _tag: "Deleted" })
  if (target._tag === "Invalid")
    return snapshot.replicaSets.length === 0 ? end([release(snapshot, finalizer)], { _tag: "Deleted" }) : end([], target)
  // A cluster that is gone for good took all of its work with it: its versions hold nothing.
  const gone = snapshot.cluster._tag === "Absent" && snapshot.cluster.proven ? target.server.key : undefined
  const versions = snapshot.replicaSets
    .map((set) => versionOf(set, target.server, settings.vocabulary, settings.addresses))
    .filter(({ former, server }) => former.length > 0 || server === undefined || !(snapshot.gone.has(server.key) || server.key === gone))
    .toSorted(newestFirst)
  if (versions.length === 0 && gone !== undefined) return end([release(snapshot, finalizer)], { _tag: "Deleted" })
  const deletion = deletionOf(snapshot)
  // Written down first: whoever wonders where the work went finds it here, also if we die in the middle.
  if (deletion.phase === "Forcing" && !isForcing(deployment))
    return { ...tell({ _tag: "Forcing" }, target.server, deletion), requeue: after(0, "versions are removed by force") }
  return versions.length === 0
    ? leave(snapshot, target.server, finalizer, deletion)
    : empty(snapshot, target.server, versions, deletion, settings)
}

/** What was asked for, and whether its time is over. Read from the spec of this moment: a person may change it meanwhile. */
const deletionOf = ({ deployment, now }: Snapshot): Deletion => {
  const startedAt = Date.parse(deployment.metadata.deletionTimestamp ?? "") || now
  const { deletePolicy, drain } = deployment.spec.restate
  if (deletePolicy === "force") return { policy: "force", phase: "Forcing", startedAt, deadline: undefined, onTimeout: undefined }
  const deadline = startedAt + milliseconds(drain?.timeoutSeconds, 3600)
  const onTimeout = drain?.onTimeout ?? "hold"
  const phase = now < deadline ? "Draining" : onTimeout === "force" ? "Forcing" : "Overdue"
  return { policy: "drain", phase, startedAt, deadline, onTimeout }
}

/** An older CRD prunes status.deletion, so the condition says it as well. */
const isForcing = (deployment: ServiceDeployment): boolean =>
  deployment.status?.deletion?.phase === "Forcing" || readyCondition(deployment)?.reason === forcingReason

/** Versions are left: each goes when it may. */
const empty = (
  snapshot: Snapshot,
  server: AdminServer,
  versions: ReadonlyArray<Version>,
  deletion: Deletion,
  settings: DeploymentSettings,
): Plan<Verdict> => {
  const { now } = snapshot
  const old = cleanup(deletion.phase === "Forcing" ? "force" : "deletion", snapshot, versions, new Set(), settings)
  const busy = old.older.filter(({ state }) => state === "InUse")
  const deadlines = old.older.flatMap(({ removeAt }) => (removeAt === undefined || removeAt <= now ? [] : [removeAt]))
  const state = ((): State => {
    if (old.needs.length > 0) return { _tag: "Asking" }
    if (old.missing !== undefined) return { _tag: "Unreachable", missing: old.missing }
    if (busy.length > 0) return { _tag: "DeletionBlocked", by: busy }
    if (deadlines.length > 0) return { _tag: "DeletionDraining", until: Math.max(...deadlines) }
    return deletion.phase === "Forcing" ? { _tag: "Forcing" } : { _tag: "Deleted" }
  })()
  const reachable = deletion.phase === "Forcing" ? [] : versions.filter(({ replicas }) => replicas > 0)
  return {
    steps: [
      ...reachable.map(({ replicaSet }) => ({
        ...address(snapshot.deployment, replicaSet, settings.vocabulary),
        onFailure: "next" as const,
      })),
      ...old.steps,
    ],
    requeue: requeue(state, deletion, now, Math.min(...deadlines) - now),
    interests: old.interests,
    needs: old.needs,
    verdict: {
      ...nowhere,
      state,
      server,
      older: old.older,
      forced: old.forced,
      deletion: { ...deletion, phase: phaseOf(state, deletion) },
    },
  }
}

/**
 * No version is left in the cache, which proves nothing: somebody may have taken its labels off, or deleted its
 * ReplicaSet under running work. The server has the last word about every address that was ever ours.
 */
const leave = (snapshot: Snapshot, server: AdminServer, finalizer: string, deletion: Deletion): Plan<Verdict> => {
  const { name, namespace = "" } = snapshot.deployment.metadata
  // Nothing was ever made for an object that no pass has described.
  if (snapshot.deployment.status?.labelSelector === undefined) return end([release(snapshot, finalizer)], { _tag: "Deleted" })
  const look = usageOf(snapshot, server)
  // Whatever it says, something goes or somebody is told who holds it up: both need an answer of this moment.
  const old = look._tag === "Known" && look.askedAt < provenSince(snapshot, server, undefined)
  const missing = look._tag === "Unknown" ? look : old ? tooSlow(server, look) : undefined
  if (missing !== undefined) {
    const away = tell({ _tag: "Unreachable", missing }, server, deletion)
    return { ...away, interests: [{ server, look: "usage", ids: [] }], requeue: after(delays.blocked, "admin API away") }
  }
  if (look._tag !== "Known" || old) {
    const asking = tell({ _tag: "Asking" }, server, deletion)
    return { ...asking, needs: [needUsage(snapshot, server)], requeue: after(delays.look, "waits for an answer") }
  }
  const left = idsOf(name, namespace, look.value).map((id): Older => {
    const { endpoint, example, pinned, unpinned } = look.value.get(id) ?? none
    return { version: `${endpoint} (without pods of ours)`, state: "InUse", id, pinned, unpinned, example, removeAt: undefined }
  })
  const busy = left.filter(({ pinned, unpinned }) => pinned + unpinned > 0)
  if (busy.length > 0 && deletion.phase !== "Forcing") {
    const blocked = tell({ _tag: "DeletionBlocked", by: busy }, server, deletion, busy)
    const interests = [{ server, look: "usage" as const, ids: busy.flatMap(({ id }) => id ?? []) }]
    return { ...blocked, interests, requeue: requeue(blocked.verdict.state, deletion, snapshot.now, Infinity) }
  }
  const forget = left.flatMap(({ id }): ReadonlyArray<Action> =>
    id === undefined ? [] : [{ _tag: "Forget", server, deploymentId: id, services: undefined }],
  )
  const last = release(snapshot, finalizer)
  const plan = tell({ _tag: "Deleted" }, server, deletion)
  // One step: as long as a deregistration waits for its turn, nothing is released.
  return { ...plan, steps: [{ ...last, actions: [...forget, ...last.actions] }], verdict: { ...plan.verdict, forced: busy } }
}

const none = { endpoint: "", pinned: 0, unpinned: 0, latestFor: 0, example: undefined }

/** Nothing to do but to say so. */
const tell = (
  state: State,
  server: AdminServer | undefined,
  deletion: Deletion | undefined,
  older?: ReadonlyArray<Older>,
): Plan<Verdict> => ({
  steps: [],
  needs: [],
  requeue: awaitChange,
  interests: [],
  verdict: { ...nowhere, server, state, deletion, ...(older === undefined ? {} : { older }) },
})

const end = (steps: ReadonlyArray<Step>, state: State): Plan<Verdict> => ({ ...tell(state, undefined, undefined), steps })

const release = ({ deployment }: Snapshot, finalizer: string): Step => ({
  why: "nothing is left to wait for",
  actions: [
    {
      _tag: "Release",
      ref: { kind: "deployment", namespace: deployment.metadata.namespace ?? "", name: deployment.metadata.name },
      resourceVersion: deployment.metadata.resourceVersion,
      finalizers: (deployment.metadata.finalizers ?? []).filter((name) => name !== finalizer),
    },
  ],
  onFailure: "stop",
})

/** Only work makes a deletion overdue: waiting out the drain delay after it is nobody's fault. */
const phaseOf = (state: State, { phase }: Deletion): Deletion["phase"] =>
  phase === "Overdue" && state._tag === "DeletionDraining" ? "Draining" : phase

/** Polls and watches usually come first; these are the times by which we look again in any case. */
const requeue = (state: State, { deadline, phase, startedAt }: Deletion, now: number, untilRemoval: number): Requeue => {
  // With force to come at the deadline, or a word to be said then, nothing waits beyond it.
  const untilDeadline = phase === "Draining" && deadline !== undefined ? deadline - now : Infinity
  const by = (delay: number, why: string): Requeue => after(Math.max(delays.floor, Math.min(delay, untilDeadline)), why)
  switch (state._tag) {
    case "DeletionBlocked":
      return by(Math.min(deletionRetry(now - startedAt), untilRemoval), "unfinished invocations")
    case "DeletionDraining":
      return by(untilRemoval, "drain delay")
    case "Asking":
      return after(delays.look, "waits for an answer")
    case "Unreachable":
      return by(delays.blocked, "admin API away")
    default:
      return after(0, "versions were removed")
  }
}

const after = (delay: number, why: string): Requeue => ({ _tag: "After", delay, why })
