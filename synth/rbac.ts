/** The operator's rights, from the access table and nothing else: what is not in the table is not allowed. */
import { access, type KindAccess, type Verb } from "#src/kubernetes/access.ts"
import type { Vocabulary } from "#src/vocabulary.ts"

/** A rule of a role, and the reason that stands above it as a comment. */
export interface PolicyRule {
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<Verb>
  readonly why: string
}

/** Rules of the ClusterRole and of the Role in the operator's own namespace. */
export interface Rights {
  readonly cluster: ReadonlyArray<PolicyRule>
  readonly namespace: ReadonlyArray<PolicyRule>
}

/** The rights that the table asks for. Every rule has one group, so that no resource is allowed by accident. */
export const rights = (vocabulary: Vocabulary): Rights => {
  const kinds = [...Map.groupBy(Object.values<KindAccess>(access(vocabulary)), key).values()].toSorted(([a], [b]) =>
    compare(nameOf(a), nameOf(b)),
  )
  return {
    cluster: kinds.filter((rows) => !isOwn(rows)).flatMap(rulesOf),
    namespace: kinds.filter(isOwn).flatMap(rulesOf),
  }
}

/** What is needed everywhere for one purpose needs no rule of its own for another. */
const isOwn = (rows: ReadonlyArray<KindAccess>): boolean => rows.every(({ own }) => own === true)

const rulesOf = (rows: ReadonlyArray<KindAccess>): Array<PolicyRule> => rules(rows.reduce(together))

/** One resource that is read for two purposes is still one rule. */
const together = (one: KindAccess, other: KindAccess): KindAccess => ({
  ...one,
  verbs: [...new Set([...one.verbs, ...other.verbs])],
  subresources: { ...one.subresources, ...other.subresources },
  why: `${one.why}; ${other.why}`,
})

const nameOf = (row: KindAccess | undefined): string => (row === undefined ? "" : key(row))

const key = ({ group, plural }: KindAccess): string => `${group}/${plural}`

const rules = ({ group, plural, verbs, subresources, why }: KindAccess): Array<PolicyRule> => [
  { apiGroups: [group], resources: [plural], verbs, why },
  ...Object.entries(subresources)
    .toSorted(([a], [b]) => compare(a, b))
    .map(([name, allowed]) => ({ apiGroups: [group], resources: [`${plural}/${name}`], verbs: allowed, why: `${name} of ${plural}` })),
]

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
