/** The server's configuration. Its name tells its text, so that a change rolls the pods and the old one stays until they have gone (operator.md §2.4). */
import type { Desired } from "../../engine/action.ts"
import { sha256 } from "../../formats/sha256.ts"
import { childMetadata, type Given } from "../given.ts"

/** The key, which is the name of the file. */
export const configFile = "config.toml"

/** The first four bytes of the hash as a little-endian number, in hexadecimal digits without leading zeros: names of live objects depend on it. */
export const configName = ({ cluster, settings }: Given): string =>
  `${settings.vocabulary.server.config}-${sha256(cluster.spec.config ?? "")
    .readUInt32LE(0)
    .toString(16)}`

export const configMap = (given: Given): Desired => ({
  ref: { kind: "ConfigMap", namespace: given.cluster.metadata.name, name: configName(given) },
  body: { metadata: childMetadata(given), data: { [configFile]: given.cluster.spec.config ?? "" } },
})
