// Generated from schemas/service-deployment.yaml by `make synth`. Do not edit.
import type { Condition, ObjectMeta } from "../meta.ts"

/**
 * ServiceDeployment runs a durable service and rolls out its versions without losing a running invocation. Each
 * change of the pod template becomes a version with pods and a Service of its own, registered with the server; a
 * version stays until the invocations pinned to it are done.
 */
export interface ServiceDeployment {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: ServiceDeploymentSpec
  /**
   * What the operator has seen and done. Written by the operator only.
   */
  status?: ServiceDeploymentStatus | null
}
/**
 * What to run, how many of it, and which server to register it with.
 */
export interface ServiceDeploymentSpec {
  /**
   * How the pods of a version run. "replicaset": as a ReplicaSet with the number of pods of `replicas`. "knative":
   * as a Knative Configuration that scales with the load. Default: replicaset. Cannot be changed after creation.
   */
  deploymentMode?: "replicaset" | "knative"
  /**
   * Settings of deploymentMode knative; required in that mode and refused in the other.
   */
  knative?: Knative | null
  /**
   * Number of pods of the latest version. Older versions keep theirs until their work is done. Default 1. Only for
   * deploymentMode replicaset.
   */
  replicas?: number
  /**
   * How many finished versions to keep, with no pods, so that going back to one of them is quick. Default 10. With
   * 0 a finished version is removed at once.
   */
  revisionHistoryLimit?: number
  /**
   * Seconds that a new pod must be ready before it counts as available. Default 0. A change counts from the next
   * version on.
   */
  minReadySeconds?: number | null
  /**
   * Seconds that a new version may take until its pods are up. After that the condition Stalled says so and why;
   * the version goes on trying, and older ones keep serving. Default 600.
   */
  progressDeadlineSeconds?: number | null
  /**
   * Labels by which the pods of this service are found. They must be labels of the template; the version's own
   * label is added to them.
   */
  selector?: Selector | null
  template: Template
  restate: Restate
  /**
   * A HorizontalPodAutoscaler spec (autoscaling/v2) without target, applied to every older version while it still
   * has work. For the latest version make a HorizontalPodAutoscaler whose target is this object. Default is none.
   * Only for deploymentMode replicaset.
   */
  autoscaling?: Autoscaling | null
}
/**
 * Settings of deploymentMode knative; required in that mode and refused in the other.
 */
export interface Knative {
  /**
   * Name of the version. With the same tag a changed template updates the version in place, under the same address
   * and without registering again; another tag makes a new version. Default: every change of the template makes a
   * new version, named by its hash.
   */
  tag?: string | null
  /**
   * Least number of pods of a version. Default 0, so that an idle version has none.
   */
  minScale?: number | null
  /**
   * Largest number of pods of a version. Default is no limit.
   */
  maxScale?: number | null
  /**
   * How many requests at once one pod should have before another is started. Default is that of Knative, 100.
   */
  target?: number | null
}
/**
 * Labels by which the pods of this service are found. They must be labels of the template; the version's own
 * label is added to them.
 */
export interface Selector {
  /**
   * Labels and values that the pods have. Each must be in template.metadata.labels.
   */
  matchLabels?: {
    [k: string]: string
  } | null
  /**
   * Further conditions on the labels of the pods. The Service of a version cannot express them and goes by
   * matchLabels alone.
   */
  matchExpressions?: SelectorRequirement[] | null
}
/**
 * One condition on a label.
 */
export interface SelectorRequirement {
  /**
   * Name of the label.
   */
  key: string
  /**
   * How to compare: In, NotIn, Exists or DoesNotExist.
   */
  operator: string
  /**
   * Values to compare with, for In and NotIn.
   */
  values?: string[] | null
}
/**
 * The pods of the service. Every change of it makes a new version.
 */
export interface Template {
  /**
   * Labels and annotations of the pods.
   */
  metadata?: TemplateMetadata | null
  /**
   * The pod, as in a Deployment: containers, volumes and so on. Taken over word for word. The port that the server
   * calls is the container port named "service", else the first one of all containers, else 9080. In
   * deploymentMode knative it is the spec of a Knative revision.
   */
  spec: { [k: string]: unknown }
}
/**
 * Labels and annotations of the pods.
 */
