/** Manifests that the API server must refuse, and what it must say. */
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"
import type { JsonObject } from "../support/api-server.ts"

/** A manifest as a test sends it. */
export interface Manifest extends KubernetesObject {
  readonly spec: JsonObject
}

/** One way to break one rule. */
export interface Violation {
  /** Which rule, in words. */
  readonly breaks: string
  /** Merge patch of a valid spec. */
  readonly spec?: JsonObject
  /** The object's name, when that is what is wrong. */
  readonly name?: string
  /** The field that the refusal names. */
  readonly field: string
  /** What the refusal says. */
  readonly says: string
}
