/** What an answer about unfinished work proves, and until when (law 3). */
import type { Usage } from "../admin/admin.ts"
import type { AdminServer } from "../engine/action.ts"
import type { Need } from "../engine/plan.ts"
import { freshness, usagePoll } from "../engine/policies.ts"
import type { Missing } from "./verdict.ts"
import { type Look, lookSince, type Snapshot, unasked } from "./snapshot.ts"

/** A poll that came just before counts; an answer older than one and a half polls does not. */
const pollAge = usagePoll * 1.5

/** What the version's server says of all work, if that may be believed. What it said before somebody deleted the object may not: the latest version got new work until then. */
export const usageOf = (snapshot: Snapshot, server: AdminServer): Look<Usage> => {
  const { usage, touchedAt } = snapshot.admin.get(server.key) ?? unasked
  // A registration of ours is under way there: what the server said before it means nothing, and asking now neither.
  if (touchedAt === Infinity) return { _tag: "Unknown", because: "a registration is in flight", rejected: false, since: snapshot.now }
  return lookSince(usage, Math.max(touchedAt, snapshot.now - pollAge, deletedAt(snapshot)))
}

/** Asked now or later: an answer from before our own last change of the routing would only be asked for again. */
export const needUsage = (snapshot: Snapshot, server: AdminServer): Need => ({
  server,
  look: "usage",
  since: Math.max(snapshot.now, deletedAt(snapshot), snapshot.admin.get(server.key)?.touchedAt ?? 0),
})

/** Law 3: asked after the deadline, after our own last change of that server's routing, and less than 5 s ago. */
export const provenSince = (snapshot: Snapshot, server: AdminServer, removeAt: number | undefined): number =>
  Math.max(snapshot.admin.get(server.key)?.touchedAt ?? 0, snapshot.now - freshness, removeAt ?? 0, deletedAt(snapshot))

/** What people read when nothing can be proven because each answer is too old when it arrives; undefined when it is worth asking again. */
export const tooSlow = ({ key }: AdminServer, { took }: { readonly took: number }): Missing | undefined =>
  took < freshness
    ? undefined
    : {
        because: `${key} takes ${(took / 1000).toFixed(0)} s to answer, and nothing is promoted or removed on an answer older than ${freshness / 1000} s`,
        rejected: false,
      }

/** What was begun before somebody deleted the object counts, also without a drain delay. The timestamp has whole seconds. 0 when it is not being deleted. */
export const deletedAt = ({ deployment }: Snapshot): number =>
  deployment.metadata.deletionTimestamp === undefined ? 0 : Date.parse(deployment.metadata.deletionTimestamp) + 999
