/** TOML text to values. */
import { parse, TomlError } from "smol-toml"

export type Toml = { readonly [key: string]: unknown }

/** Values, or what is wrong with the text: one line with its place. */
export const parseToml = (text: string): Toml | string => {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [what = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n")
    return `line ${error.line}, column ${error.column}: ${what}`
  }
}