export interface TemplateMetadata {
  /**
   * Labels of the pods. The operator adds the version's own.
   */
  labels?: {
    [k: string]: string
  } | null
  /**
   * Annotations of the pods.
   */
  annotations?: {
    [k: string]: string
  } | null
}
/**
 * Which server to register the versions with, how the server reaches them, and when an old version may go.
 */
export interface Restate {
  register: Register
  /**
   * Path at which your pods serve the service, such as /api. Default is the root.
   */
  servicePath?: string | null
  /**
   * Whether the server calls your pods over HTTP/1.1 rather than HTTP/2. Default false. Set it when your pods
   * cannot serve HTTP/2; a change makes a new version.
   */
  useHttp11?: boolean | null
  /**
   * How a hosted server reaches your pods. "external": through the tunnel pods of the ServiceCloudEnvironment.
   * "in-process": your pods open a tunnel of their own; needs register.cloud. Default: external.
   */
  tunnelMode?: "external" | "in-process"
  /**
   * Seconds from the moment a version has no work left to its removal, for callers that still hold its address.
   * Default 300.
   */
  drainDelaySeconds?: number | null
  /**
   * What deleting this object does with unfinished invocations. "drain": waits for them, as `drain` says. "force":
   * removes all versions at once, and their unfinished invocations cannot go on. Default: drain. May be changed
   * while the object is being deleted.
   */
  deletePolicy?: "drain" | "force"
  /**
   * How long deleting this object waits for unfinished invocations. Without meaning when deletePolicy is force.
   */
  drain?: Drain | null
}
/**
 * The server that every version is registered with. Exactly one of cluster, cloud, service and url.
 */
export interface Register {
  /**
   * Name of a ServiceCluster: the server that this operator runs in the namespace of that name.
   */
  cluster?: string
  /**
   * Name of a ServiceCloudEnvironment: a hosted server that reaches your pods through a tunnel.
   */
  cloud?: string
  service?: RegisterService
  /**
   * Address of a server's admin API, such as http://admin.example.com:9070. http or https.
   */
  url?: string
}
/**
 * The admin Service of a server that somebody else runs in this Kubernetes cluster.
 */
export interface RegisterService {
  /**
   * Name of the Service.
   */
  name: string
  /**
   * Namespace of the Service.
   */
  namespace: string
  /**
   * Port of the admin API. Default 9070.
   */
  port?: number | null
  /**
   * Path before the paths of the admin API, for a server behind a proxy. Default is none.
   */
  path?: string | null
}
/**
 * How long deleting this object waits for unfinished invocations. Without meaning when deletePolicy is force.
 */
export interface Drain {
  /**
   * Seconds to wait, counted from the deletion. Default 3600.
   */
  timeoutSeconds?: number | null
  /**
   * What to do when the time is over. "hold": keep waiting and say so in the status. "force": remove all versions,
   * as deletePolicy force does. Default: hold.
   */
  onTimeout?: "hold" | "force"
}
/**
 * A HorizontalPodAutoscaler spec (autoscaling/v2) without target, applied to every older version while it still
 * has work. For the latest version make a HorizontalPodAutoscaler whose target is this object. Default is none.
 * Only for deploymentMode replicaset.
 */
export interface Autoscaling {
  /**
   * Least number of pods of an older version that has work. Default 1; a smaller number counts as 1.
   */
  minReplicas?: number | null
  /**
   * Largest number of pods of an older version. Required.
   */
  maxReplicas?: number | null
  /**
   * What to scale by, as in a HorizontalPodAutoscaler.
   */
  metrics?: { [k: string]: unknown }[] | null
  /**
   * How fast to scale up and down, as in a HorizontalPodAutoscaler.
   */
  behavior?: { [k: string]: unknown } | null
  /**
   * Must not be set; each version's own ReplicaSet is the target.
   */
  scaleTargetRef?: { [k: string]: unknown } | null
  [k: string]: unknown
}
/**
 * What the operator has seen and done. Written by the operator only.
 */
