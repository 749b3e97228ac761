/** One version of a service: its name, its objects, what the server knows of it, and where it is in its life. */
import type { AdminServer } from "../engine/action.ts"
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
  /** Keys of the servers it was registered with before the target moved, and still may be. */
  readonly former: ReadonlyArray<string>
  /** Whether the annotation names its server; versions of the other operator have none. */
  readonly claimed: boolean
  /** Key of the server that forgot it together with all others that had pods. */
  readonly forgottenBy: string | undefined
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
    former: formerKeys(replicaSet, vocabulary),
    claimed: registeredWith !== undefined,
    forgottenBy: annotations[vocabulary.annotations.forgottenBy] || undefined,
    id: annotations[vocabulary.annotations.deploymentId] || undefined,
    removeAt: Number.isNaN(removeAt) ? undefined : removeAt,
    createdAt: Date.parse(replicaSet.metadata.creationTimestamp ?? "") || 0,
    replicas: replicaSet.spec.replicas ?? 1,
  }
}

export const formerKeys = ({ metadata }: ReplicaSet, vocabulary: Vocabulary): ReadonlyArray<string> =>
  (metadata.annotations?.[vocabulary.annotations.alsoRegisteredWith] ?? "").split(" ").filter((key) => key !== "")

/** Newest first; names break ties, so that the order is the same in every pass. */
export const newestFirst = (a: Version, b: Version): number => b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1)

/** `http://⟨version⟩.⟨namespace⟩.svc.⟨dns⟩:9080/⟨path⟩`; the final slash of the root is significant. */
export const endpointOf = (version: string, namespace: string, servicePath: string | null | undefined, addresses: Addresses): string =>
  `http://${version}.${namespace}.svc.${addresses.clusterDns}:9080/${(servicePath ?? "").replace(/^\/+/, "")}`

/** What a server tells about its deployments, by id. */
type Known = ReadonlyMap<string, { readonly endpoint: string }>

/**
 * The id under which a server knows a version. The recorded id is believed only if the server has the version's own
 * address under it: an annotation may be edited, and an id of somebody else's would be buried in its place. Without a
 * believable record the address decides, because a crash may have come between a registration and its record. An id that
 * the server does not know at all is returned as it is: to be unknown is something else than never to have been known.
 */
export const idOn = (version: Pick<Version, "name" | "id">, namespace: string, known: Known): string | undefined => {
  const { name, id } = version
  const recorded = id === undefined ? undefined : known.get(id)
  if (recorded !== undefined && isAddressOf(recorded.endpoint, name, namespace)) return id
  for (const [other, { endpoint }] of known) if (isAddressOf(endpoint, name, namespace)) return other
  return recorded === undefined ? id : undefined
}

/** A recorded id that the server has under an address of somebody else's, and nothing under the version's own: whose work is it? */
export const isRiddle = ({ name, id }: Pick<Version, "name" | "id">, namespace: string, known: Known): boolean =>
  id !== undefined && known.has(id) && idOn({ name, id }, namespace, known) === undefined

/** Ids that a server has under an address of any version of an object, with or without a ReplicaSet behind it. */
export const idsOf = (deployment: string, namespace: string, known: Known): ReadonlyArray<string> => {
  const address = new RegExp(`//${deployment}-[4-9bcdf]{1,11}\\.${namespace}\\.svc\\.`)
  return [...known].flatMap(([id, { endpoint }]) => (address.test(endpoint) ? [id] : []))
}

/** The suffix of in-cluster names is left open: it is a flag, and may have been another one when the version was registered. */
const isAddressOf = (endpoint: string, name: string, namespace: string): boolean => endpoint.includes(`//${name}.${namespace}.svc.`)
