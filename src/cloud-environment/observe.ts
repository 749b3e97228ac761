/** Reads everything one decision needs. Its type says that it cannot write. */
import { Clock, Effect } from "effect"
import type { Name } from "../engine/kind.ts"
import type { ReadError } from "../errors.ts"
import { KubernetesReader } from "../kubernetes/kubernetes.ts"
import { type EnvironmentSettings, tunnelName } from "./given.ts"
import type { Snapshot } from "./snapshot.ts"
import { tokenOf } from "./token.ts"

/** undefined: the object is gone. A failed read fails the pass. */
export const observe = ({ operatorNamespace }: EnvironmentSettings) =>
  Effect.fnUntraced(function* ({ name }: Name): Effect.fn.Return<Snapshot | undefined, ReadError, KubernetesReader> {
    const reader = yield* KubernetesReader
    const environment = yield* reader.get("environment", undefined, name)
    if (environment === undefined) return undefined
    return {
      now: yield* Clock.currentTimeMillis,
      environment,
      deployment: yield* reader.get("TunnelDeployment", operatorNamespace, tunnelName(name)),
      secret: yield* reader.get("Secret", operatorNamespace, tokenOf(environment).name),
    }
  })
