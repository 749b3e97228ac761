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
import { usagePoll } from "../engine/policies.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { autoscale, isAutoscaled, stopAutoscaling } from "./autoscaling.ts"
import { claim, replicaSetRef, stamp, unstamp, wantedReplicas } from "./replica-set.ts"
import { type Case, type Fate, type Mode, unknown } from "./fate.ts"
import { leaveFormer } from "./former.ts"
import { forget } from "./forget.ts"
import { needUsage, provenSince, tooSlow, usageOf } from "./proof.ts"
import { milliseconds } from "./seconds.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import type { Missing, Older, Verdict } from "./verdict.ts"
import { idOn, isRiddle, type Version } from "./version.ts"

export interface Cleanup {
  readonly steps: ReadonlyArray<Step>
  /** Versions that stay for now. */
  readonly older: ReadonlyArray<Older>
  /** Versions with work that go. */
  readonly forced: ReadonlyArray<Older>
  readonly interests: ReadonlyArray<Interest>
  /** Versions about which nothing could be decided for want of a fresh answer. */
  readonly needs: ReadonlyArray<Need>
  /** An answer that was needed and is missing. */
  readonly missing: Missing | undefined
  readonly warnings: Verdict["warnings"]
}

export const cleanup = (
  mode: Mode,
  snapshot: Snapshot,
  versions: ReadonlyArray<Version>,
  /** Ids of every version of the object, to tell one forgotten id from a server that forgot everything. */
  owned: ReadonlySet<string>,
  settings: DeploymentSettings,
  /** The latest version, when it serves: it stays, but not where it was registered before the target moved. */
  latest?: Version,
): Cleanup => {
  let room = mode === "rollout" ? (snapshot.deployment.spec.revisionHistoryLimit ?? 10) : 0
  const fates = new Map<Version, Fate>()
  for (const version of versions) {
    const fate = fateOf({ mode, snapshot, version, owned, settings, keep: room > 0 })
    if (fate.older?.state === "Kept") room -= 1
    fates.set(version, fate)
  }
  const left = latest === undefined ? undefined : leaveFormer({ mode, snapshot, version: latest, owned, settings, keep: true })
  const all = [...fates.values(), ...(left === undefined ? [] : [left])]
  const inOrder = mode === "rollout" ? all : lastServed(snapshot, versions).flatMap((version) => fates.get(version) ?? [])
  const watched = all.flatMap(({ watch }) => watch ?? [])
  return {
    steps: inOrder.flatMap(({ steps = [] }) => steps.filter(({ actions }) => actions.length > 0)),
    older: all.flatMap(({ older }) => older ?? []),
    forced: all.flatMap(({ forced }) => forced ?? []),
    interests: [...Map.groupBy(watched, ({ server }) => server.key).values()].flatMap(interestOf),
    needs: all.flatMap(({ need }) => need ?? []),
    missing: all.find(({ missing }) => missing !== undefined)?.missing,
    warnings: all.flatMap(({ warning }) => warning ?? []),
  }
}

/**
 * Oldest first, and at last those that the server routes to: when it loses its latest deployment it falls back to an older
 * one, which takes calls and would go in the next moment.
 */
const lastServed = ({ admin }: Snapshot, versions: ReadonlyArray<Version>): ReadonlyArray<Version> => {
  const serves = ({ id, server }: Version): number => {
    const usage = admin.get(server?.key ?? "")?.usage
    return usage?._tag === "Seen" && (usage.value.get(id ?? "")?.latestFor ?? 0) > 0 ? 1 : 0
  }
  return versions.toReversed().toSorted((a, b) => serves(a) - serves(b))
}

const interestOf = (watched: ReadonlyArray<NonNullable<Fate["watch"]>>): ReadonlyArray<Interest> =>
  watched.slice(0, 1).map(({ server }) => ({ server, look: "usage", ids: watched.flatMap(({ id }) => id ?? []) }))

