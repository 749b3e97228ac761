/** All that one decision about a ServiceDeployment rests on: a picture of both servers at one moment. */
import type { Routing, Usage } from "../admin/admin.ts"
import type { Observed } from "../engine/plan.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { HorizontalPodAutoscaler, Pod, ReplicaSet } from "../resources/kubernetes.ts"
import type { Vocabulary } from "../vocabulary.ts"
import type { Addresses } from "./target.ts"

export interface Snapshot {
  /** Epoch milliseconds. */
  readonly now: number
  readonly deployment: ServiceDeployment
  /** All ReplicaSets whose controlling owner is this object, by UID. */
  readonly replicaSets: ReadonlyArray<ReplicaSet>
  /** The autoscalers that we made for this object, by name, which is that of their version. */
  readonly autoscalers: ReadonlyMap<string, HorizontalPodAutoscaler>
  /** Some pods of the current version; looked at only when they have not come up for a while. */
  readonly pods: ReadonlyArray<Pod>
  /** Names of versions whose Service has at least one ready address. */
  readonly routable: ReadonlySet<string>
  /** The ServiceCluster of `register.cluster`. */
  readonly cluster: ClusterState
  /** Keys of servers whose ServiceCluster is proven gone, of all that versions name; only looked at in a deletion. */
  readonly gone: ReadonlySet<string>
  /** What is known of each admin server that the object or one of its versions names, by server key. */
  readonly admin: ReadonlyMap<string, AdminView>
}

export type ClusterState =
  | { readonly _tag: "NotUsed" }
  | { readonly _tag: "Present"; readonly name: string; readonly ready: boolean; readonly message: string }
  /** `proven`: a live read answered 404. The cache alone proves nothing. */
  | { readonly _tag: "Absent"; readonly proven: boolean }

export interface AdminView {
  readonly routing: Observed<Routing>
  readonly usage: Observed<Usage>
  /** When the operator itself last changed the routing of this object's services there; Infinity while it does. */
  readonly touchedAt: number
}

/** What the decision depends on besides the snapshot; fixed for the life of the process. */
export interface DeploymentSettings {
  readonly vocabulary: Vocabulary
  readonly addresses: Addresses
}

export const unasked: AdminView = { routing: { _tag: "Unasked" }, usage: { _tag: "Unasked" }, touchedAt: 0 }

/** An answer that may be used, the reason why there is none, or the wish to be asked (again). */
export type Look<A> =
  | { readonly _tag: "Known"; readonly value: A; readonly askedAt: number; readonly took: number }
  | { readonly _tag: "Unknown"; readonly because: string; readonly rejected: boolean; readonly since: number }
  | { readonly _tag: "Stale" }

/** An answer asked before `since` (epoch milliseconds), good or bad, says nothing. */
export const lookSince = <A>(observed: Observed<A>, since: number): Look<A> => {
  if (observed._tag === "Unasked" || observed.askedAt < since) return { _tag: "Stale" }
  if (observed._tag === "Unseen") return { _tag: "Unknown", because: observed.because, rejected: observed.rejected, since: observed.since }
  return { _tag: "Known", value: observed.value, askedAt: observed.askedAt, took: observed.took }
}
