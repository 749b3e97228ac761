/** Reads everything one decision needs. Its type says that it cannot write. */
import { Clock, Effect } from "effect"
import { AdminReader, type Routing } from "../admin/admin.ts"
import { hostOf } from "../admin/endpoint.ts"
import type { AdminServer } from "../engine/action.ts"
import type { Name } from "../engine/kind.ts"
import type { Observed } from "../engine/plan.ts"
import type { ReadError } from "../errors.ts"
import { KubernetesReader } from "../kubernetes/kubernetes.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { Vocabulary } from "../vocabulary.ts"
import type { EndpointSlice, Pod, ReplicaSet } from "../resources/kubernetes.ts"
import { callsForALook } from "./progress.ts"
import type { AdminView, ClusterState, DeploymentSettings, Snapshot } from "./snapshot.ts"
import { registerTarget, serverOf } from "./target.ts"
import { endpointOf, formerKeys, hashLabel, wantedVersion } from "./version.ts"
import { invalidSpec } from "./validation.ts"

/** undefined: the object is gone. A failed Kubernetes read fails the pass; a failed admin read is part of the snapshot. */
export const observe = (settings: DeploymentSettings) =>
  Effect.fnUntraced(function* (name: Name): Effect.fn.Return<Snapshot | undefined, ReadError, KubernetesReader | AdminReader> {
    const reader = yield* KubernetesReader
    const deployment = yield* reader.get("deployment", name.namespace, name.name)
    if (deployment === undefined) return undefined
    const replicaSets = yield* reader.list("ReplicaSet", "owner", deployment.metadata.uid)
    const autoscalers = yield* reader.list("HorizontalPodAutoscaler", "owner", deployment.metadata.uid)
    const now = yield* Clock.currentTimeMillis
    return {
      now,
      deployment,
      replicaSets,
      autoscalers: new Map(autoscalers.map((autoscaler) => [autoscaler.metadata.name, autoscaler])),
      pods: yield* pods(deployment, replicaSets, now, settings),
      routable: yield* routable(deployment, settings),
      cluster: yield* cluster(deployment),
      gone: yield* goneClusters(deployment, replicaSets, settings),
      admin: yield* adminViews(deployment, replicaSets, settings),
    }
  })

/** A look at pods is for people only: when it fails, the message says less, and everything else goes on. */
const pods = Effect.fnUntraced(function* (
  deployment: ServiceDeployment,
  replicaSets: ReadonlyArray<ReplicaSet>,
  now: number,
  settings: DeploymentSettings,
): Effect.fn.Return<ReadonlyArray<Pod>, never, KubernetesReader> {
  if (deployment.metadata.deletionTimestamp !== undefined || invalidSpec(deployment, settings.addresses) !== undefined) return []
  const { hash, name } = wantedVersion(deployment)
  const live = replicaSets.find(({ metadata }) => metadata.name === name)
  if (live === undefined || !callsForALook(deployment, live, now)) return []
  const reader = yield* KubernetesReader
  return yield* reader
    .search("Pod", deployment.metadata.namespace ?? "", { [hashLabel]: hash })
    .pipe(Effect.catch((error) => Effect.as(Effect.logWarning("cannot ask why pods do not start", { detail: error.detail }), [])))
})

/** Only the current version's endpoints matter: nobody asks whether an old version can be reached. */
const routable = Effect.fnUntraced(function* (deployment: ServiceDeployment, settings: DeploymentSettings) {
  if (invalidSpec(deployment, settings.addresses) !== undefined) return new Set<string>()
  const reader = yield* KubernetesReader
  const { name } = wantedVersion(deployment)
  const slices = yield* reader.list("EndpointSlice", "service", `${deployment.metadata.namespace ?? ""}/${name}`)
  return new Set(slices.some(hasReadyAddress) ? [name] : [])
})

/** `ready` absent means ready, says the API. */
export const hasReadyAddress = (slice: EndpointSlice): boolean =>
  (slice.endpoints ?? []).some(({ addresses, conditions }) => addresses.length > 0 && conditions?.ready !== false)

