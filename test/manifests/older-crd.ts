/** Definitions as they were before this operator's own rules, for objects that were made then. */
import type { Crd, JsonObject } from "../support/api-server.ts"

/** The definition under a group of a test's own: the shared ones must not get looser while other files run. */
export const inOwnGroup = (crd: Crd, word = "upgrade"): Crd => {
  const group = `${word}.${crd.spec.group}`
  return { ...crd, metadata: { ...crd.metadata, name: `${crd.spec.names.plural}.${group}` }, spec: { ...crd.spec, group } }
}

/** Its group, and where its objects are: in the namespace `default` unless they are in none. */
export const placeOf = ({ spec: { group, names, versions, scope } }: Crd): { readonly group: string; readonly collection: string } => ({
  group,
  collection: `/apis/${group}/${versions[0]?.name}/${scope === "Namespaced" ? "namespaces/default/" : ""}${names.plural}`,
})

/** The definition without what the operator before this one does not check. */
export const looser = (crd: Crd): Crd => {
  const versions = crd.spec.versions.map((version) => ({
    ...version,
    schema: { openAPIV3Schema: loosened(version.schema.openAPIV3Schema) },
  }))
  return { ...crd, spec: { ...crd.spec, versions } }
}

const ours = [
  "x-kubernetes-validations",
  "maxLength",
  "maxProperties",
  "maxItems",
  "pattern",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
]

const loosened = (schema: JsonObject): JsonObject => {
  // Where any field may stand, it also checked none.
  const dropped = schema["x-kubernetes-preserve-unknown-fields"] === true ? [...ours, "properties"] : ours
  return Object.fromEntries(Object.entries(schema).flatMap(([key, value]) => (dropped.includes(key) ? [] : [[key, loosenedValue(value)]])))
}

const loosenedValue = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? loosened(Object.fromEntries(Object.entries(value))) : value
