/** What every part of a tunnel is made from: the object and what does not depend on it. */
import { instanceLabel, nameLabel } from "../resources/labels.ts"
import { ownerReference, type OwnerReference } from "../resources/meta.ts"
import { propagated } from "../resources/propagation.ts"
import type { ServiceCloudEnvironment } from "../resources/generated/service-cloud-environment.ts"
import type { Vocabulary } from "../vocabulary.ts"

type Strings = { readonly [key: string]: string }

/** Fixed for the life of the process. */
export interface EnvironmentSettings {
  readonly vocabulary: Vocabulary
  /** Where the Secrets with the tokens are, and where the tunnels run. */
  readonly operatorNamespace: string
  /** Of a tunnel whose environment names none. */
  readonly tunnelClientImage: string
}

export interface Given {
  readonly environment: ServiceCloudEnvironment
  readonly settings: EnvironmentSettings
}

const prefix = "tunnel-"

/** Name of the Deployment and of the Service of an environment. */
export const tunnelName = (environment: string): string => `${prefix}${environment}`

/** The environment whose tunnel bears this name, if it is one. An edit can take every label, never the name. */
export const environmentOf = (tunnel: string): string | undefined =>
  tunnel.startsWith(prefix) && tunnel.length > prefix.length ? tunnel.slice(prefix.length) : undefined

/** The two labels that select the pods of one tunnel. They stand in a selector that can never change. */
export const tunnelSelector = ({ environment, settings }: Given): Strings => ({
  [nameLabel]: settings.vocabulary.tunnel.client,
  [instanceLabel]: tunnelName(environment.metadata.name),
})

export interface Marks {
  readonly labels: Strings
  readonly annotations: Strings
}

/** Of the children and of the pods: the user's, with the labels of the selector on top (operator.md §5). */
export const marks = (given: Given): Marks => {
  const { labels, annotations } = given.environment.metadata
  const own = given.settings.vocabulary.prefix
  return { labels: { ...propagated(labels, own), ...tunnelSelector(given) }, annotations: propagated(annotations, own) }
}

export const childMetadata = (given: Given): Marks & { readonly ownerReferences: ReadonlyArray<OwnerReference> } => ({
  ...marks(given),
  ownerReferences: [ownerReference(given.environment)],
})
