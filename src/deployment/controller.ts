/** The ServiceDeployment kind, as main.ts hands it to the runtime: the four functions and the watches. */
import type { AnyWatch, KindController, Wakeup } from "../engine/kind.ts"
import { marks, nameOf, namespaceOf, person, same } from "../engine/wakes.ts"
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

const reachable = (slice: EndpointSlice | undefined): boolean => slice !== undefined && hasReadyAddress(slice)