const cluster = Effect.fnUntraced(function* (deployment: ServiceDeployment): Effect.fn.Return<ClusterState, ReadError, KubernetesReader> {
  const name = deployment.spec?.restate?.register?.cluster
  if (!name) return { _tag: "NotUsed" }
  const reader = yield* KubernetesReader
  const cached = yield* reader.get("cluster", undefined, name)
  // Its absence ends a deletion without a look at the work that is left: proven by a live 404, never by the cache.
  const found =
    cached ?? (deployment.metadata.deletionTimestamp === undefined ? undefined : yield* reader.fetch("cluster", undefined, name))
  if (found === undefined) return { _tag: "Absent", proven: deployment.metadata.deletionTimestamp !== undefined }
  const ready = found.status?.conditions?.find(({ type }) => type === "Ready")
  return { _tag: "Present", name, ready: ready?.status === "True", message: ready?.message ? `: ${ready.message}` : "" }
})

/** The same proof for clusters that only versions name, because the target has moved since. */
const goneClusters = Effect.fnUntraced(function* (
  deployment: ServiceDeployment,
  replicaSets: ReadonlyArray<ReplicaSet>,
  { vocabulary }: DeploymentSettings,
): Effect.fn.Return<ReadonlySet<string>, ReadError, KubernetesReader> {
  const gone = new Set<string>()
  if (deployment.metadata.deletionTimestamp === undefined) return gone
  const reader = yield* KubernetesReader
  for (const key of new Set(recordedKeys(replicaSets, vocabulary))) {
    const name = /^cluster\/([a-z0-9.-]+)$/.exec(key)?.[1]
    if (name === undefined || (yield* reader.get("cluster", undefined, name)) !== undefined) continue
    if ((yield* reader.fetch("cluster", undefined, name)) === undefined) gone.add(key)
  }
  return gone
})

const adminViews = Effect.fnUntraced(function* (
  deployment: ServiceDeployment,
  replicaSets: ReadonlyArray<ReplicaSet>,
  settings: DeploymentSettings,
): Effect.fn.Return<ReadonlyMap<string, AdminView>, never, AdminReader> {
  const admin = yield* AdminReader
  const views = new Map<string, AdminView>()
  for (const server of servers(deployment, replicaSets, settings)) {
    const routing = yield* admin.routing(server)
    const touchedAt = yield* admin.touchedAt(server, services(deployment, replicaSets, routing, settings))
    views.set(server.key, { routing, usage: yield* admin.usage(server), touchedAt })
  }
  return views
})

/** What the versions say of where they are registered, or were before the target moved. */
const recordedKeys = (replicaSets: ReadonlyArray<ReplicaSet>, vocabulary: Vocabulary): ReadonlyArray<string> =>
  replicaSets.flatMap((set) => [set.metadata.annotations?.[vocabulary.annotations.registeredWith] ?? "", ...formerKeys(set, vocabulary)])

/** The server of the spec, and those that versions were registered with before the target moved. */
const servers = (
  deployment: ServiceDeployment,
  replicaSets: ReadonlyArray<ReplicaSet>,
  { vocabulary, addresses }: DeploymentSettings,
): ReadonlyArray<AdminServer> => {
  const target = registerTarget(deployment.spec?.restate?.register, addresses)
  const recorded = recordedKeys(replicaSets, vocabulary).flatMap((key) => serverOf(key, addresses) ?? [])
  const all = [...(target._tag === "Target" ? [target.server] : []), ...recorded]
  return [...new Map(all.toReversed().map((server) => [server.key, server])).values()]
}

/** The hosts of the versions, also of those that have just gone, and the services that any of them exposes; undefined, which means all, when the server has not told. */
const services = (
  { metadata: { namespace = "" }, status }: ServiceDeployment,
  replicaSets: ReadonlyArray<ReplicaSet>,
  routing: Observed<Routing>,
  { addresses, vocabulary }: DeploymentSettings,
): ReadonlyArray<string> | undefined =>
  routing._tag !== "Seen"
    ? undefined
    : [
        ...new Set([
          ...[...replicaSets.map(({ metadata }) => metadata.name), ...(status?.versions ?? []).map(({ name }) => name)].map((name) =>
            hostOf(endpointOf(name, namespace, "", addresses)),
          ),
          ...replicaSets.flatMap(
            ({ metadata }) =>
              routing.value.deployments.get(metadata.annotations?.[vocabulary.annotations.deploymentId] ?? "")?.services ?? [],
          ),
        ]),
      ]
