/** What every part of a server is made from: the object and what does not depend on it. */
import { instanceLabel, nameLabel } from "../resources/labels.ts"
import { ownerReference, type OwnerReference } from "../resources/meta.ts"
import { propagated } from "../resources/propagation.ts"
import type { ServiceCluster } from "../resources/generated/service-cluster.ts"
import type { Vocabulary } from "../vocabulary.ts"

type Strings = { readonly [key: string]: string }

/** Fixed for the life of the process. */
export interface ClusterSettings {
  readonly vocabulary: Vocabulary
  /** `cluster.local` */
  readonly clusterDns: string
  readonly operatorNamespace: string
  /** The label by which the operator's own pods are told from others; undefined when it is not known. */
  readonly operatorLabel: { readonly name: string; readonly value: string } | undefined
  /** With `sh`, `cat` and a bundle of certificates. */
  readonly canaryImage: string
}

export interface Given {
  readonly cluster: ServiceCluster
  readonly settings: ClusterSettings
}

/** The two labels that select everything of one server. They stand in selectors that can never change. */
export const clusterSelector = ({ cluster, settings }: Given): Strings => ({
  [nameLabel]: settings.vocabulary.service,
  [instanceLabel]: cluster.metadata.name,
})

/** The user's labels, with those of the selector on top (operator.md §2.2). */
export const childLabels = (given: Given): Strings => ({
  ...propagated(given.cluster.metadata.labels, given.settings.vocabulary.prefix),
  ...clusterSelector(given),
})

export const childAnnotations = ({ cluster, settings }: Given): Strings =>
  propagated(cluster.metadata.annotations, settings.vocabulary.prefix)

export interface ChildMetadata {
  readonly labels: Strings
  readonly annotations: Strings
  readonly ownerReferences: ReadonlyArray<OwnerReference>
}

export const childMetadata = (given: Given, annotations: Strings = {}): ChildMetadata => ({
  labels: childLabels(given),
  annotations: { ...childAnnotations(given), ...annotations },
  ownerReferences: [ownerReference(given.cluster)],
})
