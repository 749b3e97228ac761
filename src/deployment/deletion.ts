/** The end of a ServiceDeployment: nothing goes while a version has unfinished work (operator.md §3.12). */
import { awaitChange, type Plan, type Requeue, type Step } from "../engine/plan.ts"
import { delays, deletionRetry } from "../engine/policies.ts"
import { cleanup } from "./cleanup.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import type { Invalid, Target } from "./target.ts"
import type { State, Verdict } from "./verdict.ts"
import { newestFirst, versionOf } from "./version.ts"

export const decideDeletion = (snapshot: Snapshot, target: Target | Invalid, settings: DeploymentSettings): Plan<Verdict> => {
  const { deployment, now } = snapshot
  const { finalizer } = settings.vocabulary.resources.deployment
  if (deployment.metadata.finalizers?.includes(finalizer) !== true) return end([], { _tag: "Deleted" })
  if (snapshot.replicaSets.length === 0) return end([release(snapshot, finalizer)], { _tag: "Deleted" })
  if (target._tag === "Invalid") return end([], target)
  // A cluster that is gone for good took all of its work with it: its versions hold nothing.
  const gone = snapshot.cluster._tag === "Absent" && snapshot.cluster.proven ? target.server.key : undefined
  const versions = snapshot.replicaSets
    .map((set) => versionOf(set, target.server, settings.vocabulary, settings.addresses))
    .filter(({ server }) => gone === undefined || server?.key !== gone)
    .toSorted(newestFirst)
  if (versions.length === 0) return end([release(snapshot, finalizer)], { _tag: "Deleted" })
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

const nowhere = { wanted: undefined, server: undefined, id: undefined, draining: [], warnings: [] }

const end = (steps: ReadonlyArray<Step>, state: State): Plan<Verdict> => ({
  steps,
  needs: [],
  requeue: awaitChange,
  interests: [],
  verdict: { ...nowhere, state },
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