const fateOf = (of: Case): Fate => {
  const { keep, mode, owned, snapshot, version } = of
  const { deployment, now } = snapshot
  const left = leaveFormer(of)
  if (left !== undefined) return left
  const autoscaler = snapshot.autoscalers.get(version.name)
  if (keep && rests(version, now)) {
    const steps = [{ why: `rests ${version.name}`, actions: stopAutoscaling(autoscaler), onFailure: "next" } as const]
    return { older: { ...unknown(version), state: "Kept" }, steps }
  }
  const older = unknown(version)
  const { server } = version
  // By force it goes although nobody can be asked, let alone told.
  if (server === undefined && mode === "force")
    return { steps: [{ why: `force ${version.name}`, actions: [remove(deployment, version)], onFailure: "next" }] }
  if (server === undefined)
    return {
      older,
      missing: { because: `${version.name} is registered with a server that its annotation does not name rightly`, rejected: false },
    }
  const look = usageOf(snapshot, server)
  if (look._tag === "Stale") return { older, need: needUsage(snapshot, server) }
  if (look._tag === "Unknown") return { older: { ...older, silent: true }, missing: look, watch: { server, id: version.id } }
  const { namespace = "" } = deployment.metadata
  if (isRiddle(version, namespace, look.value))
    return {
      older,
      missing: {
        because: `${version.name} records ${version.id ?? ""}, which ${server.key} knows under another address; it is not removed`,
        rejected: false,
      },
    }
  const view = { version, usage: look.value, id: idOn(version, namespace, look.value) }
  const known = view.id !== undefined && look.value.has(view.id)
  if (mode === "rollout" && !known && (version.forgottenBy === server.key || forgotAll(look.value, view.id, owned)))
    return {
      older,
      warning: {
        reason: "ServerForgotVersions",
        note: `${server.key} has forgotten this object's versions: it was wiped, or the address leads elsewhere. ${version.name} stays until it is known again; if its server is gone for good, delete the ReplicaSet.`,
      },
    }
  const life = lifecycle(mode, deployment, view, now)
  return life._tag === "Gone" ? goes(of, view, server, look, life.why) : stays(of, life, server)
}

const goes = (
  { keep, mode, settings, snapshot, version }: Case,
  view: View,
  server: AdminServer,
  { askedAt, took }: { readonly askedAt: number; readonly took: number },
  why: Extract<Life, { readonly _tag: "Gone" }>["why"],
): Fate => {
  const { deployment, now } = snapshot
  const older = olderOf(view, "Kept")
  const last = keep ? rest(deployment, version, now, settings) : bury(deployment, view, server, snapshot)
  const actions = [...stopAutoscaling(snapshot.autoscalers.get(version.name)), ...last]
  // By force nothing waits for its deadline, which may be days ahead.
  const since = provenSince(snapshot, server, mode === "force" ? undefined : version.removeAt)
  if (actions.length > 0 && askedAt < since) {
    const missing = tooSlow(server, { took })
    return {
      older: unknown(version),
      ...(missing === undefined ? { need: needUsage(snapshot, server) } : { missing, watch: { server, id: version.id } }),
    }
  }
  return {
    steps: [{ why: `${why} ${version.name}`, actions, onFailure: "next" }],
    ...(keep ? { older } : {}),
    ...(mode === "force" && older.pinned + older.unpinned > 0 ? { forced: older } : {}),
  }
}

const stays = (
  { mode, settings, snapshot, version }: Case,
  { older, stamp: stamped }: Extract<Life, { readonly _tag: "Stays" }>,
  server: AdminServer,
): Fate => {
  const { deployment } = snapshot
  if (older.removeAt !== undefined)
    return {
      older,
      // New work still comes to the latest version of a deleted object, and takes its deadline off again.
      ...(mode === "deletion" ? { watch: { server, id: older.id } } : {}),
      steps: stamped
        ? [
            {
              why: `drained ${version.name}`,
              actions: [stamp(deployment, version.name, older.removeAt, settings.vocabulary)],
              onFailure: "next",
            },
          ]
        : [],
    }
  return {
    older,
    watch: { server, id: older.id },
    steps: [
      {
        why: `in use ${version.name}`,
        // From now on it is judged there, wherever the object registers later.
        actions: [
          ...(version.claimed ? [] : [claim(deployment, version.name, server.key, [], settings.vocabulary)]),
          ...unstamp(deployment, version.replicaSet, settings.vocabulary),
        ],
        onFailure: "next",
      },
      {
        why: `autoscale ${version.name}`,
        actions: [...revive(snapshot, version, settings), ...(mode === "rollout" ? resize(snapshot, version, settings) : [])],
        onFailure: "next",
      },
    ],
  }
}

/** Work without pods never ends: who scaled the object to zero and back up meant all that has work. An autoscaler does not wake what is at zero. */
const revive = ({ deployment }: Snapshot, version: Version, { vocabulary }: DeploymentSettings): ReadonlyArray<Action> =>
  version.replicas === 0 && wantedReplicas(deployment) > 0
    ? [
        {
          _tag: "Scale",
          ref: replicaSetRef(deployment, version.name),
          replicas: wantedReplicas(deployment),
          manager: vocabulary.managers.scaleRestore,
        },
      ]
    : []

