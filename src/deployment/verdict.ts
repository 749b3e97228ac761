/** What decide saw, in this kind's own terms. status.ts turns it into conditions. */
import type { AdminServer } from "../engine/action.ts"
import type { NotReady } from "./gate.ts"
import type { Wanted } from "./version.ts"

/** Another version that still has work or waits for its deadline. */
export interface Draining {
  readonly version: string
  readonly id: string | undefined
  readonly pinned: number
  readonly unpinned: number
  /** Epoch milliseconds; absent while it has work. */
  readonly removeAt: number | undefined
}

/** Why an answer of an admin server is missing. */
export interface Missing {
  readonly because: string
  readonly rejected: boolean
}

export type State =
  /** A field of the spec makes no sense. */
  | { readonly _tag: "Invalid"; readonly field: string; readonly message: string }
  /** The ReplicaSet is being created. */
  | { readonly _tag: "Starting" }
  /** A ReplicaSet of that name holds another template, or is somebody else's. */
  | { readonly _tag: "Collision" }
  | { readonly _tag: "NotReady"; readonly gate: NotReady }
  | { readonly _tag: "Registering" }
  /** An answer has been asked for; until it comes there is nothing to say. */
  | { readonly _tag: "Asking" }
  | { readonly _tag: "Deployed"; readonly pods: NotReady | undefined }
  | { readonly _tag: "Foreign"; readonly holders: ReadonlyArray<readonly [string, string]> }
  /** The register target was changed while this version has work on the server it came from. */
  | { readonly _tag: "Moving"; readonly from: string; readonly pinned: number }
  /** The server refused this very spec before; it is not asked again. */
  | { readonly _tag: "RejectedBefore"; readonly message: string }
  /** The admin server's answer is missing and something depends on it. */
  | { readonly _tag: "Unreachable"; readonly missing: Missing }
  | { readonly _tag: "DeletionBlocked"; readonly by: ReadonlyArray<Draining> }
  | { readonly _tag: "DeletionDraining"; readonly until: number }
  | { readonly _tag: "Deleted" }

export interface Verdict {
  readonly state: State
  /** Absent when the spec does not say what the version is. */
  readonly wanted: Wanted | undefined
  readonly server: AdminServer | undefined
  /** Recorded id of the current version, when the server still routes to it. */
  readonly id: string | undefined
  /** Versions on their way out, newest first. */
  readonly draining: ReadonlyArray<Draining>
  /** Something people must know although the object may be fine. */
  readonly warnings: ReadonlyArray<{ readonly reason: string; readonly note: string }>
}
