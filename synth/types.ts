/** TypeScript types of a custom resource, from its schema. */
import { compile, type JSONSchema } from "json-schema-to-typescript"
import { vocabularies } from "#src/vocabulary.ts"
import { kept } from "./kubernetes-types.ts"
import { resolve } from "./placeholders.ts"
import type { Resource, Schema } from "./schema.ts"

/** Types that all resources share are written once, by hand, in `src/resources/meta.ts`; schemas refer to them by title. */
const shared = new Set(["Condition"])

const banner = ({ file, spec }: Resource): string => {
  const parts = [...new Set(partsOf(spec))].toSorted()
  return [
    `// Generated from ${file} by \`make synth\`. Do not edit.`,
    `import type { Condition, ObjectMeta } from "../meta.ts"`,
    ...(parts.length === 0 ? [] : [`import type { ${parts.join(", ")} } from "../parts.ts"`]),
  ].join("\n")
}

/** What a schema calls its types of Kubernetes in TypeScript. */
const partsOf = ({ kubernetes, properties, items, additionalProperties }: Schema): Array<string> => {
  if (kubernetes !== undefined) return [partOf(kubernetes)]
  const inner = [...Object.values(properties ?? {}), ...[items, additionalProperties].filter((part) => part !== undefined)]
  return inner.flatMap(partsOf)
}

const partOf = (kubernetes: string): string => (isKept(kubernetes) ? kept[kubernetes].typescript : "Part")

const isKept = (name: string): name is keyof typeof kept => Object.hasOwn(kept, name)

/** The text of the TypeScript file for one resource. Its names are those of the role, the same in both vocabularies. */
export const typesOf = async (resource: Resource): Promise<string> => {
  const root: JSONSchema = {
    title: resource.title,
    description: doc(resource.description),
    type: "object",
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { tsType: "ObjectMeta" },
      spec: jsonSchema(resource.spec),
      status: jsonSchema(resource.status),
    },
    required: ["apiVersion", "kind", "metadata", "spec"],
  }
  return compile(root, resource.title, {
    bannerComment: banner(resource),
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    style: { semi: false, printWidth: 120, bracketSpacing: true },
  })
}

/** Descriptions stand in doc comments with the default vocabulary's names, in lines of at most 110 characters. */
const doc = (description: string): string =>
  resolve(description, vocabularies.service)
    .replaceAll("*/", "*\\/")
    .replace(/(.{1,110})(?:\s+|$)/g, "$1\n")
    .trim()

const jsonSchema = (schema: Schema): JSONSchema => {
  const described = schema.description === undefined ? {} : { description: doc(schema.description) }
  const plain = { ...withoutNull(schema), ...described }
  if (schema.nullable !== true) return plain
  if (typeof plain.tsType === "string") return { ...plain, tsType: `${plain.tsType} | null` }
  return { ...described, anyOf: [plain, { type: "null" }] }
}

const withoutNull = (schema: Schema): JSONSchema => {
  if (schema.title !== undefined && shared.has(schema.title)) return { tsType: schema.title }
  if (schema.kubernetes !== undefined) return { tsType: partOf(schema.kubernetes) }
  if (schema["x-kubernetes-int-or-string"] === true) return { tsType: "number | string" }
  if (schema.type === "array") return schema.items === undefined ? { type: "array" } : { type: "array", items: jsonSchema(schema.items) }
  if (schema.type === "object") return objectSchema(schema)
  if (schema.enum !== undefined) return { enum: schema.enum }
  return schema.type === undefined ? {} : { type: schema.type }
}

const objectSchema = (schema: Schema): JSONSchema => {
  if (schema.additionalProperties !== undefined) return { type: "object", additionalProperties: jsonSchema(schema.additionalProperties) }
  if (schema.properties === undefined) return { tsType: "{ [k: string]: unknown }" }
  return {
    ...(schema.title === undefined ? {} : { title: schema.title }),
    type: "object",
    properties: Object.fromEntries(Object.entries(schema.properties).map(([name, property]) => [name, jsonSchema(property)])),
    required: schema.required ?? [],
    additionalProperties: schema["x-kubernetes-preserve-unknown-fields"] === true,
  }
}
