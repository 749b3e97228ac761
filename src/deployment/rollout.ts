/** The current version, from its pods to its place on the server, and what that allows to become of the older ones. */
import type { Action } from "../engine/action.ts"
import { awaitChange, type Plan, type Requeue, type Step } from "../engine/plan.ts"
import { delays, freshness, routingAge } from "../engine/policies.ts"
import type { ReplicaSet } from "../resources/kubernetes.ts"
import type { Routing } from "../admin/admin.ts"
import { namesTarget, stopAutoscaling } from "./autoscaling.ts"
import { type Cleanup, cleanup, drainDelay } from "./cleanup.ts"
import { type NotReady, podsNotReady, registrationGate } from "./gate.ts"
import { pace } from "./progress.ts"
import { tooSlow } from "./proof.ts"
import { registration, rejectedBefore } from "./registration.ts"
import { adopt, claim, markForgotten, replicaSetRef, wantedReplicas } from "./replica-set.ts"
import { address } from "./service.ts"
import { type DeploymentSettings, type Look, lookSince, type Snapshot, unasked } from "./snapshot.ts"
import type { Target } from "./target.ts"
import { nowhere, type State, type Verdict } from "./verdict.ts"
import { endpointOf, idOn, idsOf, newestFirst, type Version, versionOf, type Wanted } from "./version.ts"

/** What the rest of the decision knows about the current version. */
interface Current {
  readonly snapshot: Snapshot
  readonly target: Target
  readonly wanted: Wanted
  readonly live: ReplicaSet
  readonly version: Version
  readonly others: ReadonlyArray<Version>
  readonly settings: DeploymentSettings
  /** Hold, adopt and the Service: what every pass makes sure of. */
  readonly keep: ReadonlyArray<Step>
}

/** A version whose ReplicaSet is there. `before`: steps that come before anything else. */
interface Rollout extends Pick<Current, "snapshot" | "target" | "wanted" | "live" | "settings"> {
  readonly before: ReadonlyArray<Step>
}

export const rollOut = ({ before, live, settings, snapshot, target, wanted }: Rollout): Plan<Verdict> => {
  const { deployment } = snapshot
  const version = (set: ReplicaSet) => versionOf(set, target.server, settings.vocabulary, settings.addresses)
  const adoption = adopt(deployment, live, settings.vocabulary)
  const current: Current = {
    snapshot,
    target,
    wanted,
    live,
    version: version(live),
    others: snapshot.replicaSets
      .filter((set) => set !== live)
      .map(version)
      .toSorted(newestFirst),
    settings,
    keep: [
      ...before,
      ...freed(snapshot, wanted),
      ...(adoption.length === 0 ? [] : [{ why: `current version ${wanted.name}`, actions: adoption, onFailure: "stop" } as const]),
      // The server calls old versions as long as they have work.
      ...[live, ...snapshot.replicaSets.filter((set) => set !== live && (set.spec.replicas ?? 1) > 0)].map((set) =>
        address(deployment, set, settings.vocabulary),
      ),
    ],
  }
  if (current.version.server?.key !== target.server.key) return move(current)
  const { id } = current.version
  if (id === undefined) return register(current, undefined, false)
  const routing = routingOf(snapshot, target)
  // An answer to somebody else that is on its way will do: after a restart a thousand objects ask at once.
  if (routing._tag === "Stale") return askRouting(current, id, snapshot.now - routingAge)
  if (routing._tag === "Unknown") return unreachable(current, id, routing)
  const action = registration(
    idOn(current.version, deployment.metadata.namespace ?? "", routing.value.deployments),
    routing.value,
    ownedIds(current, routing.value),
  )
  switch (action._tag) {
    case "AlreadyLatest":
      return deployed(current, id)
    case "Register":
      return register({ ...current, keep: [...current.keep, ...forgotten(current, routing.value)] }, undefined, false)
    case "Promote":
      // A promotion takes traffic away from somebody: never on an old answer.
      if (isFresh(routing.askedAt, snapshot, freshness)) return register(current, action.supersedes, true)
      return slowly(current, id, routing) ?? askRouting(current, id)
    case "Foreign":
      if (!isFresh(routing.askedAt, snapshot, delays.blocked - 1000)) return askRouting(current, id)
      // No clean-up either: an old version may be the one that takes the traffic.
      return plan(current, { _tag: "Foreign", holders: action.holders }, id, [], after(delays.blocked, "foreign endpoint"))
  }
}

