/** When the operator tells a server to lay out its data for the first time (operator.md §2.12). */
import type { ServiceCluster } from "../resources/generated/service-cluster.ts"
import { parseToml } from "../formats/toml.ts"
import type { Given } from "./given.ts"
import { userVariable } from "./parts/environment.ts"
import { ports } from "./parts/ports.ts"

/** Once done it is done for ever: a second time would be a new and empty cluster in the place of one that lost its data. */
export const needsProvisioning = ({ metadata, spec, status }: ServiceCluster): boolean =>
  spec.cluster?.autoProvision === true && status?.provisioned !== true && metadata.deletionTimestamp === undefined

/** One node is told, and only one. */
export const provisioningAddress = ({ cluster, settings: { clusterDns, vocabulary } }: Given): string =>
  `http://${vocabulary.service}-0.${vocabulary.server.nodes}.${cluster.metadata.name}.svc.${clusterDns}:${ports.node}`

/** Why the server might provision itself, which two must not do; undefined when it will not. */
export const provisionsItself = (given: Given): string | undefined => {
  const { cluster } = given
  if (!needsProvisioning(cluster)) return undefined
  const variable = userVariable(given, "AUTO_PROVISION")
  if (typeof variable?.value === "string")
    return variable.value.toLowerCase() === "false"
      ? undefined
      : `spec.compute.env: ${variable.name} must be "false" when spec.cluster.autoProvision is true: the operator provisions the cluster`
  const config = parseToml(cluster.spec.config ?? "")
  return typeof config !== "string" && config["auto-provision"] === false
    ? undefined
    : 'spec.config: must have the line "auto-provision = false" at its top level when spec.cluster.autoProvision is true: the operator provisions the cluster'
}
