/**
 * Would a server-side apply change anything? Answered from the cache, so that a settled object costs no request.
 *
 * The manager's own field tree says how the server merges: `k:{…}` is a list whose entries have keys, `v:…` a set, `f:…`
 * a map, and a leaf above a map or list a value that is replaced as a whole. So no table of Kubernetes' types is needed,
 * and custom resources are judged by their own schema.
 */
import { Predicate } from "effect"
import type { Desired } from "../engine/action.ts"
import type { FieldsV1, KubernetesObject } from "../resources/meta.ts"
import { appliedFields } from "./managed-fields.ts"
import { isQuantity, quantity } from "../formats/quantity.ts"

type Body = Desired["body"]
type Path = ReadonlyArray<string>

/**
 * The body as it should be sent: an apply means "these fields are mine", so null is absence (sent, it would be owned,
 * and come back as an empty string in a map of strings), and so are empty maps and lists of metadata.
 */
export const canonical = (body: Body): Body => {
  const cleaned = withoutNulls(body)
  if (!isMap(cleaned)) return {}
  const { metadata, ...rest } = cleaned
  if (!isMap(metadata)) return rest
  const kept = Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isEmpty(value)))
  return isEmpty(kept) ? rest : { ...rest, metadata: kept }
}

/**
 * True when applying `body` as `manager` would leave the object as it is: every field has the value asked for, and the
 * manager owns these fields and no others. False when in doubt: then the apply is sent, and the server knows.
 *
 * `"80"` and `80` differ here because they differ to the server; quantities are compared as numbers.
 */
export const unchanged = (body: Body, live: KubernetesObject, manager: string, subresource?: string): boolean => {
  const wanted = canonical(body)
  const uid = isMap(wanted["metadata"]) ? wanted["metadata"]["uid"] : undefined
  if (uid !== undefined && uid !== live.metadata.uid) return false
  const fields = ownable(wanted)
  const owned = appliedFields(live, manager, subresource)
  if (owned === undefined) return Object.keys(fields).length === 0
  return matchesMap(fields, live, owned, [])
}

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
  "selfLink",
])

const ownable = (wanted: Body): { readonly [field: string]: unknown } => {
  const { apiVersion: _, kind: __, metadata, ...rest } = wanted
  const owned = isMap(metadata) ? Object.entries(metadata).filter(([name]) => !identity.has(name)) : []
  return owned.length === 0 ? rest : { ...rest, metadata: Object.fromEntries(owned) }
}

const matches = (wanted: unknown, live: unknown, owned: FieldsV1, path: Path): boolean => {
  const whole = Object.keys(owned).length === 0
  if (isMap(wanted)) {
    // Empty: the leaf says that it is ours. What others have put in cannot be told from what an atomic map would lose.
    if (isEmpty(wanted)) return whole && isEmpty(live)
    return whole ? same(wanted, live, path) : matchesMap(wanted, live, owned, path)
  }
  if (Array.isArray(wanted)) {
    if (isEmpty(wanted)) return whole && isEmpty(live)
    return whole ? same(wanted, live, path) : matchesList(wanted, live, owned, path)
  }
  return whole && same(wanted, live, path)
}

const matchesMap = (wanted: { readonly [field: string]: unknown }, live: unknown, owned: FieldsV1, path: Path): boolean => {
  let count = 0
  for (const name in wanted) {
    const share = owned[`f:${name}`]
    if (share === undefined || !matches(wanted[name], isObject(live) ? live[name] : undefined, share, [...path, name])) return false
    count += 1
  }
  return count === Object.keys(owned).filter((key) => key !== ".").length
}

const matchesList = (wanted: ReadonlyArray<unknown>, live: unknown, owned: FieldsV1, path: Path): boolean => {
  if (!Array.isArray(live)) return false
  const keys = Object.keys(owned).filter((key) => key !== ".")
  if (keys.length !== wanted.length) return false
  const elements: ReadonlyArray<unknown> = live
  let last = -1
  for (const element of wanted) {
    const found = isMap(element) ? findEntry(element, keys) : findValue(element, keys)
    const share = found === undefined ? undefined : owned[found.path]
    if (found === undefined || share === undefined) return false
    const at = elements.findIndex(found.is)
    // Entries in another order: an apply would move them.
    if (at <= last) return false
    last = at
    if (isMap(element) && !matches(element, elements[at], share, path)) return false
  }
  return true
}

