/** The identity of a server's pods towards clouds; they get no token of the cluster itself (operator.md §2.4). */
import type { Desired } from "../../engine/action.ts"
import { childMetadata, type Given } from "../given.ts"

export const serviceAccount = (given: Given): Desired => ({
  ref: { kind: "ServiceAccount", namespace: given.cluster.metadata.name, name: given.settings.vocabulary.service },
  body: { metadata: childMetadata(given, given.cluster.spec.security?.serviceAccountAnnotations ?? {}) },
})
