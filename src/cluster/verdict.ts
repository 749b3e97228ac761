/** What decide saw, in a server's own terms. */
import type { Invalid } from "./validation.ts"

export type State =
  | { readonly _tag: "Suspended" }
  | { readonly _tag: "Deleted" }
  | Invalid
  | { readonly _tag: "NamespaceTerminating" }
  /** A volume is not there yet: nothing of the pods is changed meanwhile. */
  | { readonly _tag: "ClaimNotBound"; readonly claim: string; readonly phase: string }
  /** The StatefulSet goes and leaves its pods; it is made again when it is gone. */
  | { readonly _tag: "Replacing"; readonly why: string }
  | { readonly _tag: "PodNotRunning"; readonly phase: string | undefined }
  | { readonly _tag: "Provisioning" }
  /** More nodes stay than the spec says, for now or until somebody decides. */
  | { readonly _tag: "ScaleDownHeld"; readonly reason: "ScaleDownRefused" | "ScalingDown"; readonly message: string }
  /** All is as the spec says; the pods tell the rest. */
  | { readonly _tag: "Applied" }

export interface Verdict {
  readonly state: State
}
