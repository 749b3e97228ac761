/** One table of delays: how often, how soon, how long. The passes of a key take their numbers from here; lanes, looks and watches have their own. */
import { Schedule } from "effect"
import type { WriteError } from "../errors.ts"

/** 30 s, 1 min, 2 min, 4 min, 5 min, 5 min … each ± 20 %, so that objects that failed together do not come back together. */
const growing = Schedule.min([Schedule.exponential("30 seconds"), Schedule.spaced("5 minutes")]).pipe(Schedule.jittered)

/** When a key comes back after a failure; the delay grows with each failure in a row and starts over after a good pass. */
export const policies = {
  /** Somebody wrote first. Once at once, then like an unavailable server. */
  conflict: Schedule.concat(Schedule.recurs(1), growing),
  /** Transport errors, 429, 5xx of either server. */
  unavailable: growing,
  /** The server refused for good: a slow second look, without a write. */
  rejected: Schedule.spaced("5 minutes"),
  /**
   * A right is missing and only a person can help; or the API server has just started, and answers 403 for a second until
   * it has read its roles. So soon again at first: 5 s, 10 s, 20 s … 5 min.
   */
  forbidden: Schedule.min([Schedule.exponential("5 seconds"), Schedule.spaced("5 minutes")]).pipe(Schedule.jittered),
  /** A defect of ours: logged with its cause, counted; the other keys go on. */
  defect: Schedule.spaced("5 minutes"),
} as const satisfies { readonly [name: string]: Schedule.Schedule<unknown> }

export type PolicyName = keyof typeof policies

/** The row for an error. */
export const policyOf = ({ _tag }: WriteError): PolicyName => {
  switch (_tag) {
    case "Conflict":
      return "conflict"
    case "Unavailable":
      return "unavailable"
    case "Rejected":
      return "rejected"
    case "Forbidden":
      return "forbidden"
  }
}

/** Inside act: three quick tries of an unavailable server before the failure leaves the pass. */
export const quickTries = Schedule.max([Schedule.exponential("100 millis").pipe(Schedule.jittered), Schedule.recurs(3)])

/** Milliseconds; one row for each reason a plan gives with `After`. */
export const delays = {
  /** Something that is on its way and takes seconds: a pod that starts, an object that is made anew. */
  soon: 5_000,
  /** Foreign endpoint, confirmation failed, cluster not ready: somebody else has to act, usually soon. */
  blocked: 30_000,
  /** Pods are coming up; a watch event usually comes first. */
  notReady: 60_000,
  /** Longest time between two looks at a healthy, routed object. */
  resync: 300_000,
  /** By how much later it comes for some objects than for others, always the same for one. */
  resyncSpread: 60_000,
  /** A registration that was refused for good is tried again this seldom: whatever stands in its way may go without the spec being touched. */
  secondLook: 1_800_000,
  /** An answer that never comes must not leave a key asleep: both looks give up after 10 s. */
  look: 15_000,
  /** A deadline never makes a pass spin: at least this long until the next one. */
  floor: 1_000,
} as const

/** Milliseconds. A look older than this proves nothing before a destructive step (law 3). */
export const freshness = 5_000

/** Milliseconds. Routing is looked at again when a pass finds the last answer older than this. */
export const routingAge = 60_000

/** Milliseconds between two polls of unfinished work, while anybody waits for it to end. */
export const usagePoll = 10_000

/** Milliseconds. What these grow to while nothing changes. 200 objects with pinned work cost 30 questions in 5 min without it. */
export const usagePollSlowest = 30_000

/** Deletion that waits for work: a quarter of the time waited so far, between 30 s and 5 min. */
export const deletionRetry = (waitedMs: number): number => Math.min(300_000, Math.max(30_000, waitedMs / 4))
