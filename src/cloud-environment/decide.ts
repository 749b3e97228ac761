/** From a snapshot to a plan. Pure and total. */
import type { Action, Desired } from "../engine/action.ts"
import { hold, release } from "../engine/finalizer.ts"
import { awaitChange, type Plan, type Requeue, type Step } from "../engine/plan.ts"
import { delays } from "../engine/policies.ts"
import type { EnvironmentSettings, Given } from "./given.ts"
import { tunnelDeployment } from "./parts/deployment.ts"
import { tunnelService } from "./parts/service.ts"
import type { Snapshot } from "./snapshot.ts"
import { findToken } from "./token.ts"
import { invalidSpec } from "./validation.ts"
import type { State, Verdict } from "./verdict.ts"

export const decide = (snapshot: Snapshot, settings: EnvironmentSettings): Plan<Verdict> => {
  const { environment } = snapshot
  const { annotations, resources } = settings.vocabulary
  const { finalizer } = resources.environment
  // The children are owned by it: they go by garbage collection.
  if (environment.metadata.deletionTimestamp !== undefined)
    return plan(release("environment", environment, finalizer), { _tag: "Deleted" }, awaitChange)
  if (environment.metadata.annotations?.[annotations.reconcile] === "disabled") return plan([], { _tag: "Suspended" }, awaitChange)
  const given = { environment, settings }
  const invalid = invalidSpec(given)
  if (invalid !== undefined) return plan([], invalid, resync("an invalid spec"))
  const token = findToken(snapshot)
  const before = [...hold("environment", environment, finalizer), step("the address", apply(given, tunnelService(given)))]
  // The watch of the Secret brings it back.
  if (token._tag !== "Found") return plan(before, token, resync("the API token"))
  return plan([...before, step("the pods", apply(given, tunnelDeployment(given, token.digest)))], { _tag: "Applied" }, resync("resync"))
}

const apply = ({ settings }: Given, object: Desired): Action => ({ _tag: "Apply", object, manager: settings.vocabulary.managers.main })

/** An address that cannot be made is no reason to leave the pods as they are. */
const step = (why: string, ...actions: ReadonlyArray<Action>): Step => ({ why, actions, onFailure: "next" })

const resync = (why: string): Requeue => ({ _tag: "After", delay: delays.resync, why })

const plan = (steps: ReadonlyArray<Step>, state: State, requeue: Requeue): Plan<Verdict> => ({
  steps,
  requeue,
  interests: [],
  needs: [],
  verdict: { state },
})
