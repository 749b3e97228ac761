/** Reads schema files: YAML to typed resources, every mistake with its place. */
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { basename, join as joinPath } from "node:path"
import { parseDocument } from "yaml"
import { withTypes } from "./inclusion.ts"
import { type KubernetesTypes, typesFile } from "./kubernetes-types.ts"
import { type Problem, type Report, SchemaProblems } from "./problems.ts"
import { type Fields, type Reader, dictionary, empty, flag, list, mapping, number, oneOf, scalar, text } from "./readers.ts"
import type { PrinterColumn, Resource, Rule, Schema, Subresources } from "./schema.ts"
import { checkStructure } from "./structural.ts"

const rules: Reader<Array<Rule>> = list(
  mapping<Rule>({ rule: text, message: text, messageExpression: text, optionalOldSelf: flag, fieldPath: text }, ["rule", "message"]),
)

// Schemas nest, so the reader of a schema refers to itself.
const schema: Reader<Schema> = (value, path, report) => schemaMapping(value, path, report)

const schemaFields: Fields<Schema> = {
  title: text,
  kubernetes: text,
  description: text,
  type: oneOf("object", "array", "string", "integer", "number", "boolean"),
  format: oneOf("int32", "int64", "date-time"),
  nullable: flag,
  enum: list(scalar),
  default: scalar,
  pattern: text,
  minimum: number,
  maximum: number,
  minLength: number,
  maxLength: number,
  minItems: number,
  maxItems: number,
  maxProperties: number,
  required: list(text),
  properties: dictionary(schema),
  additionalProperties: schema,
  items: schema,
  "x-kubernetes-preserve-unknown-fields": flag,
  "x-kubernetes-int-or-string": flag,
  "x-kubernetes-map-type": oneOf("atomic", "granular"),
  "x-kubernetes-list-type": oneOf("atomic", "set", "map"),
  "x-kubernetes-list-map-keys": list(text),
  "x-kubernetes-validations": rules,
}
const schemaMapping = mapping<Schema>(schemaFields, [])

type Content = Omit<Resource, "file">

const content = mapping<Content>(
  {
    role: oneOf("cluster", "deployment", "environment"),
    title: text,
    scope: oneOf("Cluster", "Namespaced"),
    description: text,
    subresources: mapping<Subresources>(
      {
        status: empty,
        scale: mapping({ specReplicasPath: text, statusReplicasPath: text, labelSelectorPath: text }, [
          "specReplicasPath",
          "statusReplicasPath",
          "labelSelectorPath",
        ]),
      },
      [],
    ),
    printerColumns: list(
      mapping<PrinterColumn>(
        { name: text, type: oneOf("string", "integer", "number", "boolean", "date"), jsonPath: text, priority: number },
        ["name", "type", "jsonPath"],
      ),
    ),
    rules,
    spec: schema,
    status: schema,
  },
  ["role", "title", "scope", "description", "subresources", "printerColumns", "rules", "spec", "status"],
)

/** Reads and checks one schema file's text, which may name these types of Kubernetes. */
export const parseResource = (file: string, source: string, types: KubernetesTypes = new Map()): Resource => {
  const problems: Array<Problem> = []
  const report: Report = (path, message) => void problems.push({ file, path, message })
  const read = content(yamlOf(file, source), "", report)
  const whole = read === undefined ? undefined : withTypes(read, types, report)
  if (whole !== undefined) checkStructure(whole, report)
  if (whole === undefined || problems.length > 0) throw new SchemaProblems(problems)
  return { file, ...whole }
}

const yamlOf = (file: string, source: string): unknown => {
  const document = parseDocument(source)
  const problems = document.errors.map(({ message }) => ({ file, path: "", message: message.split("\n")[0] ?? "not YAML" }))
  if (problems.length > 0) throw new SchemaProblems(problems)
  return document.toJS()
}

/** The types of Kubernetes that the schema files of a folder may name; none when the folder has no file of them. */
export const readTypes = (folder: string): KubernetesTypes => {
  const path = joinPath(folder, typesFile)
  if (!existsSync(path)) return new Map()
  const file = `${basename(folder)}/${typesFile}`
  const problems: Array<Problem> = []
  const types = dictionary(schema)(
    yamlOf(file, readFileSync(path, "utf8")),
    "",
    (at, message) => void problems.push({ file, path: at, message }),
  )
  if (problems.length > 0) throw new SchemaProblems(problems)
  return new Map(Object.entries(types ?? {}))
}

/** Reads every schema file of a folder, by name; throws all their problems together. */
export const readResources = (folder: string): Array<Resource> => {
  const problems: Array<Problem> = []
  const resources: Array<Resource> = []
  const types = readTypes(folder)
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml") && name !== typesFile)
  for (const name of names.toSorted()) {
    const file = `${basename(folder)}/${name}`
    try {
      resources.push(parseResource(file, readFileSync(joinPath(folder, name), "utf8"), types))
    } catch (error) {
      if (!(error instanceof SchemaProblems)) throw error
      problems.push(...error.problems)
    }
  }
  for (const [index, { role, file }] of resources.entries()) {
    const first = resources.findIndex((other) => other.role === role)
    if (first !== index) problems.push({ file, path: "role", message: `${role} is already described by ${resources[first]?.file}` })
  }
  if (problems.length > 0) throw new SchemaProblems(problems)
  return resources
}
