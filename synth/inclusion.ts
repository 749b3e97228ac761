/** Where a schema file names a type of Kubernetes (`kubernetes: EnvVar`), the type itself is put in. */
import type { KubernetesTypes } from "./kubernetes-types.ts"
import type { Report } from "./problems.ts"
import { join } from "./readers.ts"
import type { Resource, Schema } from "./schema.ts"

type Content = Omit<Resource, "file">

/** The resource with all types put in; names that mean nothing, and additions that cannot be, are reported. */
export const withTypes = (content: Content, types: KubernetesTypes, report: Report): Content => ({
  ...content,
  spec: include(content.spec, "spec", types, report),
  status: include(content.status, "status", types, report),
})

/** What may stand beside `kubernetes`; everything else is the type's. `properties` only narrows some of the type's own. */
const additions: ReadonlyArray<keyof Schema> = ["kubernetes", "description", "nullable", "properties", "x-kubernetes-validations"]

const include = (schema: Schema, path: string, types: KubernetesTypes, report: Report): Schema => {
  if (schema.kubernetes !== undefined) return typed(schema, schema.kubernetes, path, types, report)
  const result = { ...schema }
  if (schema.properties !== undefined) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, inner]) => [name, include(inner, `${path}.properties.${name}`, types, report)]),
    )
  }
  for (const part of ["items", "additionalProperties"] as const) {
    const inner = schema[part]
    if (inner !== undefined) result[part] = include(inner, `${path}.${part}`, types, report)
  }
  return result
}

const typed = (schema: Schema, name: string, path: string, types: KubernetesTypes, report: Report): Schema => {
  const type = types.get(name)
  if (type === undefined) {
    report(join(path, "kubernetes"), `no type ${name}; known are ${[...types.keys()].join(", ")}`)
    return schema
  }
  for (const keyword of Object.keys(schema)) {
    if (!additions.some((addition) => addition === keyword)) report(join(path, keyword), `cannot be said of a type of Kubernetes`)
  }
  const properties = { ...type.properties }
  for (const [property, narrower] of Object.entries(schema.properties ?? {})) {
    const own = properties[property]
    if (own === undefined) report(`${path}.properties.${property}`, `${name} has no such property`)
    else properties[property] = { ...own, ...narrower }
  }
  return { ...type, ...schema, ...(Object.keys(properties).length === 0 ? {} : { properties }) }
}
