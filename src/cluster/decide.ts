/** From a snapshot to a plan. Pure and total. Read from the top, in the order of a pass (operator.md §2.1). */
import type { Action, Desired, Ref } from "../engine/action.ts"
import { hold, release } from "../engine/finalizer.ts"
import { awaitChange, type Plan, type Requeue, type Step } from "../engine/plan.ts"
import { delays } from "../engine/policies.ts"
import type { ClusterSettings, Given } from "./given.ts"
import { serviceAccount } from "./parts/account.ts"
import { configMap, configName } from "./parts/configuration.ts"
import { disruptionBudget } from "./parts/disruption-budget.ts"
import { namespace } from "./parts/namespace.ts"
import { networkPolicies, policyNames } from "./parts/network-policies.ts"
import { clientService, nodeService } from "./parts/services.ts"
import { statefulSet } from "./parts/stateful-set.ts"
import { needsProvisioning, provisioningAddress } from "./provisioning.ts"
import { rolledOut } from "./roll-out.ts"
import { replicas } from "./scaling.ts"
import type { Snapshot } from "./snapshot.ts"
import { claimUpdates, outgrown } from "./storage.ts"
import { invalidSpec } from "./validation.ts"
import type { State, Verdict } from "./verdict.ts"

export const decide = (snapshot: Snapshot, settings: ClusterSettings): Plan<Verdict> => {
  const { cluster } = snapshot
  const given = { cluster, settings }
  if (cluster.metadata.deletionTimestamp !== undefined)
    // Everything else goes by garbage collection.
    return plan(release("cluster", cluster, settings.vocabulary.resources.cluster.finalizer), { _tag: "Deleted" }, awaitChange)
  if (cluster.metadata.annotations?.[settings.vocabulary.annotations.reconcile] === "disabled")
    return plan([], { _tag: "Suspended" }, awaitChange)
  const invalid = invalidSpec(given)
  if (invalid !== undefined) return plan([], invalid, after(delays.resync, "an invalid spec"))
  // What is made in it would be refused, and what is there goes.
  if (snapshot.namespace === "Terminating")
    return plan([], { _tag: "NamespaceTerminating" }, after(delays.blocked, "the namespace is on its way out"))
  return carryOut(snapshot, given)
}

const carryOut = (snapshot: Snapshot, given: Given): Plan<Verdict> => {
  const { server, gate } = pods(snapshot, given)
  const steps = [
    ...hold("cluster", given.cluster, given.settings.vocabulary.resources.cluster.finalizer),
    ...(snapshot.namespace === "Foreign" ? [] : [step("the namespace", apply(given, namespace(given)))]),
    step("who may talk to whom", ...policies(snapshot, given)),
    step("the identity of the pods", apply(given, serviceAccount(given))),
    step("the configuration", apply(given, configMap(given))),
    step("the addresses", apply(given, clientService(given)), apply(given, nodeService(given))),
    step("how many may be away", apply(given, disruptionBudget(given))),
    ...server,
  ]
  return plan(steps, gate?.state ?? { _tag: "Applied" }, gate?.requeue ?? after(delays.resync, "resync"))
}

interface Gate {
  readonly state: State
  readonly requeue: Requeue
}