/** As many pods as its load asks for; as many as the spec says once that is not wanted any more. */
const resize = ({ autoscalers, deployment }: Snapshot, version: Version, { vocabulary }: DeploymentSettings): ReadonlyArray<Action> => {
  if (isAutoscaled(deployment)) return [autoscale(deployment, version.name, vocabulary)]
  const autoscaler = autoscalers.get(version.name)
  if (autoscaler === undefined) return []
  const replicas = wantedReplicas(deployment)
  return [
    ...stopAutoscaling(autoscaler),
    // Never to zero while it has work: the person who scaled the object down meant its latest version.
    ...(replicas > 0 && version.replicas > 0 && replicas !== version.replicas
      ? [{ _tag: "Scale", ref: replicaSetRef(deployment, version.name), replicas, manager: vocabulary.managers.scaleRestore } as const]
      : []),
  ]
}

/** Scaled to zero in an earlier pass after it had drained, or never registered and without pods: nothing about it can change unasked. */
const rests = (version: Version, now: number): boolean =>
  version.replicas === 0 && (version.id === undefined || (version.removeAt !== undefined && version.removeAt <= now))

interface View {
  readonly version: Version
  readonly usage: Usage
  readonly id: string | undefined
}

const nothingKnown = { pinned: 0, unpinned: 0, example: undefined }

const olderOf = ({ id, usage, version }: View, state: Older["state"], removeAt?: number): Older => {
  const { pinned, unpinned, example } = (id === undefined ? undefined : usage.get(id)) ?? nothingKnown
  return { version: version.name, state, id, pinned, unpinned, example, removeAt }
}

type Life =
  | { readonly _tag: "Gone"; readonly why: "retire" | "bury unregistered" | "bury forgotten" | "force" }
  /** `stamp`: the deadline has to be written down. */
  | { readonly _tag: "Stays"; readonly older: Older; readonly stamp: boolean }

const lifecycle = (mode: Mode, deployment: ServiceDeployment, view: View, now: number): Life => {
  const { version, usage, id } = view
  const known = id === undefined ? undefined : usage.get(id)
  // Never registered, says the server of its address: nothing can have begun there.
  if (id === undefined) return { _tag: "Gone", why: "bury unregistered" }
  if (mode === "force") return { _tag: "Gone", why: "force" }
  // An id that is unknown all at once waits like a drained one, and must still be unknown then: one short answer is not proof.
  const { pinned, unpinned, latestFor } = known ?? { pinned: 0, unpinned: 0, latestFor: 0 }
  const active = pinned > 0 || (mode === "deletion" ? unpinned > 0 : latestFor > 0)
  if (active) return { _tag: "Stays", older: olderOf(view, "InUse"), stamp: false }
  const delay = known === undefined ? Math.max(drainDelay(deployment), usagePoll) : drainDelay(deployment)
  // A deadline further ahead than the delay was written when the delay was longer: a shortened one counts at once.
  if (version.removeAt === undefined || version.removeAt > now + delay + rounding) {
    return delay === 0 ? { _tag: "Gone", why: "retire" } : { _tag: "Stays", older: olderOf(view, "Draining", now + delay), stamp: true }
  }
  if (version.removeAt > now) return { _tag: "Stays", older: olderOf(view, "Draining", version.removeAt), stamp: false }
  return { _tag: "Gone", why: known === undefined ? "bury forgotten" : "retire" }
}

/** Milliseconds by which a written deadline may be later than it was meant: it has whole seconds. */
const rounding = 1_000

/** Milliseconds. */
export const drainDelay = ({ spec }: ServiceDeployment): number => milliseconds(spec.restate.drainDelaySeconds, 300)

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
  return [...(id !== undefined && known !== undefined ? [forget(snapshot, server, id, known)] : []), remove(deployment, version)]
}

const remove = (deployment: ServiceDeployment, version: Version): Action => ({
  _tag: "Delete",
  ref: replicaSetRef(deployment, version.name),
  uid: version.replicaSet.metadata.uid,
})

/** A server that knew versions of ours yesterday and knows none today is not the server we think it is. */
const forgotAll = (usage: Usage, id: string | undefined, owned: ReadonlySet<string>): boolean =>
  id !== undefined && !usage.has(id) && ![...owned].some((ownedId) => usage.has(ownedId))
