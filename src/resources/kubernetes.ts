/** The fields of Kubernetes' own kinds that the operator reads. Everything else passes through unseen. */
import type { KubernetesObject } from "./meta.ts"

export interface ReplicaSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number
    readonly minReadySeconds?: number
    readonly selector: LabelSelector
    readonly template?: { readonly metadata?: { readonly labels?: { readonly [key: string]: string } } }
  }
  readonly status?: {
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly availableReplicas?: number
    readonly observedGeneration?: number
    readonly conditions?: ReadonlyArray<{
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }>
  }
}

export interface LabelSelector {
  readonly matchLabels?: { readonly [key: string]: string } | null
  readonly matchExpressions?: ReadonlyArray<LabelSelectorRequirement> | null
}

export interface LabelSelectorRequirement {
  readonly key: string
  readonly operator: string
  readonly values?: ReadonlyArray<string> | null
}

export interface HorizontalPodAutoscaler extends KubernetesObject {
  readonly spec: { readonly scaleTargetRef: { readonly kind: string; readonly name: string } }
}

export interface Pod extends KubernetesObject {
  readonly status?: {
    readonly phase?: string
    readonly conditions?: ReadonlyArray<{
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }>
    readonly containerStatuses?: ReadonlyArray<ContainerStatus>
    readonly initContainerStatuses?: ReadonlyArray<ContainerStatus>
  }
}

export interface ContainerStatus {
  readonly name: string
  readonly image?: string
  readonly ready?: boolean
  readonly restartCount?: number
  readonly state?: ContainerState
  readonly lastState?: ContainerState
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: { readonly reason?: string; readonly exitCode: number }
}

export interface Service extends KubernetesObject {
  readonly spec: { readonly clusterIP?: string; readonly ports?: ReadonlyArray<{ readonly name?: string; readonly port: number }> }
}

export interface EndpointSlice extends KubernetesObject {
  readonly endpoints?: ReadonlyArray<{
    readonly addresses: ReadonlyArray<string>
    readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
  }> | null
}

export interface StatefulSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number
    readonly template?: { readonly spec?: { readonly volumes?: ReadonlyArray<{ readonly configMap?: { readonly name?: string } }> | null } }
    readonly volumeClaimTemplates?: ReadonlyArray<{ readonly spec?: ClaimSpec }>
  }
  readonly status?: {
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly updatedReplicas?: number
    readonly currentRevision?: string
    readonly updateRevision?: string
  }
}

export interface Deployment extends KubernetesObject {
  readonly spec: { readonly replicas?: number }
  readonly status?: {
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly updatedReplicas?: number
    readonly availableReplicas?: number
    readonly conditions?: ReadonlyArray<{
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }>
  }
}

/** A Secret as the operator knows it: what is in it never gets past the border, see objects.ts. */
export interface Secret extends KubernetesObject {
  /** Of every entry that is not empty, a digest that only those can check who may read the Secret. */
  readonly digests: { readonly [key: string]: string }
}

export interface PersistentVolumeClaim extends KubernetesObject {
  readonly spec: ClaimSpec
  readonly status?: {
    readonly phase?: string
    readonly capacity?: { readonly storage?: string }
    readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string; readonly message?: string }>
  }
}

export interface ClaimSpec {
  readonly resources?: { readonly requests?: { readonly storage?: string } }
  readonly volumeAttributesClassName?: string
}
