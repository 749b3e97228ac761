/**
 * What the operator touches in a cluster and with which verbs. The one table behind request paths, watches and the
 * generated ClusterRole: a kind that is not here cannot be read or written.
 */
import type { OwnKind, Vocabulary } from "../vocabulary.ts"

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete"

export interface KindAccess {
  readonly kind: string
  /** API group, `""` for core. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly namespaced: boolean
  readonly verbs: ReadonlyArray<Verb>
  readonly subresources: { readonly [subresource: string]: ReadonlyArray<Verb> }
  /** True when the reflector asks only for objects with our managed-by label. */
  readonly managedOnly: boolean
  /** Why the operator needs it; ends up as a comment in the generated role. */
  readonly why: string
}

const read = ["get", "list", "watch"] as const

const foreign = {
  ReplicaSet: {
    kind: "ReplicaSet",
    group: "apps",
    version: "v1",
    plural: "replicasets",
    namespaced: true,
    verbs: [...read, "create", "patch", "delete"],
    subresources: { scale: ["get", "patch"], finalizers: ["update"] },
    managedOnly: true,
    why: "one for each version of a service",
  },
  Service: {
    kind: "Service",
    group: "",
    version: "v1",
    plural: "services",
    namespaced: true,
    verbs: [...read, "create", "patch"],
    subresources: {},
    managedOnly: true,
    why: "the address under which a version is registered",
  },
  EndpointSlice: {
    kind: "EndpointSlice",
    group: "discovery.k8s.io",
    version: "v1",
    plural: "endpointslices",
    namespaced: true,
    verbs: [...read],
    subresources: {},
    managedOnly: true,
    why: "a version is registered only once its Service routes to a ready pod",
  },
  HorizontalPodAutoscaler: {
    kind: "HorizontalPodAutoscaler",
    group: "autoscaling",
    version: "v2",
    plural: "horizontalpodautoscalers",
    namespaced: true,
    verbs: [...read, "create", "patch", "delete"],
    subresources: {},
    managedOnly: true,
    why: "one for each older version that has work, when spec.autoscaling is set",
  },
  Pod: {
    kind: "Pod",
    group: "",
    version: "v1",
    plural: "pods",
    namespaced: true,
    verbs: ["list"],
    subresources: {},
    managedOnly: false,
    why: "why the pods of a version that is stuck do not start; asked only then",
  },
  Event: {
    kind: "Event",
    group: "events.k8s.io",
    version: "v1",
    plural: "events",
    namespaced: true,
    verbs: ["create", "patch"],
    subresources: {},
    managedOnly: false,
    why: "what happened, for kubectl describe",
  },
} as const satisfies { readonly [kind: string]: KindAccess }

/** Kinds of others that the operator reads or writes. */
export type ForeignKind = keyof typeof foreign
/** Kinds are named by role, so that code reads the same in both vocabularies. Environments are not read yet. */
export type Kind = Exclude<OwnKind, "environment"> | ForeignKind

/** Kinds that are followed by a watch. Events are only written, and pods only asked about when something is wrong with them. */
export type Watched = Exclude<Kind, "Event" | "Pod">

/** The access table of one vocabulary: our own kinds under their wire names, and the foreign ones. */
export const access = (vocabulary: Vocabulary): { readonly [K in Kind]: KindAccess } => ({
  ...foreign,
  deployment: own(vocabulary, "deployment", true, [...read, "patch"], "versions of a service; patch holds and releases the finalizer"),
  cluster: own(vocabulary, "cluster", false, read, "address and readiness of the server that versions register with"),
})

const own = (vocabulary: Vocabulary, role: OwnKind, namespaced: boolean, verbs: ReadonlyArray<Verb>, why: string): KindAccess => {
  const { kind, group, version, plural } = vocabulary.resources[role]
  const writes = verbs.includes("patch")
  return {
    kind,
    group,
    version,
    plural,
    namespaced,
    verbs,
    // OwnerReferencesPermissionEnforcement lets only those who may update finalizers set blockOwnerDeletion.
    subresources: writes ? { status: ["get", "patch"], finalizers: ["update"] } : {},
    managedOnly: false,
    why,
  }
}
