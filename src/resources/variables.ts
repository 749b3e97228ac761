/** Variables of a container whose program has several spellings of its own, each of which is set to the same (operator.md §2.8). */
import type { EnvVar } from "./parts.ts"

/** A variable in each of its spellings. */
export const spelled = (prefixes: ReadonlyArray<string>, name: string, value: string): ReadonlyArray<EnvVar> =>
  prefixes.map((prefix) => ({ name: `${prefix}${name}`, value }))

/** Ours, and the user's on top: a word about one spelling replaces ours in all of them, and goes for those that the user leaves out. */
export const replacedBy = (
  prefixes: ReadonlyArray<string>,
  ours: ReadonlyArray<EnvVar>,
  user: ReadonlyArray<EnvVar>,
): ReadonlyArray<EnvVar> => {
  const named = new Set(user.map(({ name }) => name))
  const replaced = new Set(user.flatMap(({ name }) => spellings(prefixes, name)))
  return [
    ...ours.filter(({ name }) => !replaced.has(name)),
    ...user.flatMap((entry) =>
      [entry.name, ...spellings(prefixes, entry.name).filter((other) => !named.has(other))].map((name) => ({ ...entry, name })),
    ),
  ]
}

/** All spellings of a variable, itself among them; only itself when it is none of the program's own. */
const spellings = (prefixes: ReadonlyArray<string>, name: string): ReadonlyArray<string> => {
  const prefix = prefixes.find((each) => name.startsWith(each))
  return prefix === undefined ? [name] : prefixes.map((each) => `${each}${name.slice(prefix.length)}`)
}
