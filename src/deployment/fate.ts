/** What becomes of one version that is not, or no longer, wanted. */
import type { AdminServer } from "../engine/action.ts"
import type { Need, Step } from "../engine/plan.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import type { Missing, Older, Verdict } from "./verdict.ts"
import type { Version } from "./version.ts"

/**
 * `rollout` keeps finished versions up to the history limit; `deletion` keeps none, and counts work that is not pinned
 * yet; `force` waits for nobody, and still asks first, to say what is left behind.
 */
export type Mode = "rollout" | "deletion" | "force"

/** All that one version's fate rests on. */
export interface Case {
  readonly mode: Mode
  readonly snapshot: Snapshot
  readonly version: Version
  readonly owned: ReadonlySet<string>
  readonly settings: DeploymentSettings
  /** Whether the history has room for it. */
  readonly keep: boolean
}

export interface Fate {
  readonly steps?: ReadonlyArray<Step>
  /** Absent when it goes in this pass. */
  readonly older?: Older
  readonly forced?: Older
  readonly watch?: { readonly server: AdminServer; readonly id: string | undefined }
  readonly need?: Need
  readonly missing?: Missing
  readonly warning?: Verdict["warnings"][number]
}

export const unknown = ({ id, name }: Version): Older => ({
  version: name,
  state: "Unknown",
  id,
  pinned: 0,
  unpinned: 0,
  example: undefined,
  removeAt: undefined,
})
