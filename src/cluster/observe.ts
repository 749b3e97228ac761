/** Reads everything one decision needs. Its type says that it cannot write. */
import { Clock, Effect } from "effect"
import type { Name } from "../engine/kind.ts"
import type { ReadError } from "../errors.ts"
import { KubernetesReader } from "../kubernetes/kubernetes.ts"
import type { ServiceCluster } from "../resources/generated/service-cluster.ts"
import type { Pod, StatefulSet } from "../resources/kubernetes.ts"
import { type ClusterSettings, clusterSelector, type Given } from "./given.ts"
import { needsProvisioning } from "./provisioning.ts"
import { callsForALook } from "./roll-out.ts"
import type { NamespaceState, Snapshot } from "./snapshot.ts"

/** undefined: the object is gone. A failed read fails the pass. */
export const observe = (settings: ClusterSettings) =>
  Effect.fnUntraced(function* ({ name }: Name): Effect.fn.Return<Snapshot | undefined, ReadError, KubernetesReader> {
    const reader = yield* KubernetesReader
    const cluster = yield* reader.get("cluster", undefined, name)
    if (cluster === undefined) return undefined
    const now = yield* Clock.currentTimeMillis
    const statefulSet = yield* reader.get("StatefulSet", name, settings.vocabulary.service)
    return {
      now,
      cluster,
      namespace: yield* namespace(cluster),
      statefulSet,
      claims: yield* reader.list("PersistentVolumeClaim", "server", name),
      configMaps: yield* reader.list("ConfigMap", "server", name),
      policies: yield* reader.list("NetworkPolicy", "server", name),
      pods: yield* pods({ cluster, settings }, statefulSet, now),
      firstPod: needsProvisioning(cluster) ? yield* firstPod(name, settings) : undefined,
    }
  })

/** The cache holds only namespaces with our labels: of any other, and whether there is one at all, only the API server knows. */
const namespace = Effect.fnUntraced(function* (cluster: ServiceCluster): Effect.fn.Return<NamespaceState, ReadError, KubernetesReader> {
  const reader = yield* KubernetesReader
  const { name, uid } = cluster.metadata
  const found = (yield* reader.get("Namespace", undefined, name)) ?? (yield* reader.fetch("Namespace", undefined, name))
  if (found === undefined) return "Absent"
  if (found.metadata.deletionTimestamp !== undefined) return "Terminating"
  // With anybody's reference beside ours it is not ours to write to.
  const [owner, ...others] = found.metadata.ownerReferences ?? []
  return owner?.uid === uid && others.length === 0 ? "Ours" : "Foreign"
})

/**
 * Without a StatefulSet they tell how many nodes there are: a failure then fails the pass, because a guess might take some
 * of them away. Otherwise they are for people only: when the look fails, the message says less.
 */
const pods = Effect.fnUntraced(function* (
  given: Given,
  statefulSet: StatefulSet | undefined,
  now: number,
): Effect.fn.Return<ReadonlyArray<Pod>, ReadError, KubernetesReader> {
  const reader = yield* KubernetesReader
  const look = reader.search("Pod", given.cluster.metadata.name, clusterSelector(given))
  if (statefulSet === undefined) return yield* look
  if (!callsForALook(given.cluster, now)) return []
  return yield* Effect.catch(look, (error) =>
    Effect.as(Effect.logWarning("cannot ask why pods do not start", { detail: error.detail }), []),
  )
})

const firstPod = Effect.fnUntraced(function* (
  namespace: string,
  { vocabulary }: ClusterSettings,
): Effect.fn.Return<string | undefined, ReadError, KubernetesReader> {
  const reader = yield* KubernetesReader
  const pod = yield* reader.fetch("Pod", namespace, `${vocabulary.service}-0`)
  return pod?.status?.phase
})
