import type { KubernetesObject } from "../kubernetes-types.ts"

/** An object as it is written, with all the fields of its kind. */
export type Manifest = KubernetesObject & Readonly<Record<string, unknown>>
