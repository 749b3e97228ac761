// Generated from schemas/service-cloud-environment.yaml by `make synth`. Do not edit.
import type { Condition, ObjectMeta } from "../meta.ts"
import type { EnvVar, Part } from "../parts.ts"

/**
 * ServiceCloudEnvironment is a hosted durable-execution server that ServiceDeployment objects register with, and
 * the tunnel through which it reaches their pods.
 */
export interface ServiceCloudEnvironment {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: ServiceCloudEnvironmentSpec
  /**
   * What the operator has seen and done. Written by the operator only.
   */
  status?: ServiceCloudEnvironmentStatus | null
}
/**
 * Which hosted server it is, how to authenticate there, and the tunnel to it.
 */
export interface ServiceCloudEnvironmentSpec {
  /**
   * Id of the environment, such as env_1a2b3c.
   */
  environmentId: string
  /**
   * Region of the environment, such as us or eu.central. It becomes a part of host names.
   */
  region: string
  /**
   * Public key with which requests of the environment are checked. Begins with publickeyv1_. It is no secret.
   */
  signingPublicKey: string
  authentication: EnvironmentAuthentication
  /**
   * The pods that connect this Kubernetes cluster with the environment.
   */
  tunnel?: EnvironmentTunnel | null
}
/**
 * How the operator and the tunnel prove who they are.
 */
export interface EnvironmentAuthentication {
  secret: EnvironmentSecret
}
/**
 * The Secret with the API token. It must be in the namespace of the operator.
 */
export interface EnvironmentSecret {
  /**
   * Name of the Secret.
   */
  name: string
  /**
   * Entry of the Secret that holds the token.
   */
  key: string
}
/**
 * The pods that connect this Kubernetes cluster with the environment.
 */
export interface EnvironmentTunnel {
  /**
   * Whether the tunnel pods also offer the environment's ingress (port 8080) and admin API (port 9070) inside this
   * Kubernetes cluster. Everybody who reaches the pods may use them, without a token of their own. Default false.
   */
  remoteProxy?: boolean | null
  /**
   * Number of tunnel pods. Default 1.
   */
  replicas?: number | null
  /**
   * Image of the tunnel client. Default is the one that the operator was started with.
   */
  image?: string | null
  /**
   * When to pull the image: Always, IfNotPresent or Never. Default: Always for the tag "latest" or no tag, else
   * IfNotPresent.
   */
  imagePullPolicy?: string | null
  /**
   * Further environment variables of the tunnel client. One that the operator sets too is replaced by yours.
   */
  env?: EnvVar[] | null
  /**
   * CPU, memory and other resources of the tunnel client. Default: requests of 1 CPU and 1Gi, limits of 2 CPU and
   * 2Gi.
   */
  resources?: Part | null
  /**
   * How the pods resolve names: ClusterFirst, ClusterFirstWithHostNet, Default or None. Default: ClusterFirst.
   */
  dnsPolicy?: string | null
  /**
   * Name servers, search domains and options, in addition to those of dnsPolicy.
   */
  dnsConfig?: Part | null
  /**
   * Taints of nodes that the tunnel pods tolerate.
   */
  tolerations?: Part[] | null
  /**
   * Labels that a node must have to run the tunnel pods.
   */
  nodeSelector?: {
    [k: string]: string
  }
  /**
   * Which nodes the tunnel pods prefer or need, and which pods they want to be near to or away from.
   */
  affinity?: Part | null
}
/**
 * What the operator has seen and done. Written by the operator only.
 */
export interface ServiceCloudEnvironmentStatus {
  /**
   * State of the tunnel. "Ready" is True when its pods are.
   */
  conditions?: Condition[] | null
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
