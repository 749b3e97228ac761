/** Everything one decision about an environment needs. */
import type { ServiceCloudEnvironment } from "../resources/generated/service-cloud-environment.ts"
import type { Deployment, Secret } from "../resources/kubernetes.ts"

export interface Snapshot {
  /** Epoch milliseconds. */
  readonly now: number
  readonly environment: ServiceCloudEnvironment
  /** The pods of the tunnel; undefined when there are none yet. */
  readonly deployment: Deployment | undefined
  /** What the spec names in the operator's namespace: never the token itself, only digests of what is in it. */
  readonly secret: Secret | undefined
}
