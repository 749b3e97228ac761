/** Whether the current version has to be registered, promoted, or left alone (operator.md §3.8). Work in flight has no say here. */
import type { Routing } from "../admin/admin.ts"
import { delays } from "../engine/policies.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { readyCondition, rejectedReason } from "./conditions.ts"

export type Registration =
  /** Unknown to the server: a plain registration, which is harmless when repeated. */
  | { readonly _tag: "Register" }
  /** All of its services are routed to it; `services` may be empty, then there is nothing to route. */
  | { readonly _tag: "AlreadyLatest"; readonly services: ReadonlyArray<string> }
  /** Known, but another version of ours serves some of it. */
  | { readonly _tag: "Promote"; readonly supersedes: string }
  /** Somebody else serves some of it: neither routing nor old versions are touched. */
  | { readonly _tag: "Foreign"; readonly holders: ReadonlyArray<Holder> }

/** Who serves something in our place. */
export interface Holder {
  readonly service: string
  readonly id: string
  /** Its address: for another object's version it begins with that version's name. */
  readonly endpoint: string
}

/**
 * Decides service by service, so that a version that lost only one of its services is promoted, too.
 * `owned` are the ids of all versions of this object.
 */
export const registration = (id: string | undefined, routing: Routing, owned: ReadonlySet<string>): Registration => {
  const services = id === undefined ? undefined : routing.deployments.get(id)?.services
  if (services === undefined) return { _tag: "Register" }
  const elsewhere = services.flatMap((service) => {
    const holder = routing.services.get(service)
    return holder === undefined || holder === id ? [] : [{ service, id: holder, endpoint: routing.deployments.get(holder)?.endpoint ?? "" }]
  })
  if (elsewhere.length === 0) return { _tag: "AlreadyLatest", services }
  const foreign = elsewhere.filter((holder) => !owned.has(holder.id))
  if (foreign.length > 0) return { _tag: "Foreign", holders: foreign.toSorted((a, b) => (a.service < b.service ? -1 : 1)) }
  const [supersedes = ""] = elsewhere.map((holder) => holder.id).toSorted()
  return { _tag: "Promote", supersedes }
}

/**
 * The message of a rejection of this very generation: asking again would only be refused again. CRDs of the other
 * operator prune a condition's observedGeneration, so the status' own counts as well.
 */
export const rejectedBefore = (deployment: ServiceDeployment, now: number): string | undefined => {
  const ready = readyCondition(deployment)
  const seen = ready?.observedGeneration ?? deployment.status?.observedGeneration
  if (ready?.reason !== rejectedReason || seen !== deployment.metadata.generation) return undefined
  // A window as long as the longest time between two resyncs: one or two passes of each half hour fall into it and ask.
  const stalledFor = now - (Date.parse(ready.lastTransitionTime ?? "") || now)
  const again = stalledFor >= delays.secondLook && stalledFor % delays.secondLook < delays.resync + delays.resyncSpread
  return again ? undefined : (ready.message ?? "")
}
