/** The autoscaler of an older version that still has work (operator.md §3.11). The latest version is the user's to scale. */
import type { Action, Desired, Ref } from "../engine/action.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { HorizontalPodAutoscaler } from "../resources/kubernetes.ts"
import { ownerReference } from "../resources/meta.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { managedBy } from "./propagation.ts"

/** Whether older versions are to be scaled by their load. */
export const isAutoscaled = ({ spec }: ServiceDeployment): boolean => isFields(spec.autoscaling)

/** Owned by the ServiceDeployment and not by the ReplicaSet: it goes before the pods do, and by our hand. */
export const autoscale = (deployment: ServiceDeployment, version: string, vocabulary: Vocabulary): Action => ({
  _tag: "Apply",
  object: autoscaler(deployment, version, vocabulary),
  manager: vocabulary.managers.autoscaling,
})

const autoscaler = (deployment: ServiceDeployment, version: string, vocabulary: Vocabulary): Desired => {
  const given: unknown = deployment.spec.autoscaling
  const spec = isFields(given) ? given : {}
  const least = spec["minReplicas"]
  return {
    ref: autoscalerRef(deployment, version),
    body: {
      metadata: { labels: managedBy(deployment, vocabulary), ownerReferences: [{ ...ownerReference(deployment) }] },
      spec: {
        ...spec,
        // An autoscaler with 0 needs a feature gate, and a version with work needs a pod.
        ...(typeof least === "number" && least < 1 ? { minReplicas: 1 } : {}),
        scaleTargetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: version },
      },
    },
  }
}

/** Whether the spec names a target, which is not followed: each version's own ReplicaSet is it. */
export const namesTarget = ({ spec }: ServiceDeployment): boolean =>
  isFields(spec.autoscaling) && spec.autoscaling["scaleTargetRef"] !== undefined && spec.autoscaling["scaleTargetRef"] !== null

/** Removes an autoscaler of ours; nothing when there is none. One that a user made under that name is not in our cache, and stays. */
export const stopAutoscaling = (autoscaler: HorizontalPodAutoscaler | undefined): ReadonlyArray<Action> => {
  if (autoscaler === undefined) return []
  const { name, namespace = "", uid } = autoscaler.metadata
  return [{ _tag: "Delete", ref: { kind: "HorizontalPodAutoscaler", namespace, name }, uid }]
}

const autoscalerRef = (deployment: ServiceDeployment, name: string): Ref => ({
  kind: "HorizontalPodAutoscaler",
  namespace: deployment.metadata.namespace ?? "",
  name,
})

type Fields = { readonly [field: string]: unknown }
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)
