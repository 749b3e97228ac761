/** What a kind is to the engine: four functions and the watches that bring its keys into the queue. */
import type { Effect } from "effect"
import type { AdminReader } from "../admin/admin.ts"
import type { ReadError } from "../errors.ts"
import type { Kind } from "../kubernetes/access.ts"
import type { Index, KubernetesReader, Objects } from "../kubernetes/kubernetes.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import type { Plan, Report, Requeue } from "./plan.ts"
import type { PolicyName } from "./policies.ts"
import type { Priority } from "./wake.ts"

/** Name of an object of ours. */
export interface Name {
  readonly namespace?: string
  readonly name: string
}

/** Something people should be told once: an event on the object. */
export interface Announcement {
  readonly type: "Normal" | "Warning"
  readonly reason: string
  /** At most 1 KiB reaches the API server. */
  readonly note: string
  readonly action: "Reconcile" | "Deleting" | "WaitForCRD"
}

/** What a pass comes to. */
export interface Conclusion {
  /** The whole status as it should be; written only when it differs. Absent: leave it alone. */
  readonly status: { readonly [field: string]: unknown } | undefined
  readonly announcements: ReadonlyArray<Announcement>
  /** `Retry` takes its delay from the policy, growing with each failure of this key in a row. */
  readonly requeue: Requeue | { readonly _tag: "Retry"; readonly policy: PolicyName }
  /** `ok`, `waiting`, or the metric label of the error. */
  readonly outcome: string
}

/** What the queue has to know about a pass; status, events and the rest have been seen to. */
export type Passed = Pick<Conclusion, "requeue" | "outcome">

/** One kind, as main.ts hands it to the runtime. */
export interface KindController<Snapshot, Verdict> {
  readonly kind: Kind
  /** `undefined` when the object is gone. A failed Kubernetes read aborts the pass: no snapshot, no decision. */
  readonly observe: (name: Name) => Effect.Effect<Snapshot | undefined, ReadError, KubernetesReader | AdminReader>
  /** Pure and total. */
  readonly decide: (snapshot: Snapshot) => Plan<Verdict>
  /** Pure. */
  readonly conclude: (snapshot: Snapshot, plan: Plan<Verdict>, report: Report) => Conclusion
  /** The object a snapshot is of: where status and events go, and what act checks before it destroys. */
  readonly object: (snapshot: Snapshot) => KubernetesObject
  readonly watches: ReadonlyArray<AnyWatch>
}

/** Whom a change brings back: one object of the controller's kind by name, or all that an index of its kind finds. */
export type Wakeup =
  | { readonly name: Name; readonly priority: Priority }
  | { readonly index: Index; readonly value: string; readonly priority: Priority }

/** A watched kind and whose passes it causes. */
export interface Watch<K extends keyof Objects> {
  readonly kind: K
  /** Pure. `before` is absent for an addition, `after` for a deletion; an empty answer wakes nobody. */
  readonly wakes: (before: Objects[K] | undefined, after: Objects[K] | undefined) => ReadonlyArray<Wakeup>
}

/** One watch of one of these kinds. Generic, so that code over any watch still knows that `kind` and `wakes` belong together. */
export type AnyWatch<K extends keyof Objects = keyof Objects> = { [P in K]: Watch<P> }[K]
