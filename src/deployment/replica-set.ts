/** The ReplicaSet of a version (operator.md §3.3). */
import type { Action, Desired, Ref } from "../engine/action.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { ReplicaSet } from "../resources/kubernetes.ts"
import type { FieldsV1 } from "../resources/meta.ts"
import { ownerReference } from "../resources/meta.ts"
import { rfc3339NotBefore } from "../resources/time.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { managedBy, propagatedAnnotations } from "./propagation.ts"
import { hashLabel, type Wanted } from "./version.ts"

export const replicaSetRef = (deployment: ServiceDeployment, name: string): Ref => ({
  kind: "ReplicaSet",
  namespace: deployment.metadata.namespace ?? "",
  name,
})

/** Pods of the latest version; the schema's default is repeated for objects made before it. */
export const wantedReplicas = (deployment: ServiceDeployment): number => deployment.spec.replicas ?? 1

/**
 * Made with the key of the server that it is going to be registered with: after a crash between a registration and its
 * record nothing else says whom to ask about its work.
 */
export const replicaSet = (deployment: ServiceDeployment, wanted: Wanted, server: string, vocabulary: Vocabulary): Desired => {
  const { spec } = deployment
  const podLabels = { ...spec.template.metadata?.labels, ...versionLabels(deployment, wanted, vocabulary) }
  return {
    ref: replicaSetRef(deployment, wanted.name),
    body: {
      metadata: {
        labels: { ...podLabels, ...managedBy(deployment, vocabulary) },
        annotations: {
          ...propagatedAnnotations(deployment, vocabulary),
          [vocabulary.annotations.podTemplate]: wanted.template,
          [vocabulary.annotations.registeredWith]: server,
        },
        ownerReferences: [{ ...ownerReference(deployment) }],
      },
      spec: {
        replicas: wantedReplicas(deployment),
        ...(typeof spec.minReadySeconds === "number" ? { minReadySeconds: spec.minReadySeconds } : {}),
        selector: {
          matchLabels: { ...spec.selector?.matchLabels, [hashLabel]: wanted.hash },
          ...(spec.selector?.matchExpressions
            ? {
                matchExpressions: spec.selector.matchExpressions.map(({ values, ...expression }) => ({
                  ...expression,
                  ...(values ? { values } : {}),
                })),
              }
            : {}),
        },
        template: {
          metadata: {
            labels: podLabels,
            ...(spec.template.metadata?.annotations ? { annotations: { ...spec.template.metadata.annotations } } : {}),
          },
          spec: spec.template.spec,
        },
      },
    },
  }
}

const versionLabels = (deployment: ServiceDeployment, wanted: Wanted, vocabulary: Vocabulary): { readonly [key: string]: string } => {
  const cluster = deployment.spec.restate.register.cluster
  return { [hashLabel]: wanted.hash, ...(cluster ? { [vocabulary.labels.allow(cluster)]: "true" } : {}) }
}

/**
 * What a ReplicaSet met again needs to be the current version: annotations, size, no removal deadline (upstream 3.0.1
 * kept a stale one, and the next rollout scaled that version to zero at once). Empty when it is so already.
 */
export const adopt = (deployment: ServiceDeployment, live: ReplicaSet, vocabulary: Vocabulary): ReadonlyArray<Action> => [
  // First, because it names the resourceVersion that the others move.
  ...drop(deployment, live, [...staleAnnotations(deployment, live, vocabulary), ...present(live, vocabulary.annotations.removeAt)]),
  ...propagate(deployment, live, vocabulary),
  ...rescale(deployment, live, vocabulary),
]

/** Takes the removal deadline off a version that has work again. */
export const unstamp = (deployment: ServiceDeployment, live: ReplicaSet, vocabulary: Vocabulary): ReadonlyArray<Action> =>
  drop(deployment, live, present(live, vocabulary.annotations.removeAt))

