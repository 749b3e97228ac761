/** Which labels and annotations of an object of ours reach the objects that are made for it, and which never do. */

type Strings = { readonly [key: string]: string }

/** kubectl's memory of the object it applied is not about the children. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
/** A tool that prunes by set would delete the children, that of a draining version too (upstream #170). */
const applySet = "applyset.kubernetes.io/"

/** Everything but what belongs to such tools, or under `prefix` to the operator: a deployment-id set by hand would be believed. */
export const propagated = (strings: Strings | undefined, prefix: string): Strings =>
  Object.fromEntries(
    Object.entries(strings ?? {}).filter(([key]) => key !== lastApplied && !key.startsWith(applySet) && !key.startsWith(prefix)),
  )
