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
