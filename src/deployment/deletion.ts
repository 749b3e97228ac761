/** The end of a ServiceDeployment: nothing goes while a version has unfinished work (operator.md §3.12). */
import type { Action, AdminServer } from "../engine/action.ts"
import { awaitChange, type Plan, type Requeue, type Step } from "../engine/plan.ts"
import { delays, deletionRetry } from "../engine/policies.ts"
import { cleanup, deletedAt, needUsage, usageOf } from "./cleanup.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import type { Invalid, Target } from "./target.ts"
import type { State, Verdict } from "./verdict.ts"
import { idsOf, newestFirst, versionOf } from "./version.ts"

export const decideDeletion = (snapshot: Snapshot, target: Target | Invalid, settings: DeploymentSettings): Plan<Verdict> => {
  const { deployment, now } = snapshot
  const { finalizer } = settings.vocabulary.resources.deployment
  if (deployment.metadata.finalizers?.includes(finalizer) !== true) return end([], { _tag: "Deleted" })
  if (target._tag === "Invalid")
    return snapshot.replicaSets.length === 0 ? end([release(snapshot, finalizer)], { _tag: "Deleted" }) : end([], target)
  // A cluster that is gone for good took all of its work with it: its versions hold nothing.
  const gone = snapshot.cluster._tag === "Absent" && snapshot.cluster.proven ? target.server.key : undefined
  const versions = snapshot.replicaSets
    .map((set) => versionOf(set, target.server, settings.vocabulary, settings.addresses))
    .filter(({ server }) => gone === undefined || server?.key !== gone)
    .toSorted(newestFirst)
  if (versions.length === 0)
    return gone === undefined ? leave(snapshot, target.server, finalizer) : end([release(snapshot, finalizer)], { _tag: "Deleted" })
  const old = cleanup("deletion", snapshot, versions, new Set(), settings)
  const busy = old.draining.filter(({ removeAt }) => removeAt === undefined)
  const deadlines = old.draining.flatMap(({ removeAt }) => (removeAt === undefined || removeAt <= now ? [] : [removeAt]))
  const state = ((): State => {
    if (old.needs.length > 0) return { _tag: "Asking" }
    if (old.missing !== undefined) return { _tag: "Unreachable", missing: old.missing }
    if (busy.length > 0) return { _tag: "DeletionBlocked", by: busy }
    return deadlines.length > 0 ? { _tag: "DeletionDraining", until: Math.max(...deadlines) } : { _tag: "Deleted" }
  })()
  const waited = now - (Date.parse(deployment.metadata.deletionTimestamp ?? "") || now)
  return {
    steps: old.steps,
    requeue: requeue(state, waited, Math.min(...deadlines) - now),
    interests: old.interests,
    needs: old.needs,
    verdict: { ...nowhere, state, server: target.server, draining: old.draining },
  }
}

/**
 * No version is left in the cache, which proves nothing: somebody may have taken its labels off, or deleted its
 * ReplicaSet under running work. The server has the last word about every address that was ever ours.
 */
const leave = (snapshot: Snapshot, server: AdminServer, finalizer: string): Plan<Verdict> => {
  const { name, namespace = "" } = snapshot.deployment.metadata
  // Nothing was ever made for an object that no pass has described.
  if (snapshot.deployment.status?.labelSelector === undefined) return end([release(snapshot, finalizer)], { _tag: "Deleted" })
  const look = usageOf(snapshot, server)
  const since = deletedAt(snapshot)
  if (look._tag === "Stale" || (look._tag === "Known" && look.askedAt < since)) {
    return {
      ...end([], { _tag: "Asking" }, server),
      needs: [needUsage(snapshot, server, since)],
      requeue: requeue({ _tag: "Asking" }, 0, 0),
    }
  }
  if (look._tag === "Unknown")
    return { ...end([], { _tag: "Unreachable", missing: look }, server), requeue: requeue({ _tag: "Unreachable", missing: look }, 0, 0) }
  const left = idsOf(name, namespace, look.value).map((id) => ({ id, ...(look.value.get(id) ?? none) }))
  const busy = left.filter(({ pinned, unpinned }) => pinned + unpinned > 0)
  if (busy.length > 0) {
    const by = busy.map(({ id, endpoint, pinned, unpinned }) => ({
      version: `${endpoint} (without pods of ours)`,
      id,
      pinned,
      unpinned,
      removeAt: undefined,
    }))
    const interests = [{ server, look: "usage" as const, ids: busy.map(({ id }) => id) }]
    return {
      ...end([], { _tag: "DeletionBlocked", by }, server),
      interests,
      requeue: { _tag: "After", delay: delays.blocked, why: "unfinished invocations" },
    }
  }
  const forget = left.map(({ id }): Action => ({ _tag: "Forget", server, deploymentId: id, services: undefined }))
  const last = release(snapshot, finalizer)
  // One step: as long as a deregistration waits for its turn, nothing is released.
  return end([{ ...last, actions: [...forget, ...last.actions] }], { _tag: "Deleted" }, server)
}

const none = { endpoint: "", pinned: 0, unpinned: 0, latestFor: 0 }

const nowhere = { wanted: undefined, server: undefined, id: undefined, draining: [], warnings: [] }

const end = (steps: ReadonlyArray<Step>, state: State, server?: AdminServer): Plan<Verdict> => ({
  steps,
  needs: [],
  requeue: awaitChange,
  interests: [],
  verdict: { ...nowhere, server, state },
})

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

/** Polls and watches usually come first; these are the times by which we look again in any case. */
const requeue = (state: State, waited: number, untilDeadline: number): Requeue => {
  switch (state._tag) {
    case "DeletionBlocked":
      return { _tag: "After", delay: Math.min(deletionRetry(waited), Math.max(delays.floor, untilDeadline)), why: "unfinished invocations" }
    case "DeletionDraining":
      return { _tag: "After", delay: Math.max(delays.floor, untilDeadline), why: "drain delay" }
    case "Asking":
      return { _tag: "After", delay: delays.look, why: "waits for an answer" }
    case "Unreachable":
      return { _tag: "After", delay: delays.blocked, why: "admin API away" }
    default:
      return { _tag: "After", delay: 0, why: "versions were removed" }
  }
}