export interface ServiceDeploymentStatus {
  /**
   * Id under which the server knows the current version; absent until it is registered.
   */
  deploymentId?: string | null
  /**
   * Number of pods of the current version.
   */
  replicas: number
  /**
   * Number of pods that the current version should have.
   */
  desiredReplicas?: number | null
  /**
   * Number of pods of the current version that are ready.
   */
  readyReplicas?: number | null
  /**
   * Number of pods of the current version that have been ready for minReadySeconds.
   */
  availableReplicas?: number | null
  /**
   * Number of pods that the current version lacks.
   */
  unavailableReplicas?: number | null
  /**
   * How often two different templates came to the same version name; part of the name from then on.
   */
  collisionCount?: number | null
  /**
   * The generation of the object that this status is about.
   */
  observedGeneration?: number | null
  /**
   * Selector of the pods of the latest version, for the scale subresource and autoscalers.
   */
  labelSelector?: string | null
  /**
   * State of the rollout. "Ready" is True when the latest version is registered and gets all new work;
   * "Reconciling" and "Stalled" are there while they are True.
   */
  conditions?: Condition[] | null
  /**
   * All versions that exist, the current one first, then the newest first: why each of them is still there.
   */
  versions?: VersionStatus[] | null
  /**
   * The Knative objects of the current version, in deploymentMode knative.
   */
  knative?: KnativeStatus | null
  /**
   * Whether the operator works on this object. Disabled while the annotation durable.dev/reconcile has the value
   * "disabled".
   */
  reconciliation?: "Reconciling" | "Disabled" | "ResumingReconciliation"
  /**
   * How far the deletion of this object is; only while it is being deleted.
   */
  deletion?: DeletionStatus | null
}
/**
 * One version.
 */
export interface VersionStatus {
  /**
   * Name of its ReplicaSet, Service and pods.
   */
  name: string
  /**
   * "Current": what the spec asks for. "InUse": an older version that has unfinished invocations or still gets new
   * ones; it keeps its pods. "Draining": an older version without work; it goes at removeAt. "Kept": no pods,
   * still registered, for a quick way back (revisionHistoryLimit). "Unknown": the server has not told, so nothing
   * is done.
   */
  state: "Current" | "InUse" | "Draining" | "Kept" | "Unknown"
  /**
   * Id under which the server knows it.
   */
  deploymentId?: string | null
  /**
   * Invocations that have begun on this older version and can only end on it. Exact up to 9, above that rounded up
   * to one digit, so that a long drain does not rewrite this status with every invocation that ends.
   */
  pinned?: number | null
  /**
   * Invocations that have not begun and would begin on this older version; rounded like pinned.
   */
  unpinned?: number | null
  /**
   * Since when it has been in this state.
   */
  since?: string | null
  /**
   * When a draining version goes.
   */
  removeAt?: string | null
}
/**
 * The Knative objects of the current version, in deploymentMode knative.
 */
export interface KnativeStatus {
  /**
   * Name of the Configuration.
   */
  configurationName?: string | null
  /**
   * Name of the Route.
   */
  routeName?: string | null
  /**
   * Address of the Route.
   */
  url?: string | null
  /**
   * Name of the latest revision that is ready.
   */
  latestRevision?: string | null
}
/**
 * How far the deletion of this object is; only while it is being deleted.
 */
export interface DeletionStatus {
  /**
   * The deletePolicy in force.
   */
  policy: "drain" | "force"
  /**
   * "Draining": waits for invocations. "Overdue": still waits, although drain.timeoutSeconds have passed.
   * "Forcing": removes all versions now.
   */
  phase: "Draining" | "Overdue" | "Forcing"
  /**
   * When the deletion was asked for.
   */
  startedAt?: string | null
  /**
   * When drain.timeoutSeconds are over; absent under policy force.
   */
  deadline?: string | null
  /**
   * What happens at the deadline; absent under policy force.
   */
  onTimeout?: "hold" | "force"
  /**
   * What it waits for.
   */
  message?: string | null
  /**
   * Number of unfinished invocations that hold the deletion up; absent while the server does not say.
   */
  totalPendingInvocations?: number
  /**
   * The unfinished invocations by version.
   */
  pendingInvocations?: PendingInvocations[] | null
}
/**
 * The unfinished invocations of one version.
 */
export interface PendingInvocations {
  /**
   * Name of the version.
   */
  version: string
  /**
   * Id under which the server knows the version.
   */
  deploymentId?: string | null
  /**
   * Number of invocations that have begun on this version and can only end on it.
   */
  pinned: number
  /**
   * Number of invocations that have not begun and would begin on this version.
   */
  unpinned: number
}
