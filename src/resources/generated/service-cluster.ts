// Generated from schemas/service-cluster.yaml by `make synth`. Do not edit.
import type { Condition, ObjectMeta } from "../meta.ts"

/**
 * ServiceCluster is a durable-execution server, in a namespace of the same name, that ServiceDeployment objects
 * register with.
 */
export interface ServiceCluster {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: ServiceClusterSpec
  /**
   * What the operator has seen and done. Written by the operator only.
   */
  status?: ServiceClusterStatus | null
}
/**
 * The server's storage, pods and options.
 */
export interface ServiceClusterSpec {
  /**
   * Name that the server gives its cluster. Default is the name of this object.
   */
  clusterName?: string | null
  /**
   * Options of the cluster as a whole.
   */
  cluster?: ClusterOptions | null
  storage: ClusterStorage
  compute: ClusterCompute
  [k: string]: unknown
}
/**
 * Options of the cluster as a whole.
 */
export interface ClusterOptions {
  /**
   * Whether the operator provisions the cluster once its first pod runs. Default false.
   */
  autoProvision?: boolean
  [k: string]: unknown
}
/**
 * The volume of each pod.
 */
export interface ClusterStorage {
  /**
   * Storage class of the volumes. Default is the cluster's default class. Cannot be changed after creation.
   */
  storageClassName?: string | null
  /**
   * Size of each volume in bytes. It may grow but not shrink.
   */
  storageRequestBytes: number
  /**
   * Volume attributes class of the volumes. Default is none.
   */
  volumeAttributesClassName?: string | null
  [k: string]: unknown
}
/**
 * The pods of the server.
 */
export interface ClusterCompute {
  /**
   * Image of the server.
   */
  image: string
  /**
   * Number of pods. Default 1.
   */
  replicas?: number | null
  [k: string]: unknown
}
/**
 * What the operator has seen and done. Written by the operator only.
 */
export interface ServiceClusterStatus {
  /**
   * State of the server. "Ready" is True when all of its pods are.
   */
  conditions?: Condition[] | null
  /**
   * Whether the cluster has been provisioned; never goes back to false.
   */
  provisioned?: boolean | null
  /**
   * The generation of the object that this status is about.
   */
  observedGeneration?: number | null
  /**
   * Whether the operator works on this object. Disabled while the annotation durable.dev/reconcile has the value
   * "disabled".
   */
  reconciliation?: "Reconciling" | "Disabled" | "ResumingReconciliation"
}
