/** The variables of the server's container (operator.md §2.8). The server has two spellings of its own in one of the vocabularies. */
import type { EnvVar } from "../../resources/parts.ts"
import { replacedBy, spelled } from "../../resources/variables.ts"
import type { Given } from "../given.ts"
import { configFile } from "./configuration.ts"
import { ports } from "./ports.ts"
import { keyFile } from "./signing-key.ts"
import { bundleFile } from "./trusted-ca.ts"

export type Variable = EnvVar

/** In the order of the specification: ours, the user's, and those that no user may set. */
export const environment = (given: Given): ReadonlyArray<Variable> => {
  const user = given.cluster.spec.compute.env ?? []
  return [...replacedBy(given.settings.vocabulary.server.variables, defaults(given), user), ...appended(given)]
}

/** Variables that are added after the user's, and that a user must therefore not set. */
export const appended = (given: Given): ReadonlyArray<Variable> => {
  const key = keyFile(given)
  const bundle = bundleFile(given)
  return [
    ...(key === undefined ? [] : own(given, "WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", key)),
    ...(bundle === undefined ? [] : [{ name: "SSL_CERT_FILE", value: bundle }]),
  ]
}

const defaults = (given: Given): ReadonlyArray<Variable> => {
  const { cluster, settings } = given
  const { dataPath, nodes } = settings.vocabulary.server
  return [
    field("POD_NAME", "metadata.name"),
    field("POD_ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
    field("POD_REGION", "metadata.labels['topology.kubernetes.io/region']"),
    ...own(given, "LOG_FORMAT", "json"),
    ...own(given, "CLUSTER_NAME", cluster.spec.clusterName ?? cluster.metadata.name),
    ...own(given, "BASE_DIR", dataPath),
    { name: "RUST_BACKTRACE", value: "1" },
    { name: "RUST_LIB_BACKTRACE", value: "0" },
    ...own(given, "CONFIG", `/config/${configFile}`),
    ...own(given, "ADVERTISED_ADDRESS", `http://$(POD_NAME).${nodes}:${ports.node}`),
    ...own(given, "NODE_NAME", "$(POD_NAME)"),
  ]
}

const field = (name: string, fieldPath: string): Variable => ({ name, valueFrom: { fieldRef: { fieldPath } } })

/** A variable of the server's own. */
const own = ({ settings }: Given, name: string, value: string): ReadonlyArray<Variable> =>
  spelled(settings.vocabulary.server.variables, name, value)

/** The value of a variable of the server's own that the user has set, in whichever spelling. */
export const userVariable = (given: Given, name: string): Variable | undefined => {
  const names = new Set(given.settings.vocabulary.server.variables.map((prefix) => `${prefix}${name}`))
  return given.cluster.spec.compute.env?.find((entry) => names.has(entry.name))
}
