/**
 * What the operator touches in a cluster and with which verbs. The one table behind request paths, watches and the
 * generated ClusterRole: a kind that is not here cannot be read or written.
 */
import { managedByLabel, nameLabel } from "../resources/labels.ts"
import type { OwnKind, Vocabulary } from "../vocabulary.ts"

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete"

/** All objects; those with our managed-by label (of versions); those with the name label of a server (of clusters) or of a tunnel (of environments). */
export type Selection = "all" | "managed" | "server" | "tunnel"

export interface KindAccess {
  readonly kind: string
  /** API group, `""` for core. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly namespaced: boolean
  /** Read and written in the operator's own namespace only: the right to it ends there. */
  readonly own?: true
  readonly verbs: ReadonlyArray<Verb>
  readonly subresources: { readonly [subresource: string]: ReadonlyArray<Verb> }
  /** Which of its objects the reflector asks for. */
  readonly selection: Selection
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
    selection: "managed",
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
    selection: "managed",
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
    selection: "managed",
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
    selection: "managed",
    why: "one for each older version that has work, when spec.autoscaling is set",
  },
  Pod: {
    kind: "Pod",
    group: "",
    version: "v1",
    plural: "pods",
    namespaced: true,
    verbs: ["get", "list"],
    subresources: {},
    selection: "all",
    why: "why the pods of a version that is stuck do not start, and whether the first pod of a new server runs; asked only then",
  },
  Namespace: {
    kind: "Namespace",
    group: "",
    version: "v1",
    plural: "namespaces",
    namespaced: false,
    verbs: [...read, "create", "patch"],
    subresources: {},
    selection: "server",
    why: "the namespace of a server, unless it is there already",
  },
  ServiceAccount: {
    kind: "ServiceAccount",
    group: "",
    version: "v1",
    plural: "serviceaccounts",
    namespaced: true,
    verbs: [...read, "create", "patch"],
    subresources: {},
    selection: "server",
    why: "the identity of a server's pods",
  },
  ConfigMap: {
    kind: "ConfigMap",
    group: "",
    version: "v1",
    plural: "configmaps",
    namespaced: true,
    verbs: [...read, "create", "patch", "delete"],
    subresources: {},
    selection: "server",
    why: "the configuration of a server; deleted when no pod template uses it any more",
  },
  ServerService: {
    kind: "Service",
    group: "",
    version: "v1",
    plural: "services",
    namespaced: true,
    verbs: [...read, "create", "patch"],
    subresources: {},
    selection: "server",
    why: "the addresses of a server and of its nodes",
  },
  PodDisruptionBudget: {
    kind: "PodDisruptionBudget",
    group: "policy",
    version: "v1",
    plural: "poddisruptionbudgets",
    namespaced: true,
    verbs: [...read, "create", "patch"],
    subresources: {},
    selection: "server",
    why: "one pod of a server at a time is drained from its node",
  },
  NetworkPolicy: {
    kind: "NetworkPolicy",
    group: "networking.k8s.io",
    version: "v1",
    plural: "networkpolicies",
    namespaced: true,
    verbs: [...read, "create", "patch", "delete"],
    subresources: {},
    selection: "server",
    why: "who may reach a server, and whom it may reach",
  },
  StatefulSet: {
    kind: "StatefulSet",
    group: "apps",
    version: "v1",
    plural: "statefulsets",
    namespaced: true,
    verbs: [...read, "create", "patch", "delete"],
    subresources: {},
    selection: "server",
    why: "the pods of a server; deleted without its pods and made again when its volumes grow",
  },
  PersistentVolumeClaim: {
    kind: "PersistentVolumeClaim",
    group: "",
    version: "v1",
    plural: "persistentvolumeclaims",
    namespaced: true,
    verbs: [...read, "patch"],
    subresources: {},
    selection: "server",
    why: "the volumes of a server, which may grow",
  },
  TunnelDeployment: {
    kind: "Deployment",
    group: "apps",
    version: "v1",
    plural: "deployments",
    namespaced: true,
    own: true,
    verbs: [...read, "create", "patch"],
    subresources: {},
    selection: "tunnel",
    why: "the pods of a tunnel",
  },
  TunnelService: {
    kind: "Service",
    group: "",
    version: "v1",
    plural: "services",
    namespaced: true,
    own: true,
    verbs: [...read, "create", "patch"],
    subresources: {},
    selection: "tunnel",
    why: "the address of a tunnel",
  },
  Secret: {
    kind: "Secret",
    group: "",
    version: "v1",
    plural: "secrets",
    namespaced: true,
    own: true,
    verbs: [...read],
    subresources: {},
    selection: "all",
    why: "whether the API token of an environment is there, and whether it is another one than before",
  },
  Event: {
    kind: "Event",
    group: "events.k8s.io",
    version: "v1",
    plural: "events",
    namespaced: true,
    verbs: ["create", "patch"],
    subresources: {},
    selection: "all",
    why: "what happened, for kubectl describe",
  },
} as const satisfies { readonly [kind: string]: KindAccess }

/** Kinds of others that the operator reads or writes. */
export type ForeignKind = keyof typeof foreign
/** Kinds are named by role, so that code reads the same in both vocabularies. */
export type Kind = OwnKind | ForeignKind

/** Kinds that are followed by a watch. Events are only written, and pods only asked about when something is wrong with them. */
export type Watched = Exclude<Kind, "Event" | "Pod">

/** The access table of one vocabulary: our own kinds under their wire names, and the foreign ones. */
export const access = (vocabulary: Vocabulary): { readonly [K in Kind]: KindAccess } => ({
  ...foreign,
  deployment: own(vocabulary, "deployment", true, [...read, "patch"], "versions of a service; patch holds and releases the finalizer"),
  cluster: own(
    vocabulary,
    "cluster",
    false,
    [...read, "patch"],
    "servers, and who registers with them; patch holds and releases the finalizer",
  ),
  environment: own(vocabulary, "environment", false, [...read, "patch"], "hosted servers; patch holds and releases the finalizer"),
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
    selection: "all",
    why,
  }
}

/** The label by which a reflector narrows what it asks for; undefined when it asks for everything. */
export const selectedBy = (
  { selection }: Pick<KindAccess, "selection">,
  vocabulary: Vocabulary,
): readonly [key: string, value: string] | undefined => {
  switch (selection) {
    case "all":
      return undefined
    case "managed":
      return [managedByLabel, vocabulary.operator]
    case "server":
      return [nameLabel, vocabulary.service]
    case "tunnel":
      return [nameLabel, vocabulary.tunnel.client]
  }
}
