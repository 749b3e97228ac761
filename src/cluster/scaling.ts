/**
 * How many pods a server gets now (part 9, srv 5195). Nobody tells its membership that a node goes: what was only there is
 * lost with it. So it shrinks by one node at a time, and each time the others must be well; and never to fewer nodes than
 * each piece of data is to be on, unless a person says that this is meant.
 */
import { parseToml, type Toml } from "../formats/toml.ts"
import type { Pod } from "../resources/kubernetes.ts"
import type { Given } from "./given.ts"
import { userVariable } from "./parts/environment.ts"
import { podsNotReady } from "./roll-out.ts"
import type { Snapshot } from "./snapshot.ts"

export interface Replicas {
  /** What the StatefulSet is to have now. */
  readonly now: number
  /** Why that is not what the spec says; undefined when it is. */
  readonly held: { readonly reason: "ScaleDownRefused" | "ScalingDown"; readonly message: string } | undefined
}

export const replicas = (given: Given, { pods, statefulSet: live }: Pick<Snapshot, "pods" | "statefulSet">): Replicas => {
  const { cluster, settings } = given
  const wanted = cluster.spec.compute.replicas ?? 1
  const present = live?.spec.replicas ?? nodes(pods)
  // To none is a pause: no node is missed by another, and all volumes stay.
  if (wanted >= present || wanted === 0) return { now: wanted, held: undefined }
  const copies = replication(given)
  const { allowScaleDown } = settings.vocabulary.annotations
  if (wanted < copies && cluster.metadata.annotations?.[allowScaleDown] !== String(wanted))
    return {
      now: present,
      held: {
        reason: "ScaleDownRefused",
        message: `spec.compute.replicas: ${wanted} nodes cannot hold ${copies} copies of each piece of data; the ${present} nodes stay. If what is only on the others may be lost, set the annotation ${allowScaleDown}: "${wanted}"`,
      },
    }
  const down = podsNotReady(live, present)
  if (down !== undefined)
    return {
      now: present,
      held: {
        reason: "ScalingDown",
        message: `from ${present} to ${wanted} nodes, one at a time, as soon as all are well: ${down.message}`,
      },
    }
  return present - 1 === wanted
    ? { now: wanted, held: undefined }
    : { now: present - 1, held: { reason: "ScalingDown", message: `from ${present} to ${wanted} nodes, one at a time` } }
}

/** Of a StatefulSet that is gone and has left its pods: it must not come back smaller than it was. */
const nodes = (pods: ReadonlyArray<Pod>): number =>
  Math.max(0, ...pods.map(({ metadata }) => Number(/-(\d+)$/.exec(metadata.name)?.[1] ?? -1) + 1))

/** On how many nodes each piece of data is, as far as the configuration says so; the server's own default is one. */
const replication = (given: Given): number => {
  const variable = userVariable(given, "DEFAULT_REPLICATION")?.value
  const config = parseToml(given.cluster.spec.config ?? "")
  return copies(variable ?? (typeof config === "string" ? undefined : config["default-replication"]))
}

/** `2`, `"2"`, `"{node: 2}"` or a table: in zones and regions there are at least as many nodes. */
const copies = (value: unknown): number => {
  if (typeof value === "number") return value
  if (typeof value === "string") return Math.max(1, ...[...value.matchAll(/\d+/g)].map(([digits]) => Number(digits)))
  return isTable(value) ? Math.max(1, ...Object.values(value).map(copies)) : 1
}

const isTable = (value: unknown): value is Toml => typeof value === "object" && value !== null
