/** Under which values an object is found in the cache. */
import { instanceLabel } from "../resources/labels.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import type { Vocabulary } from "../vocabulary.ts"
import type { Index, Objects } from "./kubernetes.ts"

/** An index and the value that an object has there. */
export type Entry = readonly [index: Index, value: string]

type Indexers = { readonly [K in keyof Objects]: (object: Objects[K]) => ReadonlyArray<Entry> }

/** Kubernetes' own label on every EndpointSlice of a Service. */
const serviceName = "kubernetes.io/service-name"

/** In its namespace only: a claim elsewhere that carries the labels is somebody's mistake, and none of ours. */
const ofServer = ({ metadata }: KubernetesObject): ReadonlyArray<Entry> => {
  const instance = metadata.labels?.[instanceLabel]
  return instance !== undefined && instance === (metadata.namespace ?? metadata.name) ? [["server", instance]] : []
}

/** The indexes of each kind, under the names of one vocabulary. */
export const indexes = (vocabulary: Vocabulary): Indexers => {
  const own = (object: Objects["Service"] | Objects["ReplicaSet"] | Objects["HorizontalPodAutoscaler"]): ReadonlyArray<Entry> => {
    const { labels, namespace, ownerReferences } = object.metadata
    const owner = ownerReferences?.find((reference) => reference.controller === true)
    const name = labels?.[vocabulary.labels.ownedBy]
    return [
      ...(owner === undefined ? [] : [["owner", owner.uid] as const]),
      ...(name === undefined ? [] : [["ownedBy", `${namespace ?? ""}/${name}`] as const]),
    ]
  }
  return {
    deployment: (object) => {
      // An older CRD may let anything through.
      const cluster = object.spec?.restate?.register?.cluster
      return typeof cluster === "string" ? [["registersWith", cluster]] : []
    },
    cluster: () => [],
    environment: (object) => {
      const secret = object.spec.authentication?.secret?.name
      return typeof secret === "string" ? [["token", secret]] : []
    },
    ReplicaSet: own,
    Service: own,
    EndpointSlice: (object) => {
      const name = object.metadata.labels?.[serviceName]
      return name === undefined ? [] : [["service", `${object.metadata.namespace ?? ""}/${name}`]]
    },
    HorizontalPodAutoscaler: own,
    Namespace: ofServer,
    ServiceAccount: ofServer,
    ConfigMap: ofServer,
    ServerService: ofServer,
    PodDisruptionBudget: ofServer,
    NetworkPolicy: ofServer,
    StatefulSet: ofServer,
    PersistentVolumeClaim: ofServer,
    // There is one of each to an environment, and its name says which.
    TunnelDeployment: () => [],
    TunnelService: () => [],
    Secret: () => [],
    Pod: () => [],
    Event: () => [],
  }
}
