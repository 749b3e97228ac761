/** The Kubernetes API as the operator sees it: a cache to read, a live read for proofs, and seven ways to write. */
import { Context, type Effect } from "effect"
import type { Desired, Ref } from "../engine/action.ts"
import type { ReadError, Unavailable, WriteError } from "../errors.ts"
import type { ServiceCloudEnvironment } from "../resources/generated/service-cloud-environment.ts"
import type { ServiceCluster } from "../resources/generated/service-cluster.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type {
  Deployment,
  EndpointSlice,
  HorizontalPodAutoscaler,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  Secret,
  Service,
  StatefulSet,
} from "../resources/kubernetes.ts"
import type { KubernetesObject } from "../resources/meta.ts"

/** Which type stands behind each kind. */
export interface Objects {
  readonly deployment: ServiceDeployment
  readonly cluster: ServiceCluster
  readonly environment: ServiceCloudEnvironment
  readonly ReplicaSet: ReplicaSet
  readonly Service: Service
  readonly EndpointSlice: EndpointSlice
  readonly HorizontalPodAutoscaler: HorizontalPodAutoscaler
  readonly Pod: Pod
  readonly Namespace: KubernetesObject
  readonly ServiceAccount: KubernetesObject
  readonly ConfigMap: KubernetesObject
  readonly ServerService: Service
  readonly PodDisruptionBudget: KubernetesObject
  readonly NetworkPolicy: KubernetesObject
  readonly StatefulSet: StatefulSet
  readonly PersistentVolumeClaim: PersistentVolumeClaim
  readonly TunnelDeployment: Deployment
  readonly TunnelService: Service
  readonly Secret: Secret
  readonly Event: KubernetesObject
}

/** Ways to find objects in the cache other than by name. The value's form is given beside each. */
export type Index =
  /** UID of the controlling owner. */
  | "owner"
  /** `namespace/name` of the ServiceDeployment in the owned-by label. */
  | "ownedBy"
  /** `namespace/name` of the Service an EndpointSlice belongs to. */
  | "service"
  /** Name of the ServiceCluster a ServiceDeployment registers with. */
  | "registersWith"
  /** Name of the ServiceCluster whose server an object in the namespace of that name belongs to. */
  | "server"
  /** Name of the Secret that holds the API token of a ServiceCloudEnvironment. */
  | "token"

/**
 * Reads. The cache is complete (every reflector listed once) before the first pass, and contains our own writes.
 * A reflector that lost its server makes reads of its kind fail once its data may be older than a minute.
 */
export class KubernetesReader extends Context.Service<
  KubernetesReader,
  {
    /** From the cache. */
    readonly get: <K extends keyof Objects>(
      kind: K,
      namespace: string | undefined,
      name: string,
    ) => Effect.Effect<Objects[K] | undefined, Unavailable>
    /** From the cache, by index, sorted by name. */
    readonly list: <K extends keyof Objects>(kind: K, index: Index, value: string) => Effect.Effect<ReadonlyArray<Objects[K]>, Unavailable>
    /** Past the cache: `undefined` only for a real 404 of the object itself. */
    readonly fetch: <K extends keyof Objects>(
      kind: K,
      namespace: string | undefined,
      name: string,
    ) => Effect.Effect<Objects[K] | undefined, ReadError>
    /** Past the cache: the first twenty with these labels, for kinds that nobody watches. */
    readonly search: <K extends keyof Objects>(
      kind: K,
      namespace: string,
      labels: { readonly [key: string]: string },
    ) => Effect.Effect<ReadonlyArray<Objects[K]>, ReadError>
  }
>()("service-operator/kubernetes/KubernetesReader") {}

/** Writes. Every answer enters the cache, if newer; a delete leaves a tombstone until the watch confirms it. */
export class KubernetesWriter extends Context.Service<
  KubernetesWriter,
  {
    /** POST under the main manager. `Taken` when the name exists, with what is there. */
    readonly create: (
      object: Desired,
    ) => Effect.Effect<{ readonly _tag: "Created" | "Taken"; readonly object: KubernetesObject }, WriteError>
    /** Server-side apply with force. Sends nothing, and answers `changed: false`, when the cache shows that nothing would change. */
    readonly apply: (
      object: Desired,
      manager: string,
      subresource?: "status",
    ) => Effect.Effect<{ readonly changed: boolean; readonly object: KubernetesObject }, WriteError>
    /** Sets `spec.replicas` through the scale subresource, unless it is so already. */
    readonly scale: (
      ref: Ref,
      replicas: number,
      manager: string,
    ) => Effect.Effect<{ readonly changed: boolean; readonly object: KubernetesObject }, WriteError>
    /** Merge patch; resourceVersion inside the patch makes it fail with Conflict when somebody wrote first. */
    readonly merge: (ref: Ref, patch: Desired["body"]) => Effect.Effect<KubernetesObject, WriteError>
    /** Deletion of exactly this UID, of what it owns in the background, or not at all; 404 counts as done. */
    readonly remove: (ref: Ref, uid: string, propagation?: "Background" | "Orphan") => Effect.Effect<void, WriteError>
    /** POST of an events.k8s.io/v1 Event, or merge patch of its series. Callers ignore failures. */
    readonly createEvent: (namespace: string, body: Desired["body"]) => Effect.Effect<KubernetesObject, WriteError>
    readonly patchEvent: (namespace: string, name: string, body: Desired["body"]) => Effect.Effect<KubernetesObject, WriteError>
  }
>()("service-operator/kubernetes/KubernetesWriter") {}
