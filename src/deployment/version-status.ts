/** `status.versions`: why each version is still there, and since when. The only memory of that which outlives the process. */
import type { Report } from "../engine/plan.ts"
import type { ServiceDeployment, VersionStatus } from "../resources/generated/service-deployment.ts"
import { rfc3339, rfc3339NotBefore } from "../resources/time.ts"
import { rounded } from "./ready.ts"
import type { Snapshot } from "./snapshot.ts"
import type { Older, Verdict } from "./verdict.ts"

/**
 * The verdict with what was last known of versions that this pass says nothing new of: their server is silent, or they were
 * to go and have not gone yet. A blip changes no text, and so costs no write. Only for people: nothing is decided upon it.
 */
export const recalled = (verdict: Verdict, { deployment, replicaSets }: Snapshot, report: Report): Verdict => {
  const { older, wanted } = verdict
  if (wanted === undefined && older === undefined) return verdict
  const before = deployment.status?.versions ?? []
  const listed = new Set([wanted?.name, ...(older ?? []).map(({ version }) => version)])
  const left = replicaSets
    .map(({ metadata }) => metadata.name)
    .filter((name) => !listed.has(name) && !isGone(name, report))
    .toSorted((a, b) => placeIn(before, a) - placeIn(before, b))
  return { ...verdict, older: [...(older ?? []), ...left.map(unseen)].map((version) => recall(version, before)) }
}

const placeIn = (versions: ReadonlyArray<VersionStatus>, wanted: string): number => versions.findIndex(({ name }) => name === wanted)

const unseen = (version: string): Older => ({
  version,
  state: "Unknown",
  id: undefined,
  pinned: 0,
  unpinned: 0,
  example: undefined,
  removeAt: undefined,
})

const recall = (older: Older, before: ReadonlyArray<VersionStatus>): Older => {
  const entry = older.state === "Unknown" ? before.find(({ name }) => name === older.version) : undefined
  if (entry === undefined) return older
  // Nobody has counted the work of what was current a moment ago: without an answer no number is true, least of all zero.
  if (entry.state === "Current" && older.silent === true) return { ...older, id: entry.deploymentId ?? older.id }
  const removeAt = Date.parse(entry.removeAt ?? "")
  return {
    ...older,
    // What was the current version a moment ago gets all new work until another one has been registered.
    state: entry.state === "Current" ? "InUse" : entry.state,
    id: entry.deploymentId ?? older.id,
    pinned: entry.pinned ?? 0,
    unpinned: entry.unpinned ?? 0,
    removeAt: Number.isNaN(removeAt) ? undefined : removeAt,
  }
}

const isGone = (name: string, { outcomes }: Report): boolean =>
  outcomes.some(
    ({ _tag, action }) => _tag === "Done" && action._tag === "Delete" && action.ref.kind === "ReplicaSet" && action.ref.name === name,
  )

/** `status.versions` of a verdict that has been {@link recalled}. */
export const versions = (snapshot: Snapshot, { older, wanted }: Verdict, id: string | undefined): ReadonlyArray<VersionStatus> => {
  const { deployment, now } = snapshot
  const before = deployment.status?.versions ?? []
  if (older === undefined) return before
  const current: ReadonlyArray<VersionStatus> =
    wanted === undefined ? [] : [{ name: wanted.name, state: "Current", ...(id ? { deploymentId: id } : {}) }]
  return [...current, ...older.map(entryOf)].map((entry) => ({ ...entry, since: since(entry, before) ?? rfc3339(now) }))
}

const entryOf = ({ id, pinned, removeAt, state, unpinned, version }: Older): VersionStatus => ({
  name: version,
  state,
  ...(id ? { deploymentId: id } : {}),
  ...(state === "InUse" ? { pinned: rounded(pinned), unpinned: rounded(unpinned) } : {}),
  ...(removeAt === undefined ? {} : { removeAt: rfc3339NotBefore(removeAt) }),
})

const since = ({ name, state }: VersionStatus, before: ReadonlyArray<VersionStatus>): string | undefined =>
  before.find((entry) => entry.name === name && entry.state === state)?.since ?? undefined

/** `status.deletion` (operator.md §8.1); undefined when the object is not being deleted. */
export const deletionStatus = (
  { deployment }: Snapshot,
  { deletion, older }: Verdict,
  message: string,
): NonNullable<ServiceDeployment["status"]>["deletion"] | undefined => {
  if (deletion === undefined) return undefined
  const { deadline, onTimeout, phase, policy, startedAt } = deletion
  const before = deployment.status?.deletion?.pendingInvocations ?? []
  const pending = older === undefined ? before : older.filter(({ state }) => state === "InUse").map(pendingOf)
  return {
    policy,
    phase,
    startedAt: rfc3339(startedAt),
    ...(deadline === undefined ? {} : { deadline: rfc3339(deadline) }),
    ...(onTimeout === undefined ? {} : { onTimeout }),
    message,
    ...(older?.some(({ silent, state }) => silent === true && state === "Unknown") === true
      ? {}
      : { totalPendingInvocations: pending.reduce((sum, { pinned, unpinned }) => sum + pinned + unpinned, 0) }),
    ...(pending.length === 0 ? {} : { pendingInvocations: pending }),
  }
}

const pendingOf = ({ id, pinned, unpinned, version }: Older) => ({
  version,
  ...(id === undefined ? {} : { deploymentId: id }),
  pinned: rounded(pinned),
  unpinned: rounded(unpinned),
})
