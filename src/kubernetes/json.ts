/** JSON in and out without losing digits: integers beyond 2^53 keep their text. */

/** What TypeScript's library does not know yet of `JSON` in Node 22 and later (proposal "JSON.parse source text access"). */
interface SourceJson {
  parse(text: string, reviver: (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): object
}

const hasSources = (json: object): json is SourceJson => "rawJSON" in json

/** 2^53 has 16 digits: a text without such a run of digits has nothing to lose, and a reviver is five times slower. */
const suspicious = /\d{16}/

/** Parses plainly. Numbers above 2^53 are rounded. Throws SyntaxError. */
export const parse = (text: string): unknown => JSON.parse(text)

/**
 * Parses so that `JSON.stringify` gives every integer back digit for digit: those that a number cannot hold become
 * `JSON.rawJSON` objects. Throws SyntaxError.
 */
export const parseExactly = (text: string): unknown => {
  const json: object = JSON
  if (!suspicious.test(text) || !hasSources(json)) return JSON.parse(text)
  return json.parse(text, (_key, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && context.source !== undefined && /^-?\d+$/.test(context.source)
      ? json.rawJSON(context.source)
      : value,
  )
}
