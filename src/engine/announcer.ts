/** Tells people what happened to an object, once for each change of what there is to say. */
import { Context, type Effect } from "effect"
import type { KubernetesObject } from "../resources/meta.ts"
import type { Announcement } from "./kind.ts"

export class Announcer extends Context.Service<
  Announcer,
  {
    /** Never fails: an event that cannot be sent is logged. Repeats are counted, not sent. */
    readonly announce: (object: KubernetesObject, announcement: Announcement) => Effect.Effect<void>
  }
>()("service-operator/engine/Announcer") {}
