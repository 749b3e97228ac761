// Generated from schemas/service-cluster.yaml by `make synth`. Do not edit.
import type { Condition, ObjectMeta } from "../meta.ts"
import type { EnvVar, NamedPart, Part, VolumeMount } from "../parts.ts"

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
 * The server's storage, pods, permissions and configuration.
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
  /**
   * Who may reach the server, what it may reach, and as whom it acts in the cloud.
   */
  security?: ClusterSecurity | null
  /**
   * Configuration of the server, in TOML. A change restarts the pods one after the other. Default is empty.
   */
  config?: string | null
}
/**
 * Options of the cluster as a whole.
 */
export interface ClusterOptions {
  /**
   * Whether the operator provisions the cluster once its first pod runs. The configuration must then say
   * `auto-provision = false`, so that the server does not do it too. Default false.
   */
  autoProvision?: boolean
}
/**
 * The volume of each pod, where the server keeps its data.
 */
export interface ClusterStorage {
  /**
   * Storage class of the volumes. Default is the default class of the Kubernetes cluster. Cannot be changed, set
   * or removed after creation.
   */
  storageClassName?: string | null
  /**
   * Size of each volume in bytes. It may grow but not shrink.
   */
  storageRequestBytes: number
  /**
   * Volume attributes class of the volumes. Default is none. Removing it leaves the volumes as they are.
   */
  volumeAttributesClassName?: string | null
}
/**
 * The pods of the server.
 */
export interface ClusterCompute {
  /**
   * Number of pods; each is a node of the server. Default 1.
   */
  replicas?: number | null
  /**
   * Image of the server. There is no default.
   */
  image: string
  /**
   * Program to start instead of the image's entrypoint.
   */
  command?: string[] | null
  /**
   * Arguments of the program. Default are those of the image.
   */
  args?: string[] | null
  /**
   * When to pull the image: Always, IfNotPresent or Never. Default: Always for the tag "latest" or no tag, else
   * IfNotPresent.
   */
  imagePullPolicy?: string | null
  /**
   * Secrets in the server's namespace with which to pull the image.
   */
  imagePullSecrets?: Part[] | null
  /**
   * Further environment variables of the server. One that the operator sets too is replaced by yours, but for
   * POD_NAME, POD_ZONE and POD_REGION, which cannot be set.
   */
  env?: EnvVar[] | null
  /**
   * CPU, memory and other resources of the server container. Default is no request and no limit.
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
   * Taints of nodes that the pods tolerate. The jobs that check cloud credentials get them too.
   */
  tolerations?: Part[] | null
  /**
   * Labels that a node must have to run the pods.
   */
  nodeSelector?: {
    [k: string]: string
  }
  /**
   * Which nodes the pods prefer or need, and which pods they want to be near to or away from.
   */
  affinity?: Part | null
  /**
   * How the pods spread over zones or nodes. Give each constraint a labelSelector that matches the pods; the
   * operator adds none.
   */
  topologySpreadConstraints?: Part[] | null
  /**
   * Priority class of the pods. Default is the default class of the Kubernetes cluster, if it has one.
   */
  priorityClassName?: string | null
  /**
   * Further annotations of the pods. Those that the operator sets win.
   */
  annotations?: {
    [k: string]: string
  } | null
  /**
   * Further labels of the pods. Those that the operator sets win.
   */
  labels?: {
    [k: string]: string
  } | null
  /**
   * What to run in the server container after its start and before its stop. postStart runs beside the server, not
   * before it.
   */
  lifecycle?: Part | null
  /**
   * Containers that start before the server, stay beside it and end after it. Whatever their restartPolicy says,
   * they are always restarted. Needs Kubernetes 1.29.
   */
  sidecars?: NamedPart[] | null
  /**
   * Seconds that a pod gets to stop. Default 60. With 0 it is killed at once and the preStop hook does not run.
   */
  terminationGracePeriodSeconds?: number | null
  /**
   * Further volumes of the pods. These names are taken: storage, tmp, config, combined-ca-certs, trusted-ca-*,
   * request-signing-private-key-secret and request-signing-private-key-secret-provider.
   */
  extraVolumes?: NamedPart[] | null
  /**
   * Further mounts of the server container. These paths are taken: /service-data, /tmp, /config, /signing-key and
   * /combined-certs.
   */
  extraVolumeMounts?: VolumeMount[] | null
}
/**
 * Who may reach the server, what it may reach, and as whom it acts in the cloud.
 */