/** Autoscalers without a version of their own to scale: the latest is scaled by its user, and those of vanished versions by nobody. */
const freed = ({ autoscalers, replicaSets }: Snapshot, wanted: Wanted): ReadonlyArray<Step> =>
  [...autoscalers.values()]
    .filter(({ metadata: { name } }) => name === wanted.name || !replicaSets.some(({ metadata }) => metadata.name === name))
    .map((autoscaler) => ({
      why: `no autoscaling of ${autoscaler.metadata.name}`,
      actions: stopAutoscaling(autoscaler),
      onFailure: "stop",
    }))

const routingOf = (snapshot: Snapshot, { server }: Target): Look<Routing> => {
  const { routing } = snapshot.admin.get(server.key) ?? unasked
  // A good answer holds for a minute; a bad one is asked again by every pass that waits for it.
  return lookSince(routing, snapshot.now - (routing._tag === "Unseen" ? delays.blocked / 2 : routingAge))
}

/** What every pass makes sure of goes on; the rest waits for the answer. */
const askRouting = (current: Current, id: string, since = current.snapshot.now): Plan<Verdict> => ({
  ...plan(current, { _tag: "Asking" }, id, [], after(delays.look, "waits for an answer")),
  needs: [{ server: current.target.server, look: "routing", since }],
})

/** No answer of that server is ever fresh enough: to ask again at once would go on for ever, and nobody would know why. */
const slowly = (current: Current, id: string, look: { readonly took: number }): Plan<Verdict> | undefined => {
  const missing = tooSlow(current.target.server, look)
  return missing === undefined
    ? undefined
    : plan(current, { _tag: "Unreachable", missing }, id, [], after(delays.blocked, "the admin API is slow"))
}

const isFresh = (askedAt: number, { now }: Snapshot, age: number): boolean => askedAt >= now - age

/** Ids of any version of this object, also of those whose record a crash prevented or somebody edited. */
const ownedIds = ({ version, others, snapshot }: Current, { deployments }: Routing): ReadonlySet<string> => {
  const { name, namespace = "" } = snapshot.deployment.metadata
  const recorded = [version, ...others].flatMap((each) => idOn(each, namespace, deployments) ?? [])
  return new Set([...recorded, ...idsOf(name, namespace, deployments)])
}

const register = (current: Current, supersedes: string | undefined, force: boolean): Plan<Verdict> => {
  const { snapshot, target, wanted, live, settings } = current
  const { deployment } = snapshot
  const rejection = rejectedBefore(deployment, snapshot.now)
  if (rejection !== undefined) return plan(current, { _tag: "RejectedBefore", message: rejection }, undefined, [], awaitChange)
  if (snapshot.cluster._tag === "Absent") {
    const state = {
      _tag: "Invalid",
      field: "spec.restate.register.cluster",
      message: `there is no ${settings.vocabulary.resources.cluster.kind} "${target.cluster ?? ""}"`,
    } as const
    return plan(current, state, undefined, [], after(delays.blocked, "no such cluster"))
  }
  const gate = registrationGate(live, wantedReplicas(deployment), snapshot)
  if (gate !== undefined) {
    // The cluster may be full: the new pods start only once drained old ones have gone.
    const old = clean(current)
    const { again, overdue } = pace(snapshot, live, gate)
    const wait = gate.reason === "ClusterNotReady" ? after(delays.blocked, "cluster not ready") : after(again, "pods not ready")
    return plan(current, { _tag: "NotReady", gate, overdue }, undefined, old.steps, wait, old)
  }
  const action: Action = {
    _tag: "Register",
    server: target.server,
    endpoint: endpointOf(wanted.name, deployment.metadata.namespace ?? "", deployment.spec.restate.servicePath, settings.addresses),
    useHttp11: deployment.spec.restate.useHttp11 ?? undefined,
    force,
    record: {
      ref: replicaSetRef(deployment, wanted.name),
      manager: settings.vocabulary.managers.deploymentId,
      idAnnotation: settings.vocabulary.annotations.deploymentId,
      serverAnnotation: settings.vocabulary.annotations.registeredWith,
    },
    supersedes,
  }
  // Last, and back at once: what becomes of the old versions is decided from a fresh snapshot.
  return plan(
    current,
    { _tag: "Registering" },
    undefined,
    [{ why: force ? "promote" : "register", actions: [action], onFailure: "stop" }],
    soon("registered"),
  )
}