const rescale = (deployment: ServiceDeployment, live: ReplicaSet, vocabulary: Vocabulary): ReadonlyArray<Action> => {
  const replicas = wantedReplicas(deployment)
  if ((live.spec.replicas ?? 1) === replicas) return []
  return [{ _tag: "Scale", ref: replicaSetRef(deployment, live.metadata.name), replicas, manager: vocabulary.managers.replicas }]
}

const propagate = (deployment: ServiceDeployment, live: ReplicaSet, vocabulary: Vocabulary): ReadonlyArray<Action> => {
  const wanted = propagatedAnnotations(deployment, vocabulary)
  const differs = Object.entries(wanted).some(([key, value]) => live.metadata.annotations?.[key] !== value)
  const ref = replicaSetRef(deployment, live.metadata.name)
  return differs ? [{ _tag: "Apply", object: annotate(ref, wanted), manager: vocabulary.managers.annotations }] : []
}

/** Propagated once, no longer wanted, and set by one of our managers: never a key that only others own. */
const staleAnnotations = (deployment: ServiceDeployment, live: ReplicaSet, vocabulary: Vocabulary): ReadonlyArray<string> => {
  const wanted = propagatedAnnotations(deployment, vocabulary)
  return ownedAnnotations(live).filter(
    (key) => wanted[key] === undefined && !key.startsWith(vocabulary.prefix) && present(live, key).length > 0,
  )
}

const present = (live: ReplicaSet, key: string): ReadonlyArray<string> => (live.metadata.annotations?.[key] === undefined ? [] : [key])

/** Sets the removal deadline, RFC 3339 in whole seconds rounded up, so that it never comes early. */
export const stamp = (deployment: ServiceDeployment, name: string, removeAt: number, vocabulary: Vocabulary): Action => ({
  _tag: "Apply",
  object: annotate(replicaSetRef(deployment, name), { [vocabulary.annotations.removeAt]: rfc3339NotBefore(removeAt) }),
  manager: vocabulary.managers.removal,
})

/** Says which server a version belongs to, and where it may still be registered, too. */
export const claim = (
  deployment: ServiceDeployment,
  name: string,
  server: string,
  former: ReadonlyArray<string>,
  { annotations, managers }: Vocabulary,
): Action => ({
  _tag: "Apply",
  object: annotate(replicaSetRef(deployment, name), {
    [annotations.registeredWith]: server,
    ...(former.length === 0 ? {} : { [annotations.alsoRegisteredWith]: former.join(" ") }),
  }),
  manager: managers.registeredWith,
})

/** Its server forgot it together with others: that is no proof that it has no work. */
export const markForgotten = (
  deployment: ServiceDeployment,
  name: string,
  server: string,
  { annotations, managers }: Vocabulary,
): Action => ({
  _tag: "Apply",
  object: annotate(replicaSetRef(deployment, name), { [annotations.forgottenBy]: server }),
  manager: managers.forgottenBy,
})

const drop = (deployment: ServiceDeployment, live: ReplicaSet, annotations: ReadonlyArray<string>): ReadonlyArray<Action> =>
  annotations.length === 0
    ? []
    : [
        {
          _tag: "Drop",
          ref: replicaSetRef(deployment, live.metadata.name),
          uid: live.metadata.uid,
          resourceVersion: live.metadata.resourceVersion,
          annotations,
        },
      ]

const annotate = (ref: Ref, annotations: { readonly [key: string]: string }): Desired => ({ ref, body: { metadata: { annotations } } })

/** Annotation keys that any of our managers set; the cache keeps only our managers' entries. */
const ownedAnnotations = (live: ReplicaSet): ReadonlyArray<string> => [
  ...new Set(
    (live.metadata.managedFields ?? []).flatMap(({ fieldsV1 }) => {
      const annotations: FieldsV1 | undefined = fieldsV1?.["f:metadata"]?.["f:annotations"]
      return Object.keys(annotations ?? {}).flatMap((path) => (path.startsWith("f:") ? [path.slice(2)] : []))
    }),
  ),
]
