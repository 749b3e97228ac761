/** The namespace of a server, which bears the name of its ServiceCluster (operator.md §2.3). */
import type { Desired } from "../../engine/action.ts"
import { childMetadata, type Given } from "../given.ts"

export const namespace = (given: Given): Desired => ({
  ref: { kind: "Namespace", name: given.cluster.metadata.name },
  body: { metadata: childMetadata(given) },
})