const deployed = (current: Current, id: string): Plan<Verdict> => {
  const old = clean(current, current.version)
  const pods = podsNotReady(current.live, wantedReplicas(current.snapshot.deployment), current.snapshot.pods)
  const wait = pods === undefined ? awaitChange : after(pace(current.snapshot, current.live, pods).again, "pods down")
  const { settings, snapshot, target, version } = current
  // Made by the other operator: from now on it is judged here, wherever the object registers later.
  const claimed = version.claimed
    ? []
    : [
        {
          why: "record the server",
          actions: [claim(snapshot.deployment, version.name, target.server.key, [], settings.vocabulary)],
          onFailure: "next",
        } as const,
      ]
  const decided = plan(current, deployedState(current, old, pods), id, [...claimed, ...old.steps], wait, old)
  // Another object, or a person, may take the traffic at any time: that must not wait for the next resync.
  return { ...decided, interests: [...decided.interests, { server: current.target.server, look: "routing", ids: [id], quiet: true }] }
}

/**
 * The register target was changed under a version that another server may know. That one is written down first, so that
 * whatever goes on there holds the version too (former.ts); then it registers here.
 */
const move = (current: Current): Plan<Verdict> => {
  const { settings, snapshot, target, version, wanted } = current
  // What the annotation says, also when it is nonsense: then nothing is removed until a person has mended it.
  const before = version.replicaSet.metadata.annotations?.[settings.vocabulary.annotations.registeredWith] ?? ""
  const former = [...new Set([...version.former, before.replaceAll(" ", "")])].filter((key) => key !== target.server.key && key !== "")
  const action = claim(snapshot.deployment, wanted.name, target.server.key, former, settings.vocabulary)
  return plan(
    current,
    { _tag: "Registering" },
    undefined,
    [{ why: `move to ${target.server.key}`, actions: [action], onFailure: "stop" }],
    soon("moved"),
  )
}

/**
 * The server knows neither this version nor another one that has pods: it was wiped, or it is the wrong one. This version is
 * registered all the same, because people call it; but from then on the server knows one of ours again, so the others are
 * marked, lest they pass for drained.
 */
const forgotten = ({ others, snapshot, settings, target }: Current, routing: Routing): ReadonlyArray<Step> => {
  const namespace = snapshot.deployment.metadata.namespace ?? ""
  const lost = others.filter(
    (version) =>
      version.replicas > 0 &&
      version.id !== undefined &&
      version.server?.key === target.server.key &&
      !routing.deployments.has(idOn(version, namespace, routing.deployments) ?? ""),
  )
  return lost
    .filter(({ forgottenBy }) => forgottenBy !== target.server.key)
    .map(({ name }) => ({
      why: `${target.server.key} has forgotten ${name}`,
      actions: [markForgotten(snapshot.deployment, name, target.server.key, settings.vocabulary)],
      onFailure: "stop",
    }))
}

const deployedState = (current: Current, { missing, needs }: Cleanup, pods: NotReady | undefined): State => {
  if (missing !== undefined && removalDue(current)) return { _tag: "Unreachable", missing }
  // Which versions drain is part of the message, and not known yet.
  return needs.length > 0 && pods === undefined ? { _tag: "Asking" } : { _tag: "Deployed", pods }
}

