/** The one way back into the queue for sources that are not watches: looks, lanes, recovered servers. */
import { Context, type Effect } from "effect"

/** `kind/namespace/name`: one object of ours, one entry in the queue. */
export type Key = string

/** Why a key comes back; edits by people overtake changes of the world, and both overtake resyncs. */
export type Priority = "user" | "world" | "resync"

export class Wake extends Context.Service<Wake, { readonly wake: (key: Key, priority: Priority) => Effect.Effect<void> }>()(
  "service-operator/engine/Wake",
) {}

/** The key of an object; cluster-scoped objects have an empty namespace in it. */
export const keyOf = (kind: string, name: { readonly namespace?: string; readonly name: string }): Key =>
  `${kind}/${name.namespace ?? ""}/${name.name}`
