/** `status.versions`: why each version is still there, and since when. The only memory of that which outlives the process. */
import type { Report } from "../engine/plan.ts"
import type { ServiceDeployment, VersionStatus } from "../resources/generated/service-deployment.ts"
import { rfc3339, rfc3339NotBefore } from "../resources/time.ts"
import { rounded } from "./ready.ts"
import type { Snapshot } from "./snapshot.ts"
import type { Older, Verdict } from "./verdict.ts"

/**
 * The verdict with what was last known of versions whose server is silent now: a blip of the server changes no text, and so
 * costs no write. Only for people: nothing is decided upon it.
 */
export const recalled = (verdict: Verdict, { deployment, replicaSets }: Snapshot): Verdict => {
  const { wanted } = verdict
  if (wanted === undefined && verdict.older === undefined) return verdict
  const before = deployment.status?.versions ?? []
  const names = replicaSets.map(({ metadata }) => metadata.name).filter((name) => name !== wanted?.name)
  const listed = names.toSorted((a, b) => placeIn(before, a) - placeIn(before, b))
  return { ...verdict, older: (verdict.older ?? listed.map(unseen)).map((version) => recall(version, before)) }
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
  if (entry === undefined || entry.state === "Current") return older
  const removeAt = Date.parse(entry.removeAt ?? "")
  return {
    ...older,
    state: entry.state,
    id: entry.deploymentId ?? older.id,
    pinned: entry.pinned ?? 0,
    unpinned: entry.unpinned ?? 0,
    removeAt: Number.isNaN(removeAt) ? undefined : removeAt,
  }
}

export const versions = (
  snapshot: Snapshot,
  { older, wanted }: Verdict,
  id: string | undefined,
  report: Report,
): ReadonlyArray<VersionStatus> => {
  const { deployment, now, replicaSets } = snapshot
  const before = deployment.status?.versions ?? []
  const known = (older ?? []).map(entryOf)
  const listed = new Set([wanted?.name, ...known.map(({ name }) => name)])
  // What this pass has said nothing about, or wanted to remove and could not.
  const left = replicaSets
    .map(({ metadata }) => metadata.name)
    .filter((name) => !listed.has(name) && !isGone(name, report))
    .toSorted()
    .map((name) => before.find((entry) => entry.name === name && (wanted === undefined || entry.state !== "Current")) ?? unknown(name))
  const current: ReadonlyArray<VersionStatus> =
    wanted === undefined ? [] : [{ name: wanted.name, state: "Current", ...(id ? { deploymentId: id } : {}) }]
  return [...current, ...known, ...left].map((entry) => ({ ...entry, since: since(entry, before) ?? rfc3339(now) }))
}

const unknown = (name: string): VersionStatus => ({ name, state: "Unknown" })

const entryOf = ({ id, pinned, removeAt, state, unpinned, version }: Older): VersionStatus => ({
  name: version,
  state,
  ...(id ? { deploymentId: id } : {}),
  ...(state === "InUse" ? { pinned: rounded(pinned), unpinned: rounded(unpinned) } : {}),
  ...(removeAt === undefined ? {} : { removeAt: rfc3339NotBefore(removeAt) }),
})

const isGone = (name: string, { outcomes }: Report): boolean =>
  outcomes.some(
    ({ _tag, action }) => _tag === "Done" && action._tag === "Delete" && action.ref.kind === "ReplicaSet" && action.ref.name === name,
  )

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
    totalPendingInvocations: pending.reduce((sum, { pinned, unpinned }) => sum + pinned + unpinned, 0),
    ...(pending.length === 0 ? {} : { pendingInvocations: pending }),
  }
}

const pendingOf = ({ id, pinned, unpinned, version }: Older) => ({
  version,
  ...(id === undefined ? {} : { deploymentId: id }),
  pinned: rounded(pinned),
  unpinned: rounded(unpinned),
})
