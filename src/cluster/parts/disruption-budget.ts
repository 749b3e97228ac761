/** One pod of a server at a time may be taken from its node (operator.md §2.4). */
import type { Desired } from "../../engine/action.ts"
import { childMetadata, clusterSelector, type Given } from "../given.ts"

export const disruptionBudget = (given: Given): Desired => ({
  ref: { kind: "PodDisruptionBudget", namespace: given.cluster.metadata.name, name: given.settings.vocabulary.service },
  body: { metadata: childMetadata(given), spec: { maxUnavailable: 1, selector: { matchLabels: clusterSelector(given) } } },
})
