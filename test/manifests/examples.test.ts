/** Every example is valid against the committed definitions, and says nothing that they do not know. */
import { Ajv } from "ajv"
import { describe, expect, it } from "vitest"
import { type OwnKind, vocabularies } from "#src/vocabulary.ts"
import { type JsonObject, committedCrd } from "../support/api-server.ts"
import { deployment } from "./deployment-manifest.ts"
import { examplesOf } from "./examples.ts"

const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value)

/** The API server drops unknown fields without a word; here they are mistakes. */
const closed = (schema: JsonObject): JsonObject => {
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === "properties" && isObject(value)) {
        return [
          key,
          Object.fromEntries(Object.entries(value).map(([name, property]) => [name, isObject(property) ? closed(property) : property])),
        ]
      }
      return [key, ["items", "additionalProperties"].includes(key) && isObject(value) ? closed(value) : value]
    }),
  )
  const open = schema["properties"] === undefined || schema["x-kubernetes-preserve-unknown-fields"] === true
  return open ? inner : { ...inner, additionalProperties: false }
}

const problems = (schema: JsonObject, object: object): ReadonlyArray<string> => {
  const ajv = new Ajv({ strict: false, allErrors: true, formats: { int32: true, int64: true, "date-time": true } })
  const check = ajv.compile(closed(schema))
  check(object)
  return (check.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
}

describe.each([vocabularies.service, vocabularies.restate])("in the vocabulary $edition", (vocabulary) => {
  it.each(["deployment", "cluster", "environment"] as const)("the examples of kind %s are valid", (role) => {
    const schema = specAndStatus(vocabulary, role)
    for (const { file, object } of examplesOf(vocabulary, role))
      expect(problems(schema, object), `${file} ${object.metadata.name}`).toEqual([])
  })

  it("a typing mistake would be found", () => {
    const schema = specAndStatus(vocabulary, "deployment")
    expect(problems(schema, deployment(vocabulary, "greeter"))).toEqual([])
    expect(problems(schema, deployment(vocabulary, "greeter", { restate: { drainDelay: 3 } })).join()).toContain("drainDelay")
  })
})

/** Metadata is the API server's own business. */
const specAndStatus = (vocabulary: typeof vocabularies.service, role: OwnKind): JsonObject => {
  const schema = committedCrd(vocabulary, role).spec.versions[0]?.schema.openAPIV3Schema ?? {}
  const { properties } = schema
  const { metadata: _, ...rest } = isObject(properties) ? properties : {}
  const known = { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" } }
  return { ...schema, properties: { ...known, ...rest } }
}
