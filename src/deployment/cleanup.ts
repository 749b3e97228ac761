/**
 * What becomes of versions that are not the current one (operator.md §3.10, §3.12). The one place where a version is
 * scaled down, deregistered or deleted, and the one place that can lose people's work:
 *
 *     has work ──▶ no work: deadline = now + delay ──▶ deadline passed: zero pods ──▶ beyond the history limit: forgotten, deleted
 *         ▲                    │ work again: deadline removed
 *         └────────────────────┘
 *
 * Every arrow to the right is taken on an answer of the version's own server. No answer, no arrow.
 */
import type { Usage } from "../admin/admin.ts"
import type { Action, AdminServer } from "../engine/action.ts"
import type { Interest, Need, Step } from "../engine/plan.ts"
import { freshness, usagePoll } from "../engine/policies.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { replicaSetRef, stamp, unstamp } from "./replica-set.ts"
import { type DeploymentSettings, type Look, lookSince, type Snapshot, unasked } from "./snapshot.ts"
import type { Draining, Missing, Verdict } from "./verdict.ts"
import { idOn, isRiddle, type Version } from "./version.ts"

/** `rollout` keeps finished versions up to the history limit; `deletion` keeps none, and counts work that is not pinned yet. */
export type Mode = "rollout" | "deletion"

export interface Cleanup {
  readonly steps: ReadonlyArray<Step>
  readonly draining: ReadonlyArray<Draining>
  readonly interests: ReadonlyArray<Interest>
  /** Versions about which nothing could be decided for want of a fresh answer. */
  readonly needs: ReadonlyArray<Need>
  /** An answer that was needed and is missing. */
  readonly missing: Missing | undefined
  readonly warnings: Verdict["warnings"]
}

/** A poll that came just before counts; an answer older than one and a half polls does not. */
const pollAge = usagePoll * 1.5

export const cleanup = (
  mode: Mode,
  snapshot: Snapshot,
  versions: ReadonlyArray<Version>,
  /** Ids of every version of the object, to tell one forgotten id from a server that forgot everything. */
  owned: ReadonlySet<string>,
  settings: DeploymentSettings,
): Cleanup => {
  const { deployment, now } = snapshot
  const limit = mode === "deletion" ? 0 : (deployment.spec.revisionHistoryLimit ?? 10)
  const steps: Array<Step> = []
  const draining: Array<Draining> = []
  const needs: Array<Need> = []
  const watched = new Map<AdminServer, Array<string>>()
  const warnings: Array<Verdict["warnings"][number]> = []
  let missing: Missing | undefined
  let kept = 0
  for (const version of versions) {
    if (kept < limit && rests(version, now)) {
      kept++
      continue
    }
    const { server } = version
    if (server === undefined) {
      missing ??= { because: `${version.name} is registered with a server that its annotation does not name rightly`, rejected: false }
      continue
    }
    const look = usageOf(snapshot, server)
    if (look._tag === "Stale") {
      needs.push(needUsage(snapshot, server, now))
      continue
    }
    if (look._tag === "Unknown") {
      missing ??= look
      watch(watched, server, version.id)
      continue
    }
    if (isRiddle(version, deployment.metadata.namespace ?? "", look.value)) {
      missing ??= {
        because: `${version.name} records ${version.id ?? ""}, which ${server.key} knows under another address; it is not removed`,
        rejected: false,
      }
      continue
    }
    const view = { version, usage: look.value, id: idOn(version, deployment.metadata.namespace ?? "", look.value) }
    if (mode === "rollout" && forgotAll(look.value, view.id, owned)) {
      warnings.push({
        reason: "ServerForgotVersions",
        note: `${server.key} knows none of this object's versions: it was wiped, or the address leads elsewhere. Nothing is removed until it knows one again.`,
      })
      continue
    }
    const life = lifecycle(mode, deployment, view, now)
    if (life._tag === "Gone") {
      const keep = kept < limit
      if (keep) kept++
      const actions = keep ? rest(deployment, version, now, settings) : bury(deployment, view, server, snapshot)
      if (actions.length === 0) continue
      const since = provenSince(snapshot, server, version)
      if (look.askedAt < since) {
        needs.push(needUsage(snapshot, server, since))
        continue
      }
      steps.push({ why: `${life.why} ${version.name}`, actions, onFailure: "next" })
      continue
    }
    draining.push(life.draining)
    if (life.draining.removeAt === undefined) watch(watched, server, view.id)
    const actions =
      life.draining.removeAt === undefined
        ? unstamp(deployment, version.replicaSet, settings.vocabulary)
        : life.stamp
          ? [stamp(deployment, version.name, life.draining.removeAt, settings.vocabulary)]
          : []
    if (actions.length > 0) steps.push({ why: `${life.stamp ? "drained" : "in use"} ${version.name}`, actions, onFailure: "next" })
  }
  const interests = [...watched].map(([server, ids]): Interest => ({ server, look: "usage", ids }))
  return { needs, steps, draining, interests, missing, warnings }
}

/** Scaled to zero in an earlier pass after it had drained, or never registered and without pods: nothing about it can change unasked. */
const rests = (version: Version, now: number): boolean =>
  version.replicas === 0 && (version.id === undefined || (version.removeAt !== undefined && version.removeAt <= now))

