/** Readers turn values of unknown shape into typed ones and report, with the path, what does not fit. */
import type { Report } from "./problems.ts"

/** Gives the value as T, or reports and gives undefined. */
export type Reader<T> = (value: unknown, path: string, report: Report) => T | undefined

/** A YAML mapping. */
export const isMapping = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fitting =
  <T>(what: string, fits: (value: unknown) => value is T): Reader<T> =>
  (value, path, report) => {
    if (fits(value)) return value
    report(path, `must be ${what}`)
    return undefined
  }

export const text = fitting("text that is not empty", (value): value is string => typeof value === "string" && value.trim() !== "")
export const flag = fitting("true or false", (value): value is boolean => typeof value === "boolean")
export const number = fitting("a number", (value): value is number => typeof value === "number")
export const scalar = fitting("text, a number or a boolean", (value): value is string | number | boolean =>
  ["string", "number", "boolean"].includes(typeof value),
)
export const empty = fitting("{}", (value): value is Record<string, never> => isMapping(value) && Object.keys(value).length === 0)

export const oneOf = <const T extends string>(...allowed: ReadonlyArray<T>): Reader<T> =>
  fitting(`one of ${allowed.join(", ")}`, (value): value is T => allowed.some((item) => item === value))

/** A list whose items the reader accepts; items that do not fit are reported and left out. */
export const list =
  <T>(item: Reader<T>): Reader<Array<T>> =>
  (value, path, report) => {
    if (!Array.isArray(value)) {
      report(path, "must be a list")
      return undefined
    }
    return value.flatMap((entry: unknown, index) => {
      const read = item(entry, `${path}[${index}]`, report)
      return read === undefined ? [] : [read]
    })
  }

/** A mapping from any name to what the reader accepts. */
export const dictionary =
  <T>(item: Reader<T>): Reader<{ [name: string]: T }> =>
  (value, path, report) => {
    if (!isMapping(value)) {
      report(path, "must be a mapping")
      return undefined
    }
    const result: { [name: string]: T } = {}
    for (const [name, entry] of Object.entries(value)) {
      const read = item(entry, join(path, name), report)
      if (read !== undefined) result[name] = read
    }
    return result
  }

/** Readers for every key that T has, so that a key cannot be forgotten. */
export type Fields<T> = { readonly [K in keyof T]-?: Reader<Exclude<T[K], undefined>> }

/** A mapping with exactly these keys; keys that are not known, and required ones that are missing, are reported. */
export const mapping =
  <T extends object>(fields: Fields<T>, required: ReadonlyArray<keyof T & string>): Reader<T> =>
  (value, path, report) => {
    if (!isMapping(value)) {
      report(path, "must be a mapping")
      return undefined
    }
    const read: Partial<T> = {}
    for (const key of Object.keys(value)) {
      if (isKeyOf(fields, key)) {
        const entry = fields[key](value[key], join(path, key), report)
        if (entry !== undefined) read[key] = entry
      } else report(join(path, key), `unknown keyword; known are ${Object.keys(fields).join(", ")}`)
    }
    const missing = required.filter((key) => !Object.hasOwn(value, key))
    for (const key of missing) report(path, `${key} is missing`)
    return isComplete(read, required) ? read : undefined
  }

const isKeyOf = <T extends object>(fields: Fields<T>, key: string): key is keyof T & string => Object.hasOwn(fields, key)

const isComplete = <T extends object>(read: Partial<T>, required: ReadonlyArray<keyof T & string>): read is T =>
  required.every((key) => read[key] !== undefined)

/** Paths are dotted; the file itself has the empty path. */
export const join = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`)
