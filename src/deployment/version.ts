/** One version of a service: its name, its objects, what the server knows of it, and where it is in its life. */
import type { AdminServer } from "../engine/action.ts"
import type { Usage } from "../admin/admin.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { ReplicaSet } from "../resources/kubernetes.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { type Addresses, serverOf } from "./target.ts"
import { templateJson, versionHash } from "./hash.ts"

/** Kubernetes' own label that tells the pods of one ReplicaSet from those of its siblings. */
export const hashLabel = "pod-template-hash"

/** The version that the spec asks for. */
export interface Wanted {
  /** `⟨deployment⟩-⟨hash⟩` */
  readonly name: string
  readonly hash: string
  readonly template: string
}

export const wantedVersion = (deployment: ServiceDeployment): Wanted => {
  const { spec } = deployment
  const template = templateJson(spec.template)
  const hash = versionHash({
    template,
    cluster: spec.restate.register.cluster,
    servicePath: spec.restate.servicePath ?? undefined,
    useHttp11: spec.restate.useHttp11 ?? undefined,
    collisionCount: deployment.status?.collisionCount ?? undefined,
  })
  return { name: `${deployment.metadata.name}-${hash}`, hash, template }
}

/** A version that exists in the cluster. */
export interface Version {
  readonly name: string
  readonly replicaSet: ReplicaSet
  /** The server it is judged by; undefined when its annotation names none that we can reach. */
  readonly server: AdminServer | undefined
  /** Recorded registration id. */
  readonly id: string | undefined
  /** When a drained version may go, epoch milliseconds; undefined when not stamped or not a date. */
  readonly removeAt: number | undefined
  readonly createdAt: number
  readonly replicas: number
}

export const versionOf = (replicaSet: ReplicaSet, fallback: AdminServer, vocabulary: Vocabulary, addresses: Addresses): Version => {
  const annotations = replicaSet.metadata.annotations ?? {}
  const registeredWith = annotations[vocabulary.annotations.registeredWith]
  const removeAt = Date.parse(annotations[vocabulary.annotations.removeAt] ?? "")
  return {
    name: replicaSet.metadata.name,
    replicaSet,
    // Versions made by the other operator carry no target: they belong to where the object registers now.
    server: registeredWith === undefined || registeredWith === fallback.key ? fallback : serverOf(registeredWith, addresses),
    id: annotations[vocabulary.annotations.deploymentId] || undefined,
    removeAt: Number.isNaN(removeAt) ? undefined : removeAt,
    createdAt: Date.parse(replicaSet.metadata.creationTimestamp ?? "") || 0,
    replicas: replicaSet.spec.replicas ?? 1,
  }
}

/** Newest first; names break ties, so that the order is the same in every pass. */
export const newestFirst = (a: Version, b: Version): number => b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1)

/** `http://⟨version⟩.⟨namespace⟩.svc.⟨dns⟩:9080/⟨path⟩`; the final slash of the root is significant. */
export const endpointOf = (version: string, namespace: string, servicePath: string | null | undefined, addresses: Addresses): string =>
  `http://${version}.${namespace}.svc.${addresses.clusterDns}:9080/${(servicePath ?? "").replace(/^\/+/, "")}`

/**
 * The id under which the server knows a version. A crash between the registration and its record leaves a version
 * without annotation that the server routes to; its address tells it from one that was never registered.
 */
export const idOn = (version: Version, namespace: string, usage: Usage, addresses: Addresses): string | undefined =>
  version.id ?? idAt(version.name, namespace, usage, addresses)

/** The id that a server has under a version's address. */
export const idAt = (
  name: string,
  namespace: string,
  known: ReadonlyMap<string, { readonly endpoint: string }>,
  addresses: Addresses,
): string | undefined => {
  const host = `//${name}.${namespace}.svc.${addresses.clusterDns}:`
  for (const [id, { endpoint }] of known) if (endpoint.includes(host)) return id
  return undefined
}
