/** What decide saw, in an environment's own terms. */
import type { Token } from "./token.ts"
import type { Invalid } from "./validation.ts"

export type State =
  | { readonly _tag: "Suspended" }
  | { readonly _tag: "Deleted" }
  | Invalid
  /** Pods without a token cannot start: those that run are left as they are. */
  | Exclude<Token, { readonly _tag: "Found" }>
  /** All is as the spec says; the pods tell the rest. */
  | { readonly _tag: "Applied" }

export interface Verdict {
  readonly state: State
}
