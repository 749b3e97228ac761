/**
 * What a schema must fulfil beyond its shape: the API server's rules for structural schemas, so that a mistake shows
 * here and not on a cluster, and ours, so that `kubectl explain` and the generated types are complete.
 */
import { knownPlaceholders, unknownPlaceholders } from "./placeholders.ts"
import type { Report } from "./problems.ts"
import { join } from "./readers.ts"
import type { Resource, Rule, Schema } from "./schema.ts"

/** Reports every rule that the resource breaks, at its path. */
export const checkStructure = (resource: Omit<Resource, "file">, report: Report): void => {
  const titles = new Map<string, string>([[resource.title, ""]])
  checkText(resource.description, "description", report)
  checkRules(resource.rules, "rules", undefined, report)
  for (const part of ["spec", "status"] as const) {
    if (resource[part].type !== "object") report(part, "must have type object")
    checkSchema(resource[part], part, { named: true, titles, report })
  }
}

interface Context {
  /** True for a property: those are what `kubectl explain` lists, so they need a description. */
  readonly named: boolean
  /** Path of each title met so far. */
  readonly titles: Map<string, string>
  readonly report: Report
}

const checkSchema = (schema: Schema, path: string, context: Context): void => {
  const { report } = context
  if (schema.kubernetes !== undefined) return checkNamedType(schema, path, context)
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (schema.type !== undefined) report(path, "x-kubernetes-int-or-string stands instead of type")
  } else if (schema.type === undefined) report(path, "type is missing")
  if (context.named && schema.description === undefined) report(path, "description is missing")
  if (schema.description !== undefined) checkText(schema.description, join(path, "description"), report)
  if (schema.type === "object") checkObject(schema, path, context)
  else
    onlyFor(
      "object",
      ["properties", "additionalProperties", "required", "maxProperties", "title", "x-kubernetes-map-type"],
      schema,
      path,
      report,
    )
  if (schema.type === "array") {
    if (schema.items === undefined) report(path, "items is missing")
    checkListKeys(schema, path, report)
  } else onlyFor("array", ["items", "minItems", "maxItems", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"], schema, path, report)
  checkScalars(schema, path, report)
  checkRules(schema["x-kubernetes-validations"] ?? [], join(path, "x-kubernetes-validations"), schema, report)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checkSchema(property, `${path}.properties.${name}`, { ...context, named: true })
  }
  for (const part of ["additionalProperties", "items"] as const) {
    const inner = schema[part]
    if (inner !== undefined) checkSchema(inner, `${path}.${part}`, { ...context, named: false })
  }
}

/** A type of Kubernetes is as its API server has it; what is said of its use here is ours to check. */
const checkNamedType = (schema: Schema, path: string, { named, report }: Context): void => {
  if (named && schema.description === undefined) report(path, "description is missing")
  if (named && schema.description !== undefined) checkText(schema.description, join(path, "description"), report)
  checkRules(schema["x-kubernetes-validations"] ?? [], join(path, "x-kubernetes-validations"), schema, report)
}

const onlyFor = (type: string, keywords: ReadonlyArray<keyof Schema>, schema: Schema, path: string, report: Report): void => {
  for (const keyword of keywords) if (schema[keyword] !== undefined) report(join(path, keyword), `only for type ${type}`)
}

const checkObject = (schema: Schema, path: string, { titles, report }: Context): void => {
  const { properties, additionalProperties, required = [], title } = schema
  if (properties !== undefined && additionalProperties !== undefined) report(path, "properties and additionalProperties exclude each other")
  if (properties === undefined && additionalProperties === undefined && schema["x-kubernetes-preserve-unknown-fields"] !== true) {
    report(path, "an object needs properties, additionalProperties or x-kubernetes-preserve-unknown-fields")
  }
  for (const name of required) {
    if (!Object.hasOwn(properties ?? {}, name)) report(join(path, "required"), `${name} is not a property`)
  }
  if (properties === undefined) return
  if (title === undefined) return report(path, "title is missing: it names the TypeScript type")
  const first = titles.get(title)
  if (first !== undefined) report(join(path, "title"), `${title} is already the title of ${first === "" ? "the object" : first}`)
  titles.set(title, path)
}

const checkListKeys = (schema: Schema, path: string, report: Report): void => {
  const keys = schema["x-kubernetes-list-map-keys"]
  const isMap = schema["x-kubernetes-list-type"] === "map"
  if (isMap !== (keys !== undefined)) report(path, "x-kubernetes-list-type map and x-kubernetes-list-map-keys go together")
  for (const key of keys ?? []) {
    if (!Object.hasOwn(schema.items?.properties ?? {}, key))
      report(join(path, "x-kubernetes-list-map-keys"), `${key} is not a property of the items`)
  }
}

const checkScalars = (schema: Schema, path: string, report: Report): void => {
  if (schema.enum?.length === 0) report(join(path, "enum"), "must not be empty")
  const values = { enum: schema.enum ?? [], default: schema.default === undefined ? [] : [schema.default] }
  for (const [keyword, scalars] of Object.entries(values)) {
    for (const value of scalars) {
      if (schema.type !== undefined && !hasType(value, schema.type)) report(join(path, keyword), `${value} is not of type ${schema.type}`)
    }
  }
  if (schema.default !== undefined && schema.enum !== undefined && !schema.enum.includes(schema.default)) {
    report(join(path, "default"), `${String(schema.default)} is not in enum`)
  }
  // A null that may stay gets no default and never passes an enum; the API server drops one that may not stay.
  for (const keyword of ["default", "enum"] as const) {
    if (schema.nullable === true && schema[keyword] !== undefined) report(path, `${keyword} and nullable exclude each other`)
  }
  if (schema.pattern !== undefined && !isPattern(schema.pattern)) report(join(path, "pattern"), "is not a regular expression")
}

const hasType = (value: string | number | boolean, type: string): boolean =>
  type === "integer" ? Number.isInteger(value) : typeof value === type

const isPattern = (pattern: string): boolean => {
  try {
    return new RegExp(pattern, "u") instanceof RegExp
  } catch {
    return false
  }
}

const checkRules = (rules: ReadonlyArray<Rule>, path: string, on: Schema | undefined, report: Report): void => {
  for (const [index, { rule, message, messageExpression, optionalOldSelf, fieldPath }] of rules.entries()) {
    const at = `${path}[${index}]`
    if (optionalOldSelf === true && !rule.includes("oldSelf")) {
      report(at, "optionalOldSelf without oldSelf: say when the rule passes for an object that broke it before")
    }
    checkText(rule, `${at}.rule`, report)
    checkText(message, `${at}.message`, report)
    if (messageExpression !== undefined) checkText(messageExpression, `${at}.messageExpression`, report)
    if (fieldPath !== undefined && !leadsToField(on, fieldPath)) report(`${at}.fieldPath`, `${fieldPath} is not a field below ${path}`)
  }
}

const leadsToField = (schema: Schema | undefined, fieldPath: string): boolean => {
  const [before, ...names] = fieldPath.split(".")
  let at = schema
  for (const name of names) at = at?.properties?.[name]
  return before === "" && at !== undefined
}

const checkText = (text: string, path: string, report: Report): void => {
  for (const placeholder of unknownPlaceholders(text)) {
    report(path, `unknown placeholder ${placeholder}; known are ${knownPlaceholders.join(", ")}`)
  }
}