/** What the version's server says of all work, if that may be believed. */
export const usageOf = (snapshot: Snapshot, server: AdminServer): Look<Usage> => {
  const { usage, touchedAt } = snapshot.admin.get(server.key) ?? unasked
  // A registration of ours is under way there: what the server said before it means nothing, and asking now neither.
  if (touchedAt === Infinity) return { _tag: "Unknown", because: "a registration is in flight", rejected: false, since: snapshot.now }
  return lookSince(usage, Math.max(touchedAt, snapshot.now - pollAge))
}

/** Asked now or later: an answer from before our own last change of the routing would only be asked for again. */
export const needUsage = (snapshot: Snapshot, server: AdminServer, since: number): Need => ({
  server,
  look: "usage",
  since: Math.max(since, snapshot.now, snapshot.admin.get(server.key)?.touchedAt ?? 0),
})

/** Law 3: asked after the deadline, after our own last change of that server's routing, and less than 5 s ago. */
const provenSince = (snapshot: Snapshot, server: AdminServer, version: Version): number =>
  Math.max(snapshot.admin.get(server.key)?.touchedAt ?? 0, snapshot.now - freshness, version.removeAt ?? 0, deletedAt(snapshot))

/** What was begun before somebody deleted the object counts, also without a drain delay. The timestamp has whole seconds. 0 when it is not being deleted. */
export const deletedAt = ({ deployment }: Snapshot): number =>
  deployment.metadata.deletionTimestamp === undefined ? 0 : Date.parse(deployment.metadata.deletionTimestamp) + 999

interface View {
  readonly version: Version
  readonly usage: Usage
  readonly id: string | undefined
}

type Life =
  | { readonly _tag: "Gone"; readonly why: "retire" | "bury unregistered" | "bury forgotten" }
  /** Without removeAt it has work; `stamp`: the deadline has to be written down. */
  | { readonly _tag: "Draining"; readonly draining: Draining; readonly stamp: boolean }

const lifecycle = (mode: Mode, deployment: ServiceDeployment, { version, usage, id }: View, now: number): Life => {
  const known = id === undefined ? undefined : usage.get(id)
  // Never registered, says the server of its address: nothing can have begun there.
  if (id === undefined) return { _tag: "Gone", why: "bury unregistered" }
  // An id that is unknown all at once waits like a drained one, and must still be unknown then: one short answer is not proof.
  const { pinned, unpinned, latestFor } = known ?? { pinned: 0, unpinned: 0, latestFor: 0 }
  const draining = { version: version.name, id, pinned, unpinned, removeAt: undefined }
  const active = pinned > 0 || (mode === "deletion" ? unpinned > 0 : latestFor > 0)
  if (active) return { _tag: "Draining", draining, stamp: false }
  const delay = drainDelay(deployment)
  if (version.removeAt === undefined) {
    return delay === 0
      ? { _tag: "Gone", why: "retire" }
      : { _tag: "Draining", draining: { ...draining, removeAt: now + delay }, stamp: true }
  }
  if (version.removeAt > now) return { _tag: "Draining", draining: { ...draining, removeAt: version.removeAt }, stamp: false }
  return { _tag: "Gone", why: known === undefined ? "bury forgotten" : "retire" }
}

/** Milliseconds. The field is an int64: what no date can hold, or is no number at all, counts as ten years or as the default. */
const drainDelay = ({ spec }: ServiceDeployment): number => {
  // Beyond 2^53 it is not even a number here, but raw JSON.
  const given: unknown = spec.restate.drainDelaySeconds ?? 300
  const seconds = Number(given)
  return Number.isNaN(seconds) ? 300_000 : Math.min(Math.max(0, seconds), 315_360_000) * 1000
}

/** Kept for a quick way back: no pods, still registered, stamped so that later passes need not ask about it. */
const rest = (deployment: ServiceDeployment, version: Version, now: number, { vocabulary }: DeploymentSettings): ReadonlyArray<Action> => [
  ...(version.removeAt === undefined && version.id !== undefined ? [stamp(deployment, version.name, now, vocabulary)] : []),
  ...(version.replicas > 0
    ? [{ _tag: "Scale", ref: replicaSetRef(deployment, version.name), replicas: 0, manager: vocabulary.managers.scaleDown } as const]
    : []),
]

/** The registration goes first: a version without pods that the server still routes to would be worse than one pod too many. */
const bury = (
  deployment: ServiceDeployment,
  { version, usage, id }: View,
  server: AdminServer,
  snapshot: Snapshot,
): ReadonlyArray<Action> => {
  const known = id === undefined ? undefined : usage.get(id)
  const routing = snapshot.admin.get(server.key)?.routing
  return [
    ...(id !== undefined && known !== undefined
      ? [
          {
            _tag: "Forget",
            server,
            deploymentId: id,
            services: known.latestFor === 0 ? [] : routing?._tag === "Seen" ? routing.value.deployments.get(id)?.services : undefined,
          } as const,
        ]
      : []),
    { _tag: "Delete", ref: replicaSetRef(deployment, version.name), uid: version.replicaSet.metadata.uid },
  ]
}

/** A server that knew versions of ours yesterday and knows none today is not the server we think it is. */
const forgotAll = (usage: Usage, id: string | undefined, owned: ReadonlySet<string>): boolean =>
  id !== undefined && !usage.has(id) && ![...owned].some((ownedId) => usage.has(ownedId))

const watch = (watched: Map<AdminServer, Array<string>>, server: AdminServer, id: string | undefined): void => {
  const key = [...watched.keys()].find((known) => known.key === server.key) ?? server
  watched.set(key, [...(watched.get(key) ?? []), ...(id === undefined ? [] : [id])])
}
