/** The parts of Kubernetes objects that all kinds share, as they are on the wire (dates are strings). */

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly fieldsV1?: FieldsV1
}

/** Tree of owned fields: `f:name` for a field, `k:{…}` for a list-map entry, `v:…` for a set value, `.` for the thing itself. */
export interface FieldsV1 {
  readonly [path: string]: FieldsV1
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
  readonly finalizers?: ReadonlyArray<string>
  readonly ownerReferences?: ReadonlyArray<OwnerReference>
  readonly managedFields?: ReadonlyArray<ManagedFields>
}

/** Any object read from a cluster. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** The state of one aspect of an object, as `kubectl wait`, Argo and Flux read it. */
export interface Condition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
  readonly observedGeneration?: number
}

/** Fields of a JSON object on its way to the API server. */
export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json | undefined }

/** The owner reference that makes garbage collection and "whose is this" work. */
export const ownerReference = (owner: KubernetesObject): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
})

/** "Owned by" means by UID: an object of the same name made later is somebody else. */
export const isOwnedBy = (object: KubernetesObject, uid: string): boolean =>
  object.metadata.ownerReferences?.some((reference) => reference.controller === true && reference.uid === uid) ?? false