interface Found {
  /** The path in the field tree. */
  readonly path: string
  /** Whether an element of the live list is the one. */
  readonly is: (element: unknown) => boolean
}

/** The keyed entry that an element stands for. Key fields that the element leaves to their defaults are the server's. */
const findEntry = (element: { readonly [field: string]: unknown }, paths: ReadonlyArray<string>): Found | undefined => {
  for (const path of paths) {
    const key = path.startsWith("k:") ? keyOf(path) : undefined
    if (
      key !== undefined &&
      key.every(([name, value]) => element[name] === value || (element[name] === undefined && value === keyDefaults[name]))
    )
      return { path, is: (other) => isObject(other) && key.every(([name, value]) => other[name] === value) }
  }
  return undefined
}

const findValue = (element: unknown, paths: ReadonlyArray<string>): Found | undefined => {
  const path = `v:${JSON.stringify(element)}`
  return paths.includes(path) ? { path, is: (other) => other === element } : undefined
}

const keyOf = (path: string): ReadonlyArray<readonly [string, unknown]> | undefined => {
  try {
    const key: unknown = JSON.parse(path.slice(2))
    return isObject(key) ? Object.entries(key) : undefined
  } catch {
    return undefined
  }
}

/** Key fields with a default in Kubernetes' own types. */
const keyDefaults: { readonly [field: string]: unknown } = { protocol: "TCP" }

/** Fields that the server adds inside values it otherwise takes as a whole. */
const added: { readonly [field: string]: ReadonlyArray<unknown> } = {
  apiVersion: ["v1"],
  kind: ["PersistentVolumeClaim"],
  volumeMode: ["Filesystem"],
  protocol: ["TCP"],
  defaultMode: [420],
}

/** Equality of values that are replaced as a whole. */
const same = (wanted: unknown, live: unknown, path: Path): boolean => {
  if (Array.isArray(wanted)) {
    if (wanted.length === 0) return isEmpty(live)
    return Array.isArray(live) && live.length === wanted.length && wanted.every((element, index) => same(element, live[index], path))
  }
  if (isMap(wanted)) {
    if (!isObject(live)) return false
    for (const name in wanted) if (!same(wanted[name], live[name], [...path, name])) return false
    return Object.entries(live).every(
      ([name, value]) => name in wanted || isEmptyList(value) || (added[name]?.includes(value) ?? isStatus(name, value)),
    )
  }
  if (wanted === live) return true
  if (isRaw(wanted) || isRaw(live)) return JSON.stringify(wanted) === JSON.stringify(live)
  return isQuantity(path) && sameQuantity(wanted, live)
}

/** A claim template comes back with `status: {phase: Pending}`. */
const isStatus = (name: string, value: unknown): boolean => name === "status" && isObject(value)

const sameQuantity = (a: unknown, b: unknown): boolean => {
  if ((typeof a !== "string" && typeof a !== "number") || (typeof b !== "string" && typeof b !== "number")) return false
  const [left, right] = [quantity(String(a)), quantity(String(b))]
  return left !== undefined && left === right
}

const withoutNulls = (value: unknown): Body[string] => {
  if (Array.isArray(value)) return value.map((element) => withoutNulls(element) ?? null)
  if (isRaw(value)) return value
  if (isMap(value)) {
    const kept: Record<string, Body[string]> = {}
    for (const name in value) {
      const child = value[name]
      if (child !== null && child !== undefined) kept[name] = withoutNulls(child)
    }
    return kept
  }
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null
}

const isObject = Predicate.isObject
/** An integer that a number cannot hold, see json.ts: an object without prototype, and no map. */
const isRaw = (value: unknown): value is { readonly rawJSON: string } =>
  isObject(value) && Object.getPrototypeOf(value) === null && "rawJSON" in value
const isMap = (value: unknown): value is { readonly [field: string]: unknown } => isObject(value) && !isRaw(value)
const isEmptyList = (value: unknown): boolean => value === null || value === undefined || (Array.isArray(value) && value.length === 0)
const isEmpty = (value: unknown): boolean => isEmptyList(value) || (isMap(value) && Object.keys(value).length === 0)