export interface ClusterSecurity {
  /**
   * Further annotations of the Service that clients use.
   */
  serviceAnnotations?: {
    [k: string]: string
  } | null
  /**
   * Further annotations of the pods' ServiceAccount. With iam.gke.io/gcp-service-account the operator binds it to
   * that account of Google Cloud, when it was started to do so.
   */
  serviceAccountAnnotations?: {
    [k: string]: string
  } | null
  /**
   * IAM role of AWS that the pods act as, through EKS Pod Identity. Without effect unless the operator was started
   * with the name of the EKS cluster.
   */
  awsPodIdentityAssociationRoleArn?: string | null
  /**
   * Security groups of AWS for the pods, by id.
   */
  awsPodSecurityGroups?: string[] | null
  /**
   * Whether to do without network policies. With true the operator removes its own and everything may reach the
   * server. Default false.
   */
  disableNetworkPolicies?: boolean | null
  /**
   * Who may reach each port of the server. A port without a list is closed, but for the server's own pods and the
   * operator; with an empty list it is open to everybody.
   */
  networkPeers?: ClusterNetworkPeers | null
  /**
   * Whether the operator may use the admin API. Default true. With false it can register versions only if `admin`
   * of networkPeers lets it in.
   */
  allowOperatorAccessToAdmin?: boolean | null
  /**
   * What the pods may reach, besides each other, DNS, the public internet and pods that allow this cluster.
   */
  networkEgressRules?: ClusterEgressRule[] | null
  /**
   * Private key with which the server signs its requests to services, from a Secret or from a secret store.
   * Exactly one of secret and secretProvider.
   */
  requestSigningPrivateKey?: ClusterSigningKey | null
  /**
   * Certificate authorities that the server trusts in addition to the public ones.
   */
  trustedCaCerts?: ClusterTrustedCa[] | null
}
/**
 * Who may reach each port of the server. A port without a list is closed, but for the server's own pods and the
 * operator; with an empty list it is open to everybody.
 */
export interface ClusterNetworkPeers {
  /**
   * Who may call services, on port 8080.
   */
  ingress?: Part[] | null
  /**
   * Who may use the admin API, on port 9070.
   */
  admin?: Part[] | null
  /**
   * Who may reach the node port 5122, which also has the metrics. The server's own pods always may.
   */
  node?: Part[] | null
  /**
   * Deprecated, say `node` instead. Without effect when `node` is set.
   */
  metrics?: Part[] | null
}
/**
 * Places that the server may reach, by port and by peer.
 */
export interface ClusterEgressRule {
  /**
   * Ports that may be reached. Default is all.
   */
  ports?: Part[] | null
  /**
   * Peers that may be reached. Default is all.
   */
  to?: Part[] | null
}
/**
 * Private key with which the server signs its requests to services, from a Secret or from a secret store.
 * Exactly one of secret and secretProvider.
 */
export interface ClusterSigningKey {
  /**
   * Version of request signing: v1.
   */
  version: string
  /**
   * A Secret in the server's namespace that has the key.
   */
  secret?: ClusterSigningKeySecret | null
  /**
   * A secret store that has the key, through the Secrets Store CSI driver.
   */
  secretProvider?: ClusterSigningKeyProvider | null
}
/**
 * A Secret in the server's namespace that has the key.
 */
export interface ClusterSigningKeySecret {
  /**
   * Name of the Secret.
   */
  secretName: string
  /**
   * Entry of the Secret that holds the private key as PEM.
   */
  key: string
}
/**
 * A secret store that has the key, through the Secrets Store CSI driver.
 */
export interface ClusterSigningKeyProvider {
  /**
   * Name of the provider, such as aws or vault.
   */
  provider?: string | null
  /**
   * Parameters of the provider.
   */
  parameters?: {
    [k: string]: string
  } | null
  /**
   * File of the private key, relative to the volume that the provider fills.
   */
  path: string
}
/**
 * One certificate authority.
 */
export interface ClusterTrustedCa {
  /**
   * Name of a Secret in the server's namespace.
   */
  secretName: string
  /**
   * Entry of the Secret that holds certificates as PEM.
   */
  key: string
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
