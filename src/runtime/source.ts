/** Where changes come from: what the controllers need of the reflectors, and nothing else. watch.ts and cache.ts stand behind it. */
import { Context, type Effect } from "effect"
import type { Forbidden, Rejected } from "../errors.ts"
import type { Kind } from "../kubernetes/access.ts"
import type { Objects } from "../kubernetes/kubernetes.ts"

/** One change of one object, in the order in which the cache took it. */
export interface Change<K extends keyof Objects> {
  /** Absent for an addition. */
  readonly before: Objects[K] | undefined
  /** Absent for a deletion. */
  readonly after: Objects[K] | undefined
  /** True for the additions of the first list, and for what is there already when somebody subscribes: nobody has just done this. */
  readonly initial: boolean
}

export class Source extends Context.Service<
  Source,
  {
    /**
     * Hears of every object of a kind: first of those that are there, then of every change. The listener is called
     * synchronously and must not throw; calling the returned function ends the subscription.
     */
    readonly subscribe: <K extends keyof Objects>(kind: K, listener: (change: Change<K>) => void) => () => void
    /**
     * Waits until the cache has the first whole list of a kind. A kind that the API server does not serve (yet) is
     * waited for, as is a server that does not answer; a server that refuses us for good is a failure.
     */
    readonly synced: (kind: Kind) => Effect.Effect<void, Forbidden | Rejected>
    /** Kinds that the API server does not serve at the moment: their CRD is not there, or not any more. */
    readonly missing: Effect.Effect<ReadonlySet<Kind>>
  }
>()("service-operator/runtime/Source") {}
