/** Schemas name things by role in braces, `{deployment.kind}`, so that one file serves both vocabularies. */
import type { OwnKind, Vocabulary } from "#src/vocabulary.ts"

const roles = ["cluster", "deployment", "environment"] as const satisfies ReadonlyArray<OwnKind>
const names = ["kind", "plural", "singular", "shortName"] as const

const values: { readonly [placeholder: string]: (vocabulary: Vocabulary) => string } = {
  group: (vocabulary) => vocabulary.group,
  operator: (vocabulary) => vocabulary.operator,
  portName: (vocabulary) => vocabulary.portName,
  "server.container": (vocabulary) => vocabulary.server.container,
  "server.dataPath": (vocabulary) => vocabulary.server.dataPath,
  ...Object.fromEntries(
    roles.flatMap((role) => names.map((name) => [`${role}.${name}`, ({ resources }: Vocabulary) => resources[role][name]])),
  ),
}

// `{}` is no placeholder: CEL and examples in descriptions use it.
const PLACEHOLDER = /\{([A-Za-z][A-Za-z.]*)\}/g

/** The placeholders in a text that mean nothing. */
export const unknownPlaceholders = (text: string): Array<string> =>
  [...text.matchAll(PLACEHOLDER)].flatMap(([whole, name]) => (name !== undefined && Object.hasOwn(values, name) ? [] : [whole]))

/** The text with every placeholder replaced by the vocabulary's name. */
export const resolve = (text: string, vocabulary: Vocabulary): string =>
  text.replace(PLACEHOLDER, (whole, name: string) => values[name]?.(vocabulary) ?? whole)

/** What may stand in braces. */
export const knownPlaceholders = Object.keys(values).map((name) => `{${name}}`)
