/** The ServiceCluster kind, as main.ts hands it to the runtime: the four functions and the watches. */
import type { AnyWatch, KindController, Wakeup } from "../engine/kind.ts"
import { marks, nameOf, person, same } from "../engine/wakes.ts"
import { instanceLabel } from "../resources/labels.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import { decide } from "./decide.ts"
import type { ClusterSettings } from "./given.ts"
import { observe } from "./observe.ts"
import type { Snapshot } from "./snapshot.ts"
import { conclude } from "./status.ts"
import type { Verdict } from "./verdict.ts"

export const clusterController = (settings: ClusterSettings): KindController<Snapshot, Verdict> => ({
  kind: "cluster",
  observe: observe(settings),
  decide: (snapshot) => decide(snapshot, settings),
  conclude: (snapshot, plan, report) => conclude(snapshot, plan, report, settings),
  object: ({ cluster }) => cluster,
  watches,
})

/** The ServiceCluster that a child's instance label names. */
const owner = (object: KubernetesObject | undefined): ReadonlyArray<Wakeup> => {
  const name = object?.metadata.labels?.[instanceLabel]
  return name === undefined ? [] : [{ name: { name }, priority: "world" }]
}

/** Everything of it counts: whoever edits a child is answered with what the spec says. */
const child = <O extends KubernetesObject>(before: O | undefined, after: O | undefined): ReadonlyArray<Wakeup> =>
  edited(before, after, { metadata: undefined })

/** Its status counts pods that come and go, and nothing here depends on it. */
const childWithoutStatus = <O extends KubernetesObject>(before: O | undefined, after: O | undefined): ReadonlyArray<Wakeup> =>
  edited(before, after, { metadata: undefined, status: undefined })

const edited = <O extends KubernetesObject>(before: O | undefined, after: O | undefined, aside: object): ReadonlyArray<Wakeup> =>
  same(before, after, (object) => [marks(object), object.metadata.deletionTimestamp, { ...object, ...aside }]) ? [] : owner(after ?? before)

const watches: ReadonlyArray<AnyWatch> = [
  {
    kind: "cluster",
    wakes: (before, after) => (same(before, after, person) ? [] : [{ name: nameOf(after ?? before), priority: "user" }]),
  },
  { kind: "Namespace", wakes: child },
  { kind: "ServiceAccount", wakes: child },
  { kind: "ConfigMap", wakes: child },
  { kind: "ServerService", wakes: child },
  { kind: "PodDisruptionBudget", wakes: childWithoutStatus },
  { kind: "NetworkPolicy", wakes: child },
  { kind: "StatefulSet", wakes: child },
  { kind: "PersistentVolumeClaim", wakes: child },
]
