/** Conditions as kstatus, Argo and Flux read them: Ready always, Reconciling and Stalled only while they are True. */
import type { Condition } from "../resources/meta.ts"
import { rfc3339 } from "../resources/time.ts"

export interface Ready {
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
  /** Progress is expected without anybody's help. */
  readonly reconciling?: boolean
  /** Only a change of the object, or of what it names, can help; a text is the reason, if it is another than Ready's. */
  readonly stalled?: boolean | string
}

/** Longest message that the API server takes without help from us; far beyond what anybody reads. */
const longest = 4096

export const conditions = (
  before: ReadonlyArray<Condition> | null | undefined,
  ready: Ready,
  generation: number,
  now: number,
): ReadonlyArray<Condition> => {
  const { status, reason, message, reconciling, stalled } = ready
  const wanted = [
    { type: "Ready", status, reason, message },
    ...(reconciling === true ? [{ type: "Reconciling", status: "True" as const, reason, message }] : []),
    ...(stalled === undefined || stalled === false
      ? []
      : [{ type: "Stalled", status: "True" as const, reason: stalled === true ? reason : stalled, message }]),
  ]
  return wanted.map((condition) => {
    const old = before?.find(({ type }) => type === condition.type)
    // A time that moved with every message would make every pass a write.
    const lastTransitionTime =
      old?.status === condition.status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : rfc3339(now)
    return { ...condition, message: condition.message.slice(0, longest), lastTransitionTime, observedGeneration: generation }
  })
}

/** As they were, and that nothing is done any more since the suspension began (operator.md §8.2). */
export const suspended = (before: ReadonlyArray<Condition> | null | undefined, now: number): ReadonlyArray<Condition> => {
  const since = before?.find(({ type, status }) => type === "Reconciling" && status === "False")?.lastTransitionTime
  const disabled = {
    type: "Reconciling",
    status: "False",
    reason: "Disabled",
    message: "switched off by annotation; remove it to go on",
    lastTransitionTime: since ?? rfc3339(now),
  } as const
  return [...(before ?? []).filter(({ type }) => type !== "Reconciling"), disabled]
}

/** What `status.reconciliation` says: from the end of a suspension until the object is seen to be well again, that it is being resumed. */
export const reconciliation = (before: string | null | undefined, ready: Ready): "Reconciling" | "ResumingReconciliation" =>
  (before === "Disabled" || before === "ResumingReconciliation") && ready.status !== "True" ? "ResumingReconciliation" : "Reconciling"
