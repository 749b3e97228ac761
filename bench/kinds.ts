import type { EndpointSlice, KubernetesObject, Service } from "../sandbox/kubernetes-types.ts"
import type { ServiceDeployment } from "../src/resources/generated/service-deployment.ts"

export type { EndpointSlice, Service }

/** Where the bench puts everything. */
export const namespace = "bench"

/** A ServiceDeployment as far as the bench looks at it. */
export interface Deployment extends KubernetesObject {
  readonly spec?: ServiceDeployment["spec"]
  readonly status?: ServiceDeployment["status"]
}

/** A ReplicaSet as far as the bench looks at it. */
export interface ReplicaSet extends KubernetesObject {
  readonly spec: { readonly replicas?: number }
  readonly status?: { readonly observedGeneration?: number; readonly replicas?: number }
}

/** Paths of collections in the bench's namespace. */
export const paths = {
  services: `/api/v1/namespaces/${namespace}/services`,
  replicaSets: `/apis/apps/v1/namespaces/${namespace}/replicasets`,
  endpointSlices: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
} as const
