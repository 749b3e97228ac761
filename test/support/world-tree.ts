/** JSON objects and who owns which of their fields: server-side apply in as much detail as the operator's writes need. */
import { Predicate } from "effect"
import type { FieldsV1, ManagedFields } from "#src/resources/meta.ts"

export type Tree = { readonly [field: string]: unknown }

/** A field's path as JSON text, so that sets of paths are sets of strings. */
type Path = string

/** `manager operation subresource` → the leaves it owns. */
export type Owners = ReadonlyMap<string, ReadonlySet<Path>>

export interface Owned {
  readonly tree: Tree
  readonly owners: Owners
}

export const isTree = (value: unknown): value is Tree => Predicate.isObject(value) && !Array.isArray(value)
export const treeOf = (value: unknown): Tree => (isTree(value) ? value : {})

/** Fields that every object has and nobody owns. */
const identity = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "managedFields",
])

/** Maps that are replaced as a whole. Lists are, too: no two writers here share one. */
const atomic = new Set(["spec.selector", "spec.template"])

/** The leaves of an object, or of a part of one. */
export const leaves = (tree: Tree): ReadonlyMap<Path, unknown> => {
  const found = new Map<Path, unknown>()
  const walk = (value: unknown, path: ReadonlyArray<string>): void => {
    if (!isTree(value) || atomic.has(path.join(".")) || (Object.keys(value).length === 0 && path.length > 0)) {
      found.set(JSON.stringify(path), value)
      return
    }
    for (const [name, child] of Object.entries(value)) {
      if (
        (path.length === 0 && (name === "apiVersion" || name === "kind")) ||
        (path[0] === "metadata" && path.length === 1 && identity.has(name))
      )
        continue
      if (child !== undefined) walk(child, [...path, name])
    }
  }
  walk(tree, [])
  return found
}

const parsed = (path: Path): ReadonlyArray<string> => {
  const names: unknown = JSON.parse(path)
  return Array.isArray(names) ? names.map(String) : []
}

const at = (tree: unknown, path: ReadonlyArray<string>): unknown => path.reduce<unknown>((value, name) => treeOf(value)[name], tree)

const put = (tree: unknown, [name, ...rest]: ReadonlyArray<string>, value: unknown): unknown =>
  name === undefined ? value : { ...treeOf(tree), [name]: put(treeOf(tree)[name], rest, value) }

/** Without the field, and without the maps of metadata that it leaves empty, as the API server does. */
const cut = (tree: Tree, [name, ...rest]: ReadonlyArray<string>): Tree => {
  if (name === undefined || !(name in tree)) return tree
  const { [name]: child, ...others } = tree
  if (rest.length === 0) return others
  const left = cut(treeOf(child), rest)
  return Object.keys(left).length === 0 && (name === "annotations" || name === "labels") ? others : { ...others, [name]: left }
}

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** A server-side apply with force: fields that the manager no longer names go if nobody else owns them. */
export const applied = ({ tree, owners }: Owned, who: string, body: Tree): Owned => {
  const wanted = leaves(body)
  const next = new Map([...owners].map(([owner, paths]) => [owner, new Set(paths)]))
  let result = tree
  for (const path of owners.get(who) ?? []) {
    if (wanted.has(path)) continue
    next.get(who)?.delete(path)
    if (![...next.values()].some((paths) => paths.has(path))) result = cut(result, parsed(path))
  }
  for (const [path, value] of wanted) {
    if (same(at(result, parsed(path)), value)) continue
    for (const paths of next.values()) paths.delete(path)
    result = treeOf(put(result, parsed(path), value))
  }
  next.set(who, new Set(wanted.keys()))
  return { tree: result, owners: withoutEmpty(next) }
}

/** A merge patch (RFC 7386): null removes, maps merge, everything else replaces. Who writes a value owns it. */
export const patched = ({ tree, owners }: Owned, who: string, patch: Tree): Owned => {
  const next = new Map([...owners].map(([owner, paths]) => [owner, new Set(paths)]))
  const mine = next.get(who) ?? new Set<Path>()
  next.set(who, mine)
  let result = tree
  for (const [path, value] of leaves(patch)) {
    const names = parsed(path)
    if (value === null) result = cut(result, names)
    else if (same(at(result, names), value)) continue
    else result = treeOf(put(result, names, value))
    for (const paths of next.values()) paths.delete(path)
    if (value !== null) mine.add(path)
  }
  return { tree: result, owners: withoutEmpty(next) }
}

const withoutEmpty = (owners: Owners): Owners => new Map([...owners].filter(([, paths]) => paths.size > 0))

/** As `metadata.managedFields` says it. */
export const managedFields = (owners: Owners): ReadonlyArray<ManagedFields> =>
  [...owners].map(([owner, paths]) => {
    const [manager = "", operation = "", subresource = ""] = owner.split(" ")
    let fields: unknown = {}
    for (const path of paths) {
      fields = put(
        fields,
        parsed(path).map((name) => `f:${name}`),
        {},
      )
    }
    return { manager, operation, ...(subresource === "" ? {} : { subresource }), fieldsV1: fieldsOf(fields) }
  })

const fieldsOf = (value: unknown): FieldsV1 =>
  Object.fromEntries(Object.entries(treeOf(value)).map(([name, child]) => [name, fieldsOf(child)]))
