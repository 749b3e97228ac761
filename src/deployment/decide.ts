/** From a snapshot to a plan. Pure and total: this is where the product lives. Read from the top, in the order of a pass. */
import type { Action } from "../engine/action.ts"
import { awaitChange, type Plan, type Step } from "../engine/plan.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { decideDeletion } from "./deletion.ts"
import { managedBy } from "./propagation.ts"
import { replicaSet } from "./replica-set.ts"
import { rollOut } from "./rollout.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import { registerTarget, type Target } from "./target.ts"
import { invalidSpec } from "./validation.ts"
import { nowhere, type State, type Verdict } from "./verdict.ts"
import { type Wanted, wantedVersion } from "./version.ts"

export const decide = (snapshot: Snapshot, settings: DeploymentSettings): Plan<Verdict> => {
  const { deployment } = snapshot
  const target = registerTarget(deployment.spec?.restate?.register, settings.addresses)
  // A deletion is carried out also for a suspended object: else its owner could not get rid of it.
  if (deployment.metadata.deletionTimestamp !== undefined) return decideDeletion(snapshot, target, settings)
  if (isSuspended(deployment, settings)) return nothing({ ...nowhere, state: { _tag: "Suspended" } })
  const invalid = invalidSpec(deployment, settings.addresses)
  if (invalid !== undefined) return nothing({ ...nowhere, state: invalid })
  if (target._tag === "Invalid") return nothing({ ...nowhere, state: target })
  return decideVersion(snapshot, target, wantedVersion(deployment), settings)
}

/** Exactly `disabled`: whoever writes something else is told by the object going on. */
const isSuspended = ({ metadata }: ServiceDeployment, { vocabulary }: DeploymentSettings): boolean =>
  metadata.annotations?.[vocabulary.annotations.reconcile] === "disabled"

/** Nothing is created, and nothing is removed: for a spec that cannot be understood, and while the object is suspended. */
const nothing = (verdict: Verdict): Plan<Verdict> => ({ steps: [], requeue: awaitChange, interests: [], needs: [], verdict })

const decideVersion = (snapshot: Snapshot, target: Target, wanted: Wanted, settings: DeploymentSettings): Plan<Verdict> => {
  const live = snapshot.replicaSets.find(({ metadata }) => metadata.name === wanted.name)
  const verdict = (state: State): Verdict => ({ ...nowhere, state, wanted, server: target.server })
  if (live === undefined) return create(snapshot, wanted, target, verdict({ _tag: "Starting" }), settings)
  if (live.metadata.annotations?.[settings.vocabulary.annotations.podTemplate] !== wanted.template) {
    return nothing(verdict({ _tag: "Collision" }))
  }
  return rollOut({ snapshot, target, wanted, live, settings, before: hold(snapshot, settings) })
}

const create = (snapshot: Snapshot, wanted: Wanted, { server }: Target, verdict: Verdict, settings: DeploymentSettings): Plan<Verdict> => ({
  steps: [
    ...hold(snapshot, settings),
    {
      why: `new version ${wanted.name}`,
      actions: [
        {
          _tag: "Create",
          object: replicaSet(snapshot.deployment, wanted, server.key, settings.vocabulary),
          owner: snapshot.deployment.metadata.uid,
          labels: managedBy(snapshot.deployment, settings.vocabulary),
        },
      ],
      onFailure: "stop",
    },
  ],
  // The Service names the ReplicaSet as its owner, so it needs the UID that only the answer tells.
  requeue: { _tag: "After", delay: 0, why: "the version was created" },
  interests: [],
  needs: [],
  verdict,
})

/** Before anything else is made: from here on the object cannot vanish while a version has work. */
const hold = ({ deployment }: Snapshot, { vocabulary }: DeploymentSettings): ReadonlyArray<Step> => {
  const finalizers = deployment.metadata.finalizers ?? []
  const { finalizer } = vocabulary.resources.deployment
  if (finalizers.includes(finalizer)) return []
  const ref = { kind: "deployment", namespace: deployment.metadata.namespace ?? "", name: deployment.metadata.name } as const
  const action: Action = { _tag: "Hold", ref, resourceVersion: deployment.metadata.resourceVersion, finalizers: [...finalizers, finalizer] }
  return [{ why: "hold until versions are drained", actions: [action], onFailure: "stop" }]
}
