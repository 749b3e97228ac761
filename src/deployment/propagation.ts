/** Which labels and annotations of a ServiceDeployment reach the objects of its versions, and which never do. */
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { propagated } from "../resources/propagation.ts"
import { managedByLabel } from "../resources/labels.ts"
import type { Vocabulary } from "../vocabulary.ts"

type Strings = { readonly [key: string]: string }

export const propagatedAnnotations = (deployment: ServiceDeployment, vocabulary: Vocabulary): Strings =>
  propagated(deployment.metadata.annotations, vocabulary.prefix)

export const propagatedLabels = (deployment: ServiceDeployment, vocabulary: Vocabulary): Strings =>
  propagated(deployment.metadata.labels, vocabulary.prefix)

/** The labels by which the operator finds its own objects again. */
export const managedBy = (deployment: ServiceDeployment, vocabulary: Vocabulary): Strings => ({
  [managedByLabel]: vocabulary.operator,
  [vocabulary.labels.ownedBy]: deployment.metadata.name,
})
