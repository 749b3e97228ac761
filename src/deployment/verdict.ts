/** What decide saw, in this kind's own terms. status.ts turns it into conditions. */
import type { AdminServer } from "../engine/action.ts"
import type { NotReady } from "./gate.ts"
import type { Holder } from "./registration.ts"
import type { Wanted } from "./version.ts"

/** A version other than the one that the spec asks for; while the object is being deleted, any version. */
export interface Older {
  readonly version: string
  /**
   * `InUse`: has work, or still gets new work. `Draining`: goes at `removeAt`. `Kept`: no pods, for a quick way back.
   * `Unknown`: its server has not told.
   */
  readonly state: "InUse" | "Draining" | "Kept" | "Unknown"
  /** Unknown because its server was asked and gave no answer, not because nobody has asked yet. */
  readonly silent?: true
  readonly id: string | undefined
  readonly pinned: number
  readonly unpinned: number
  /** One of its pinned invocations. */
  readonly example: string | undefined
  /** Epoch milliseconds; absent while it has work. */
  readonly removeAt: number | undefined
}

/** Why an answer of an admin server is missing. */
export interface Missing {
  readonly because: string
  readonly rejected: boolean
}

/** How far a deletion is (operator.md §8.1). */
export interface Deletion {
  readonly policy: "drain" | "force"
  readonly phase: "Draining" | "Overdue" | "Forcing"
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** Epoch milliseconds; absent under policy force. */
  readonly deadline: number | undefined
  readonly onTimeout: "hold" | "force" | undefined
}

export type State =
  /** Switched off by annotation: nothing is done, and only that is said. */
  | { readonly _tag: "Suspended" }
  /** A field of the spec makes no sense. */
  | { readonly _tag: "Invalid"; readonly field: string; readonly message: string }
  /** The ReplicaSet is being created. */
  | { readonly _tag: "Starting" }
  /** A ReplicaSet of that name holds another template, or is somebody else's. */
  | { readonly _tag: "Collision" }
  /** `overdue`: for longer than spec.progressDeadlineSeconds. */
  | { readonly _tag: "NotReady"; readonly gate: NotReady; readonly overdue: boolean }
  | { readonly _tag: "Registering" }
  /** An answer has been asked for; until it comes there is nothing to say. */
  | { readonly _tag: "Asking" }
  | { readonly _tag: "Deployed"; readonly pods: NotReady | undefined }
  | { readonly _tag: "Foreign"; readonly holders: ReadonlyArray<Holder> }
  /** The server refused this very spec before; it is not asked again. */
  | { readonly _tag: "RejectedBefore"; readonly message: string }
  /** The admin server's answer is missing and something depends on it. */
  | { readonly _tag: "Unreachable"; readonly missing: Missing }
  | { readonly _tag: "DeletionBlocked"; readonly by: ReadonlyArray<Older> }
  | { readonly _tag: "DeletionDraining"; readonly until: number }
  /** Everything goes now, work or not; written down before the first version does. */
  | { readonly _tag: "Forcing" }
  | { readonly _tag: "Deleted" }

export interface Verdict {
  readonly state: State
  /** Absent when the spec does not say what the version is. */
  readonly wanted: Wanted | undefined
  readonly server: AdminServer | undefined
  /** Recorded id of the current version, when the server still routes to it. */
  readonly id: string | undefined
  /** All other versions that stay for now, newest first; undefined when this pass has not looked at them. */
  readonly older: ReadonlyArray<Older> | undefined
  /** Versions that go in this pass although they have work. */
  readonly forced: ReadonlyArray<Older>
  /** While the object is being deleted. */
  readonly deletion: Deletion | undefined
  /** Something people must know although the object may be fine. */
  readonly warnings: ReadonlyArray<{ readonly reason: string; readonly note: string }>
}

/** A verdict of which nothing but the state is known. */
export const nowhere = {
  wanted: undefined,
  server: undefined,
  id: undefined,
  older: undefined,
  forced: [],
  deletion: undefined,
  warnings: [],
} as const

/** Versions that have work or wait for their deadline. */
export const draining = ({ older }: Pick<Verdict, "older">): ReadonlyArray<Older> =>
  (older ?? []).filter(({ state }) => state === "InUse" || state === "Draining")
