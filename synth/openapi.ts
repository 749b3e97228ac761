/**
 * Types of the Kubernetes API as structural schemas: what its OpenAPI document says, with references put in and without
 * what a custom resource definition may not have.
 */
import { isMapping } from "./readers.ts"
import { type Scalar, type Schema, isSchemaType } from "./schema.ts"

type Mapping = { readonly [key: string]: unknown }

/** The types of OpenAPI documents by their full names, such as `io.k8s.api.core.v1.EnvVar`. */
export type Definitions = ReadonlyMap<string, Mapping>

/** The definitions of documents as `/openapi/v3/…` answers with them. */
export const definitionsOf = (documents: ReadonlyArray<unknown>): Definitions =>
  new Map(
    documents.flatMap((document) => {
      const schemas = at(at(document, "components"), "schemas")
      return Object.entries(isMapping(schemas) ? schemas : {}).flatMap(([name, type]) => (isMapping(type) ? [[name, type] as const] : []))
    }),
  )

/** One type in full. Throws when the document does not have it or says something that this does not know. */
export const structuralType = (definitions: Definitions, name: string): Schema => {
  // Who refers to a type describes the field; what the type says of itself would only repeat it.
  return withoutDescription(named(definitions, name))
}

const named = (definitions: Definitions, name: string): Schema => {
  const known = special[name]
  if (known !== undefined) return structuredClone(known)
  const definition = definitions.get(name)
  if (definition === undefined) throw new Error(`the API server has no type ${name}`)
  return convert(definitions, definition)
}

/**
 * A number with an optional exponent or unit, as the API server reads quantities. It also takes numbers with a fraction
 * that are not in quotes; the schema of a definition has no way to say so.
 */
const quantity = String.raw`^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+[.]?[0-9]*|[.][0-9]+))?$`

/** Types that their definition does not tell in full, or that mean less where we use them. */
const special: { readonly [name: string]: Schema } = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { "x-kubernetes-int-or-string": true, pattern: quantity },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { "x-kubernetes-int-or-string": true },
  // Only ever the metadata of a claim's template, where the API server takes nothing else.
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
    type: "object",
    properties: {
      labels: { type: "object", additionalProperties: { type: "string" }, description: "Labels of what is made." },
      annotations: { type: "object", additionalProperties: { type: "string" }, description: "Annotations of what is made." },
    },
  },
}

const convert = (definitions: Definitions, from: Mapping): Schema => {
  const reference = referenceOf(from)
  const description = firstSentence(from["description"])
  const described = description === undefined ? {} : { description }
  return { ...(reference === undefined ? plain(definitions, from) : named(definitions, reference)), ...described }
}

/** `$ref`, or the same inside an `allOf` of one, which is how a description stands beside it. */
const referenceOf = (from: Mapping): string | undefined => {
  const all: unknown = from["allOf"]
  const holder = Array.isArray(all) && all.length === 1 ? all[0] : from
  const reference = at(holder, "$ref")
  return typeof reference === "string" ? reference.replace("#/components/schemas/", "") : undefined
}

const plain = (definitions: Definitions, from: Mapping): Schema => {
  const { type, format, required, properties, additionalProperties, items } = from
  if (!isSchemaType(type)) throw new Error(`not a type of a schema: ${JSON.stringify(from).slice(0, 200)}`)
  const schema: Schema = { type }
  if (format === "int32" || format === "int64" || format === "date-time") schema.format = format
  // No `enum`: Kubernetes takes the empty text as "not said", and its next version may know one value more.
  if (Array.isArray(required)) schema.required = required.filter(isText)
  if (isMapping(properties)) {
    schema.properties = Object.fromEntries(
      Object.entries(properties).flatMap(([name, property]) => (isMapping(property) ? [[name, convert(definitions, property)]] : [])),
    )
  }
  // What a field holds is described at the field.
  if (isMapping(additionalProperties)) schema.additionalProperties = withoutDescription(convert(definitions, additionalProperties))
  if (isMapping(items)) schema.items = withoutDescription(convert(definitions, items))
  if (isText(from["x-kubernetes-map-type"])) schema["x-kubernetes-map-type"] = from["x-kubernetes-map-type"]
  if (isText(from["x-kubernetes-list-type"])) schema["x-kubernetes-list-type"] = from["x-kubernetes-list-type"]
  const keys: unknown = from["x-kubernetes-list-map-keys"]
  if (Array.isArray(keys)) {
    schema["x-kubernetes-list-map-keys"] = keys.filter(isText)
    if (schema.items !== undefined && isMapping(items)) keepKeyDefaults(definitions, schema.items, items, keys.filter(isText))
  }
  return schema
}

/**
 * A key of a list must be there, by being required or by a default. Other defaults stay away: the API server fills them in
 * once the part reaches a pod, and in our objects they would only be noise.
 */
const keepKeyDefaults = (definitions: Definitions, items: Schema, from: Mapping, keys: ReadonlyArray<string>): void => {
  const type = definitions.get(referenceOf(from) ?? "") ?? from
  for (const key of keys) {
    const property = items.properties?.[key]
    const value = at(at(at(type, "properties"), key), "default")
    if (property !== undefined && items.required?.includes(key) !== true && isScalar(value)) property.default = value
  }
}

const withoutDescription = ({ description: _description, ...schema }: Schema): Schema => schema

/** Descriptions of Kubernetes are long, and a definition must stay small enough to be applied (`decisions/0008`). */
const firstSentence = (description: unknown): string | undefined => {
  if (!isText(description)) return undefined
  const sentence = description
    .split(/(?<=[^.][.])\s+(?=[A-Z"'])|\n/u)[0]
    ?.replaceAll(/\s+/g, " ")
    .trim()
  return sentence === undefined || sentence === "" ? undefined : sentence
}

const at = (value: unknown, key: string): unknown => (isMapping(value) ? value[key] : undefined)
const isText = (value: unknown): value is string => typeof value === "string"
const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value)
