/** The ServiceCloudEnvironment kind, as main.ts hands it to the runtime: the four functions and the watches. */
import type { AnyWatch, KindController, Wakeup } from "../engine/kind.ts"
import { marks, nameOf, person, same } from "../engine/wakes.ts"
import type { Deployment, Secret, Service } from "../resources/kubernetes.ts"
import { decide } from "./decide.ts"
import { type EnvironmentSettings, environmentOf } from "./given.ts"
import { observe } from "./observe.ts"
import type { Snapshot } from "./snapshot.ts"
import { conclude } from "./status.ts"
import type { Verdict } from "./verdict.ts"

export const environmentController = (settings: EnvironmentSettings): KindController<Snapshot, Verdict> => ({
  kind: "environment",
  observe: observe(settings),
  decide: (snapshot) => decide(snapshot, settings),
  conclude: (snapshot, plan, report) => conclude(snapshot, plan, report, settings),
  object: ({ environment }) => environment,
  watches,
})

/** Its spec and its marks, which an edit is answered for; of the Deployment also how its pods are. */
const child = (before: Deployment | Service | undefined, after: Deployment | Service | undefined): ReadonlyArray<Wakeup> => {
  if (same(before, after, (object) => [marks(object), object.metadata.deletionTimestamp, { ...object, metadata: undefined }])) return []
  const name = environmentOf((after ?? before)?.metadata.name ?? "")
  return name === undefined ? [] : [{ name: { name }, priority: "world" }]
}

/** Whatever else is in it, and whoever writes annotations to it: only entries count. */
const token = (before: Secret | undefined, after: Secret | undefined): ReadonlyArray<Wakeup> =>
  same(before, after, ({ digests, metadata: { uid } }) => [uid, digests])
    ? []
    : [{ index: "token", value: (after ?? before)?.metadata.name ?? "", priority: "world" }]

const watches: ReadonlyArray<AnyWatch> = [
  {
    kind: "environment",
    wakes: (before, after) => (same(before, after, person) ? [] : [{ name: nameOf(after ?? before), priority: "user" }]),
  },
  { kind: "TunnelDeployment", wakes: child },
  { kind: "TunnelService", wakes: child },
  { kind: "Secret", wakes: token },
]
