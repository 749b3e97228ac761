/** Kubernetes' own controllers, as far as the operator waits for them: pods that become ready, endpoints, garbage collection. */
import { type ApiServer, list, meta, text } from "./world-kubernetes.ts"
import { type Tree, treeOf } from "./world-tree.ts"

export interface Pace {
  readonly after: (milliseconds: number, then: () => void) => void
  /** Milliseconds from the creation of a pod until it is ready; undefined: never. */
  readonly startup: (image: string) => number | undefined
  /** Milliseconds that a controller takes to see a change. */
  readonly reaction: () => number
}

/** Looks after an API server for as long as it lives. */
export const runControllers = (server: ApiServer, pace: Pace): void => {
  const soon = (then: () => void): void => pace.after(pace.reaction(), then)
  server.listen(({ kind, object, type }) => {
    const { name, namespace = "", owners, uid } = meta(object)
    if (type === "Removed") soon(() => collect(server, uid))
    else if (owners.some((owner) => !server.exists(owner))) soon(() => server.delete({ kind, namespace, name }))
    if (kind === "ReplicaSet") {
      if (type === "Upserted") soon(() => resize(server, pace, namespace, name))
      soon(() => publish(server, namespace, name))
    }
    if (kind === "Service" && type === "Upserted") soon(() => publish(server, namespace, name))
  })
}

/** Background deletion of what the object owned. */
const collect = (server: ApiServer, owner: string): void => {
  for (const ref of server.refs()) if (meta(server.get(ref) ?? {}).owners.includes(owner)) server.delete(ref)
}

/** The ReplicaSet controller: first it counts, then pods become ready. */
const resize = (server: ApiServer, pace: Pace, namespace: string, name: string): void => {
  const ref = { kind: "ReplicaSet", namespace, name } as const
  const set = server.get(ref)
  if (set === undefined) return
  const wanted = replicasOf(set)
  const ready = Math.min(wanted, readyPods(set))
  const delay = pace.startup(imageOf(set))
  report(server, ref, set, wanted, ready)
  if (ready < wanted && delay !== undefined)
    pace.after(delay, () => {
      const now = server.get(ref)
      if (now !== undefined && meta(now).uid === meta(set).uid) report(server, ref, now, replicasOf(now), replicasOf(now))
    })
}

const report = (server: ApiServer, ref: Parameters<ApiServer["edit"]>[0], set: Tree, replicas: number, ready: number): void => {
  const observedGeneration = treeOf(set["metadata"])["generation"]
  server.edit(ref, { status: { replicas, readyReplicas: ready, availableReplicas: ready, observedGeneration } })
}

/** The EndpointSlice of a Service follows the readiness of the pods behind it. */
const publish = (server: ApiServer, namespace: string, name: string): void => {
  const service = server.get({ kind: "Service", namespace, name })
  if (service === undefined) return
  const set = server.get({ kind: "ReplicaSet", namespace, name })
  const endpoints = set !== undefined && readyPods(set) > 0 ? [{ addresses: ["10.0.0.1"], conditions: { ready: true } }] : []
  const ref = { kind: "EndpointSlice", namespace, name: `${name}-slice` } as const
  if (server.get(ref) !== undefined) return server.edit(ref, { endpoints })
  const { labels, uid } = meta(service)
  server.make(ref, {
    metadata: {
      labels: { ...labels, "kubernetes.io/service-name": name },
      ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid, controller: true }],
    },
    endpoints,
  })
}

export const replicasOf = (set: Tree): number => Number(treeOf(set["spec"])["replicas"] ?? 1)

export const readyPods = (set: Tree): number => Math.min(replicasOf(set), Number(treeOf(set["status"])["readyReplicas"] ?? 0))

export const imageOf = (set: Tree): string => {
  const [container] = list(treeOf(treeOf(treeOf(set["spec"])["template"])["spec"])["containers"])
  return text(treeOf(container)["image"])
}