/** Volumes, pods and what follows upon them. A gate that is not open leaves out everything after it. */
const pods = (snapshot: Snapshot, given: Given): { readonly server: ReadonlyArray<Step>; readonly gate?: Gate } => {
  const { claims, statefulSet: live } = snapshot
  const updates = claimUpdates(given, claims)
  // Patched first: a claim that cannot grow refuses, and the StatefulSet stays as it is.
  const grow = updates.length === 0 ? [] : [step("the size of the volumes", ...updates)]
  const unbound = claims.find(({ status }) => status?.phase !== "Bound")
  // Without a StatefulSet nothing would ever bind it.
  if (unbound !== undefined && live !== undefined) {
    const state = { _tag: "ClaimNotBound", claim: unbound.metadata.name, phase: unbound.status?.phase ?? "" } as const
    return { server: grow, gate: { state, requeue: after(delays.notReady, "a volume") } }
  }
  if (live?.metadata.deletionTimestamp !== undefined) {
    const state = { _tag: "Replacing", why: "it was deleted" } as const
    return { server: grow, gate: { state, requeue: after(delays.soon, "the StatefulSet is on its way out") } }
  }
  const why = live === undefined ? undefined : outgrown(given, live)
  if (live !== undefined && why !== undefined) {
    const replace = step(why, { _tag: "Delete", ref: refOf(given), uid: live.metadata.uid, orphan: true })
    return {
      server: [...grow, replace],
      gate: { state: { _tag: "Replacing", why }, requeue: after(delays.soon, "the StatefulSet is made anew") },
    }
  }
  const { held, now } = replicas(given, snapshot)
  const server = [...grow, step("the pods", apply(given, statefulSet(given, now)))]
  if (needsProvisioning(given.cluster)) return { server: [...server, ...provision(snapshot, given)], gate: provisioningGate(snapshot) }
  const gate =
    held === undefined
      ? {}
      : { gate: { state: { _tag: "ScaleDownHeld", ...held } as const, requeue: after(delays.notReady, "fewer nodes") } }
  return { server: [...server, ...prune(snapshot, given)], ...gate }
}

const refOf = ({ cluster, settings }: Given): Ref => ({
  kind: "StatefulSet",
  namespace: cluster.metadata.name,
  name: settings.vocabulary.service,
})

/** Before its pods are ready, which they only are when it is done. */
const provision = ({ firstPod }: Snapshot, given: Given): ReadonlyArray<Step> =>
  firstPod === "Running" ? [step("lay out the data", { _tag: "Provision", address: provisioningAddress(given) })] : []

const provisioningGate = ({ firstPod }: Snapshot): Gate =>
  firstPod === "Running"
    ? { state: { _tag: "Provisioning" }, requeue: after(0, "goes on as soon as that is written down") }
    : { state: { _tag: "PodNotRunning", phase: firstPod }, requeue: after(delays.soon, "the first pod") }

/** Those of today, and away with those of yesterday. */
const policies = ({ policies: live }: Snapshot, given: Given): ReadonlyArray<Action> => {
  const wanted = networkPolicies(given)
  const ours = new Set(policyNames(given))
  const kept = new Set(wanted.map(({ ref }) => ref.name))
  const gone = live.filter(({ metadata: { name } }) => ours.has(name) && !kept.has(name))
  return [...wanted.map((policy) => apply(given, policy)), ...gone.map(({ metadata }) => remove(given, "NetworkPolicy", metadata))]
}

/** Configurations that no pod runs with any more: only once all pods are those of this template, so that a pod of before can still restart. */
const prune = ({ configMaps, statefulSet: live }: Snapshot, given: Given): ReadonlyArray<Step> => {
  const name = configName(given)
  const used = live?.spec.template?.spec?.volumes?.some(({ configMap: volume }) => volume?.name === name) === true
  if (live === undefined || !used || !rolledOut(live)) return []
  const { config } = given.settings.vocabulary.server
  const old = configMaps.filter(({ metadata }) => metadata.name.startsWith(`${config}-`) && metadata.name !== name)
  return old.length === 0 ? [] : [step("configurations of before", ...old.map(({ metadata }) => remove(given, "ConfigMap", metadata)))]
}

const apply = ({ settings }: Given, object: Desired): Action => ({ _tag: "Apply", object, manager: settings.vocabulary.managers.main })

const remove = ({ cluster }: Given, kind: Ref["kind"], { name, uid }: { readonly name: string; readonly uid: string }): Action => ({
  _tag: "Delete",
  ref: { kind, namespace: cluster.metadata.name, name },
  uid,
})

/** A server is one thing: what comes later rests on what came before. */
const step = (why: string, ...actions: ReadonlyArray<Action>): Step => ({ why, actions, onFailure: "stop" })

const after = (delay: number, why: string): Requeue => ({ _tag: "After", delay, why })

const plan = (steps: ReadonlyArray<Step>, state: State, requeue: Requeue): Plan<Verdict> => ({
  steps,
  requeue,
  interests: [],
  needs: [],
  verdict: { state },
})
