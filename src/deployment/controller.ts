/** The ServiceDeployment kind, as main.ts hands it to the runtime: the four functions and the watches. */
import type { AnyWatch, KindController, Name, Wakeup } from "../engine/kind.ts"
import type { EndpointSlice } from "../resources/kubernetes.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import { decide } from "./decide.ts"
import { hasReadyAddress, observe } from "./observe.ts"
import type { DeploymentSettings, Snapshot } from "./snapshot.ts"
import { conclude } from "./status.ts"
import type { Verdict } from "./verdict.ts"

export const deploymentController = (settings: DeploymentSettings): KindController<Snapshot, Verdict> => ({
  kind: "deployment",
  observe: observe(settings),
  decide: (snapshot) => decide(snapshot, settings),
  conclude: (snapshot, plan, report) => conclude(snapshot, plan, report, settings),
  object: ({ deployment }) => deployment,
  watches: watches(settings),
})

const watches = ({ vocabulary }: DeploymentSettings): ReadonlyArray<AnyWatch> => {
  /** The ServiceDeployment that a child's owned-by label names. */
  const owner = (object: KubernetesObject | undefined): ReadonlyArray<Wakeup> => {
    const name = object?.metadata.labels?.[vocabulary.labels.ownedBy]
    return name === undefined ? [] : [{ name: { ...namespaceOf(object), name }, priority: "world" }]
  }
  return [
    {
      kind: "deployment",
      wakes: (before, after) => (same(before, after, person) ? [] : [{ name: nameOf(after ?? before), priority: "user" }]),
    },
    {
      kind: "ReplicaSet",
      wakes: (before, after) => (same(before, after, (set) => [marks(set), set.spec.replicas, set.status]) ? [] : owner(after ?? before)),
    },
    {
      kind: "Service",
      wakes: (before, after) => (same(before, after, (service) => [marks(service), service.spec]) ? [] : owner(after ?? before)),
    },
    {
      // Its status changes every 15 s, and nothing here depends on it.
      kind: "HorizontalPodAutoscaler",
      wakes: (before, after) => (same(before, after, (autoscaler) => [marks(autoscaler), autoscaler.spec]) ? [] : owner(after ?? before)),
    },
    {
      // The number of pods behind a Service is nobody's business here; only whether there is one.
      kind: "EndpointSlice",
      wakes: (before, after) => (reachable(before) === reachable(after) ? [] : owner(after ?? before)),
    },
    {
      kind: "cluster",
      wakes: (before, after) =>
        same(before, after, (cluster) => cluster.status?.conditions?.find(({ type }) => type === "Ready")?.status)
          ? []
          : [{ index: "registersWith", value: (after ?? before)?.metadata.name ?? "", priority: "world" }],
    },
  ]
}

/** What people change; the status is ours and causes no pass. */
const person = (object: KubernetesObject) => {
  const { generation, labels, annotations, finalizers, deletionTimestamp, uid } = object.metadata
  return [uid, generation, labels, annotations, finalizers, deletionTimestamp]
}

const marks = ({ metadata }: KubernetesObject) => [metadata.uid, metadata.labels, metadata.annotations, metadata.ownerReferences]

/** An addition or a deletion is never the same. */
const same = <O>(before: O | undefined, after: O | undefined, facet: (object: O) => unknown): boolean =>
  before !== undefined && after !== undefined && JSON.stringify(facet(before)) === JSON.stringify(facet(after))

const reachable = (slice: EndpointSlice | undefined): boolean => slice !== undefined && hasReadyAddress(slice)

const namespaceOf = (object: KubernetesObject | undefined): Pick<Name, "namespace"> =>
  object?.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }

const nameOf = (object: KubernetesObject | undefined): Name => ({ ...namespaceOf(object), name: object?.metadata.name ?? "" })
