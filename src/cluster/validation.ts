/** The admission rules again, for objects that predate them or met an older CRD, and what no rule can say (operator.md §2.9). */
import { parseToml } from "../formats/toml.ts"
import type { Given } from "./given.ts"
import { appended } from "./parts/environment.ts"
import { mounts, podVolumes, storage } from "./parts/stateful-set.ts"
import { combineContainer } from "./parts/trusted-ca.ts"
import { provisionsItself } from "./provisioning.ts"

/** What is wrong with the spec: the error of the specification and a sentence that names the field. */
export interface Invalid {
  readonly _tag: "Invalid"
  readonly error: "InvalidConfiguration" | "InvalidSigningKey"
  readonly message: string
}

const invalid = (message: string): Invalid => ({ _tag: "Invalid", error: "InvalidConfiguration", message })

/** undefined: it can be carried out. Nothing of a spec with a mistake is, so that no pod is replaced by one that cannot start. */
export const invalidSpec = (given: Given): Invalid | undefined =>
  unsupported(given) ??
  signingKey(given) ??
  configuration(given) ??
  variables(given) ??
  sidecars(given) ??
  volumes(given) ??
  mountPaths(given)

/** Better said than done by half: a server that runs unsigned, or without its identity, looks as if all were well. */
const unsupported = ({ cluster: { spec } }: Given): Invalid | undefined => {
  const { awsPodIdentityAssociationRoleArn, awsPodSecurityGroups, requestSigningPrivateKey } = spec.security ?? {}
  const field =
    (requestSigningPrivateKey?.secretProvider ? "requestSigningPrivateKey.secretProvider" : undefined) ??
    (awsPodIdentityAssociationRoleArn ? "awsPodIdentityAssociationRoleArn" : undefined) ??
    (awsPodSecurityGroups && awsPodSecurityGroups.length > 0 ? "awsPodSecurityGroups" : undefined)
  return field === undefined ? undefined : invalid(`spec.security.${field}: is not supported yet`)
}

const signingKey = ({ cluster }: Given): Invalid | undefined => {
  const key = cluster.spec.security?.requestSigningPrivateKey
  if (!key) return undefined
  const field = "spec.security.requestSigningPrivateKey"
  if (key.version !== "v1")
    return { _tag: "Invalid", error: "InvalidSigningKey", message: `${field}.version: must be "v1", not ${JSON.stringify(key.version)}` }
  if (key.secret && key.secretProvider)
    return { _tag: "Invalid", error: "InvalidSigningKey", message: `${field}: must have either secret or secretProvider, not both` }
  return undefined
}

const configuration = (given: Given): Invalid | undefined => {
  const config = parseToml(given.cluster.spec.config ?? "")
  if (typeof config === "string") return invalid(`spec.config: is no TOML: ${config}`)
  const itself = provisionsItself(given)
  return itself === undefined ? undefined : invalid(itself)
}

const variables = (given: Given): Invalid | undefined => {
  const reserved = new Set(appended(given).map(({ name }) => name))
  const set = given.cluster.spec.compute.env?.find(({ name }) => reserved.has(name))
  return set === undefined
    ? undefined
    : invalid(`spec.compute.env: ${set.name} is set by the operator for what spec.security asks for; remove it`)
}

const sidecars = (given: Given): Invalid | undefined => {
  const names = (given.cluster.spec.compute.sidecars ?? []).map(({ name }) => name)
  const name = firstTwice([given.settings.vocabulary.server.container, combineContainer, ...names])
  return name === undefined
    ? undefined
    : invalid(
        `spec.compute.sidecars: the name "${name}" is taken; reserved are ${given.settings.vocabulary.server.container} and ${combineContainer}`,
      )
}

const volumes = (given: Given): Invalid | undefined => {
  const extra = new Set((given.cluster.spec.compute.extraVolumes ?? []).map(({ name }) => name))
  const all = [storage, ...podVolumes(given).map(({ name }) => name)]
  const name = firstTwice(all)
  return name === undefined
    ? undefined
    : invalid(
        `spec.compute.extraVolumes: the name "${name}" is taken; taken are ${all.filter((each) => !extra.has(each) || each === name).join(", ")}`,
      )
}

const mountPaths = (given: Given): Invalid | undefined => {
  const extra = new Set((given.cluster.spec.compute.extraVolumeMounts ?? []).map(({ mountPath }) => normal(mountPath)))
  const all = mounts(given).map(({ mountPath }) => normal(mountPath))
  const path = firstTwice(all)
  return path === undefined
    ? undefined
    : invalid(
        `spec.compute.extraVolumeMounts: ${path} is taken; taken are ${all.filter((each) => !extra.has(each) || each === path).join(", ")}`,
      )
}

/** `/tmp/`, `//tmp` and `/a/../tmp` are `/tmp`. */
const normal = (path: string): string => {
  const parts: Array<string> = []
  for (const part of path.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}

const firstTwice = (names: ReadonlyArray<string>): string | undefined => names.find((name, index) => names.indexOf(name) < index)