/** A drained version's time has come: then a missing answer is worth telling, otherwise it is a blip. */
const removalDue = ({ others, snapshot }: Current): boolean =>
  others.some(({ removeAt, replicas }) => replicas > 0 && removeAt !== undefined && removeAt <= snapshot.now)

/** `latest`: the current version, once it serves here. */
const clean = (current: Current, latest?: Version): Cleanup => {
  const { snapshot, version, others, settings } = current
  const owned = new Set([version, ...others].flatMap(({ id }) => (id === undefined ? [] : [id])))
  return cleanup("rollout", snapshot, others, owned, settings, latest)
}

/** The admin server is away. A healthy object stays Ready for 5 minutes: a blip costs no writes and no alerts. */
const unreachable = (current: Current, id: string, missing: Extract<Look<Routing>, { _tag: "Unknown" }>): Plan<Verdict> => {
  const { snapshot, live } = current
  const { status } = snapshot.deployment
  const blip =
    snapshot.now - missing.since < delays.resync &&
    status?.deploymentId === id &&
    status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") === true
  const pods = podsNotReady(live, wantedReplicas(snapshot.deployment), snapshot.pods)
  return plan(
    current,
    blip ? { _tag: "Deployed", pods } : { _tag: "Unreachable", missing },
    id,
    [],
    after(delays.blocked, "admin API away"),
  )
}

const plan = (
  current: Current,
  state: State,
  id: string | undefined,
  steps: ReadonlyArray<Step>,
  requeue: Requeue,
  old?: Cleanup,
): Plan<Verdict> => ({
  steps: [...current.keep, ...steps],
  requeue: earliest(requeue, old, current.snapshot.now),
  interests: old?.interests ?? [],
  needs: old?.needs ?? [],
  verdict: {
    ...nowhere,
    state,
    wanted: current.wanted,
    server: current.target.server,
    id,
    older: old?.older,
    warnings: [...(old?.warnings ?? []), ...slow(current, old), ...overridden(current)],
  },
})

/** An old version with one invocation that never ends stays for ever, and nothing may force it: at least somebody should know. */
const slow = ({ snapshot }: Current, old: Cleanup | undefined): Verdict["warnings"] => {
  const patience = Math.max(slowest, 12 * drainDelay(snapshot.deployment))
  return (old?.older ?? []).flatMap(({ example, id, state, version }) => {
    const since = Date.parse(snapshot.deployment.status?.versions?.find(({ name }) => name === version)?.since ?? "")
    if (state !== "InUse" || example === undefined || !(snapshot.now - since >= patience)) return []
    const query = `SELECT id, target, status FROM sys_invocation WHERE pinned_deployment_id = '${id ?? ""}' AND status <> 'completed'`
    return [
      {
        reason: "DrainTakesLong",
        note: `${version} is held by unfinished invocations, such as ${example}, and stays until they end. To see them all, ask the server: ${query}`,
      },
    ]
  })
}

/** Milliseconds. */
const slowest = 3_600_000

const overridden = ({ snapshot }: Current): Verdict["warnings"] =>
  namesTarget(snapshot.deployment)
    ? [
        {
          reason: "AutoscalingTargetIgnored",
          note: "spec.autoscaling.scaleTargetRef is not followed: each version's own ReplicaSet is the target",
        },
      ]
    : []

/** The next removal deadline may come before anything else. */
const earliest = (requeue: Requeue, old: Cleanup | undefined, now: number): Requeue => {
  const deadlines = (old?.older ?? []).flatMap(({ removeAt }) => (removeAt === undefined || removeAt <= now ? [] : [removeAt - now]))
  if (old?.missing !== undefined) deadlines.push(delays.blocked)
  if (old !== undefined && old.needs.length > 0) deadlines.push(delays.look)
  if (deadlines.length === 0) return requeue
  const delay = Math.max(delays.floor, Math.min(...deadlines))
  return requeue._tag === "After" && requeue.delay <= delay ? requeue : after(delay, "removal deadline")
}

const after = (delay: number, why: string): Requeue => ({ _tag: "After", delay, why })
const soon = (why: string): Requeue => after(0, why)
