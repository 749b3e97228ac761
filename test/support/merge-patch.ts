/** JSON merge patches (RFC 7386), to say how one manifest of a test differs from another. */
import type { JsonObject } from "./api-server.ts"

const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value)

/** The object with the patch applied: null removes, objects merge, everything else replaces. */
export const merged = (object: JsonObject, patch: JsonObject): JsonObject => {
  const result: { [key: string]: unknown } = { ...object }
  for (const [key, value] of Object.entries(patch)) {
    const before = result[key]
    if (value === null) delete result[key]
    else result[key] = isObject(value) ? merged(isObject(before) ? before : {}, value) : value
  }
  return result
}
