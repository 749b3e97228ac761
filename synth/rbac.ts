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

// The operator's own Lease and the API tokens that it is given: nobody else's are its business.
const ownNamespaceOnly = new Set(["coordination.k8s.io/leases", "/secrets"])

/** The rights that the table asks for. Every rule has one group, so that no resource is allowed by accident. */
export const rights = (vocabulary: Vocabulary): Rights => {
  const kinds = Object.values(access(vocabulary)).toSorted((a, b) => compare(key(a), key(b)))
  return {
    cluster: kinds.filter((kind) => !isOwn(kind)).flatMap(rules),
    namespace: kinds.filter(isOwn).flatMap(rules),
  }
}

const isOwn = (kind: KindAccess): boolean => ownNamespaceOnly.has(key(kind))

const key = ({ group, plural }: KindAccess): string => `${group}/${plural}`

const rules = ({ group, plural, verbs, subresources, why }: KindAccess): Array<PolicyRule> => [
  { apiGroups: [group], resources: [plural], verbs, why },
  ...Object.entries(subresources)
    .toSorted(([a], [b]) => compare(a, b))
    .map(([name, allowed]) => ({ apiGroups: [group], resources: [`${plural}/${name}`], verbs: allowed, why: `${name} of ${plural}` })),
]

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
