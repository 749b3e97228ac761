/** Which changes of an object are worth a pass. */
import type { KubernetesObject } from "../resources/meta.ts"
import type { Name } from "./kind.ts"

/** What people change; the status is ours and causes no pass. */
export const person = (object: KubernetesObject): unknown => {
  const { generation, labels, annotations, finalizers, deletionTimestamp, uid } = object.metadata
  return [uid, generation, labels, annotations, finalizers, deletionTimestamp]
}

/** What somebody may change of an object that we have made, beside what it is for. */
export const marks = ({ metadata }: KubernetesObject): unknown => [
  metadata.uid,
  metadata.labels,
  metadata.annotations,
  metadata.ownerReferences,
]

/** An addition or a deletion is never the same. */
export const same = <O>(before: O | undefined, after: O | undefined, facet: (object: O) => unknown): boolean =>
  before !== undefined && after !== undefined && JSON.stringify(facet(before)) === JSON.stringify(facet(after))

export const namespaceOf = (object: KubernetesObject | undefined): Pick<Name, "namespace"> =>
  object?.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }

export const nameOf = (object: KubernetesObject | undefined): Name => ({ ...namespaceOf(object), name: object?.metadata.name ?? "" })
