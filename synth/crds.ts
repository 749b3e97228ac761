/** Custom resource definitions: a schema file under the names of one vocabulary. */
import { ApiObject, type Chart } from "cdk8s"
import type { Vocabulary } from "#src/vocabulary.ts"
import { resolve } from "./placeholders.ts"
import type { Resource, Rule, Schema } from "./schema.ts"

/** Name of the definition's object, and of its file. */
export const crdName = (resource: Resource, vocabulary: Vocabulary): string => {
  const { plural, group } = vocabulary.resources[resource.role]
  return `${plural}.${group}`
}

/** Adds the definition to a chart. One version, served and stored; no conversion. */
export const addCrd = (chart: Chart, resource: Resource, vocabulary: Vocabulary): ApiObject => {
  const { group, version, kind, plural, singular, shortName } = vocabulary.resources[resource.role]
  return new ApiObject(chart, crdName(resource, vocabulary), {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: crdName(resource, vocabulary) },
    spec: {
      group,
      scope: resource.scope,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: resource.subresources,
          additionalPrinterColumns: resource.printerColumns,
          schema: { openAPIV3Schema: wholeObject(resource, vocabulary) },
        },
      ],
    },
  })
}

const wholeObject = (resource: Resource, vocabulary: Vocabulary) => ({
  type: "object",
  description: resolve(resource.description, vocabulary),
  required: ["spec"],
  properties: {
    // Names have at most 253 characters in any case; said here, it bounds the cost of the rules about names.
    metadata: { type: "object", properties: { name: { type: "string", maxLength: 253 } } },
    spec: openApi(resource.spec, vocabulary),
    status: openApi(resource.status, vocabulary),
  },
  ...(resource.rules.length === 0 ? {} : { "x-kubernetes-validations": resource.rules.map((rule) => resolveRule(rule, vocabulary)) }),
})

/** A schema as the API server takes it, with this vocabulary's names. */
const openApi = (schema: Schema, vocabulary: Vocabulary): object => {
  const {
    title: _title,
    kubernetes: _kubernetes,
    description,
    properties,
    additionalProperties,
    items,
    "x-kubernetes-validations": rules,
    ...rest
  } = schema
  const inner = (part: Schema) => openApi(part, vocabulary)
  return {
    ...rest,
    ...(description === undefined ? {} : { description: resolve(description, vocabulary) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, inner(property)])) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: inner(additionalProperties) }),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(schema["x-kubernetes-int-or-string"] === true ? { anyOf: [{ type: "integer" }, { type: "string" }] } : {}),
    ...(rules === undefined ? {} : { "x-kubernetes-validations": rules.map((rule) => resolveRule(rule, vocabulary)) }),
  }
}

const resolveRule = ({ rule, message, messageExpression, ...rest }: Rule, vocabulary: Vocabulary): Rule => ({
  ...rest,
  rule: resolve(rule, vocabulary),
  message: resolve(message, vocabulary),
  ...(messageExpression === undefined ? {} : { messageExpression: resolve(messageExpression, vocabulary) }),
})
