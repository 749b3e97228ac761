/** Which labels and annotations of a ServiceDeployment reach the objects of its versions, and which never do. */
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { Vocabulary } from "../vocabulary.ts"

type Strings = { readonly [key: string]: string }

export const managedByLabel = "app.kubernetes.io/managed-by"

/** kubectl's memory of the object it applied is not about the children. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
/** A tool that prunes by set would delete the Services of draining versions (upstream #170). */
const applySet = "applyset.kubernetes.io/"

/** Everything but what belongs to kubectl or to the operator: a deployment-id set by hand would be believed. */
export const propagatedAnnotations = (deployment: ServiceDeployment, vocabulary: Vocabulary): Strings =>
  without(deployment.metadata.annotations, (key) => key === lastApplied || key.startsWith(applySet) || key.startsWith(vocabulary.prefix))

export const propagatedLabels = (deployment: ServiceDeployment, vocabulary: Vocabulary): Strings =>
  without(deployment.metadata.labels, (key) => key.startsWith(applySet) || key.startsWith(vocabulary.prefix))

/** The labels by which the operator finds its own objects again. */
export const managedBy = (deployment: ServiceDeployment, vocabulary: Vocabulary): Strings => ({
  [managedByLabel]: vocabulary.operator,
  [vocabulary.labels.ownedBy]: deployment.metadata.name,
})

const without = (strings: Strings | undefined, never: (key: string) => boolean): Strings =>
  Object.fromEntries(Object.entries(strings ?? {}).filter(([key]) => !never(key)))
