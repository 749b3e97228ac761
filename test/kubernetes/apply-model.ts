/** Server-side apply in miniature: merging by schema, ownership, removal of what nobody owns, no write when nothing changes. */
import type { Desired } from "#src/engine/action.ts"
import { isQuantity, quantity } from "#src/formats/quantity.ts"
import type { FieldsV1, KubernetesObject } from "#src/resources/meta.ts"

type Body = Desired["body"]
type Value = unknown
type Tree = Record<string, Value>
type Fields = Record<string, FieldsV1>

/** How the server merges a value. */
export type Shape =
  | { readonly is: "scalar" | "atomic" | "set" }
  | { readonly is: "map"; readonly of: Shape }
  | { readonly is: "struct"; readonly of: { readonly [field: string]: Shape } }
  | { readonly is: "list"; readonly keys: ReadonlyArray<string>; readonly of: Shape; readonly defaults?: Tree }

const scalar = { is: "scalar" } as const
const strings = { is: "map", of: scalar } as const
const atomic = { is: "atomic" } as const

/** One of each way to merge, under the names Kubernetes has for them. */
export const shape: Shape = {
  is: "struct",
  of: {
    metadata: {
      is: "struct",
      of: { labels: strings, annotations: strings, finalizers: { is: "set" }, ownerReferences: { is: "list", keys: ["uid"], of: atomic } },
    },
    spec: {
      is: "struct",
      of: {
        replicas: scalar,
        selector: atomic,
        args: atomic,
        ports: {
          is: "list",
          keys: ["port", "protocol"],
          of: { is: "struct", of: { name: scalar, port: scalar, protocol: scalar } },
          defaults: { protocol: "TCP" },
        },
        resources: { is: "struct", of: { requests: strings } },
      },
    },
  },
}

const isTree = (value: Value): value is Tree => typeof value === "object" && value !== null && !Array.isArray(value)
const listOf = (value: Value): ReadonlyArray<Value> => (Array.isArray(value) ? value : [])
const treeOf = (value: Value): Tree => (isTree(value) ? value : {})
const childShape = (of: Shape, name: string): Shape => (of.is === "map" ? of.of : of.is === "struct" ? (of.of[name] ?? scalar) : scalar)
const keyPath = (of: Shape & { is: "list" }, element: Value): string =>
  `k:${JSON.stringify(Object.fromEntries(of.keys.map((key) => [key, treeOf(element)[key] ?? of.defaults?.[key]])))}`
const byText = (a: Value, b: Value): number => (String(a) < String(b) ? -1 : 1)
const same = (a: Value, b: Value): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The fields that a value names. */
const fieldsOf = (of: Shape, value: Value): FieldsV1 => {
  const fields: Fields = {}
  if (of.is === "set") for (const element of listOf(value)) fields[`v:${JSON.stringify(element)}`] = {}
  if (of.is === "list")
    for (const element of listOf(value))
      fields[keyPath(of, element)] = of.of.is === "struct" ? { ".": {}, ...fieldsOf(of.of, element) } : {}
  if (of.is === "map" || of.is === "struct")
    for (const [name, child] of Object.entries(treeOf(value))) fields[`f:${name}`] = fieldsOf(childShape(of, name), child)
  return fields
}

const canonicalScalar = (value: Value, path: ReadonlyArray<string>): Value => {
  if (!isQuantity(path) || typeof value !== "string") return value
  const amount = quantity(value)
  if (amount === undefined) return value
  return amount % 1_000_000_000n === 0n ? String(amount / 1_000_000_000n) : `${amount / 1_000_000n}m`
}

const merge = (of: Shape, live: Value, wanted: Value, path: ReadonlyArray<string>): Value => {
  switch (of.is) {
    case "scalar":
      return canonicalScalar(wanted, path)
    case "atomic":
      return wanted
    case "set":
      return [...new Set([...listOf(live), ...listOf(wanted)])].toSorted(byText)
    case "list": {
      const entries = new Map(listOf(live).map((element) => [keyPath(of, element), element]))
      for (const element of listOf(wanted)) {
        const key = keyPath(of, element)
        entries.set(key, of.of.is === "struct" ? { ...of.defaults, ...treeOf(merge(of.of, entries.get(key), element, path)) } : element)
      }
      return [...entries].toSorted(([a], [b]) => byText(a, b)).map(([, element]) => element)
    }
    default: {
      const merged: Tree = { ...treeOf(live) }
      for (const [name, child] of Object.entries(treeOf(wanted)))
        merged[name] = merge(childShape(of, name), merged[name], child, [...path, name])
      return merged
    }
  }
}

const isLeaf = (fields: FieldsV1): boolean => Object.keys(fields).length === 0

/** Takes the leaves of `old` away that neither `kept` nor anybody else has. */
const prune = (of: Shape, live: Value, old: FieldsV1, kept: FieldsV1 | undefined, others: ReadonlyArray<FieldsV1>): Value => {
  if (isLeaf(old))
    return kept === undefined && others.length === 0 && !(isTree(live) && (of.is === "map" || of.is === "struct")) ? undefined : live
  if (of.is === "map" || of.is === "struct") {
    const left: Tree = { ...treeOf(live) }
    for (const [path, fields] of Object.entries(old)) {
      const name = path.slice(2)
      const child = prune(
        childShape(of, name),
        left[name],
        fields,
        kept?.[path],
        others.flatMap((other) => other[path] ?? []),
      )
      if (child === undefined) delete left[name]
      else left[name] = child
    }
    return Object.keys(left).length === 0 && kept === undefined ? undefined : left
  }
  const pathOf = (element: Value) => (of.is === "list" ? keyPath(of, element) : `v:${JSON.stringify(element)}`)
  const left = listOf(live).flatMap((element): ReadonlyArray<Value> => {
    const path = pathOf(element)
    const fields = old[path]
    if (fields === undefined || (kept?.[path] === undefined && others.every((other) => other[path] === undefined)))
      return fields === undefined ? [element] : []
    return of.is === "list" && of.of.is === "struct"
      ? [
          {
            ...of.defaults,
            ...treeOf(
              prune(
                of.of,
                element,
                fields,
                kept?.[path],
                others.flatMap((other) => other[path] ?? []),
              ),
            ),
          },
        ]
      : [element]
  })
  return left.length === 0 && kept === undefined ? undefined : left
}

/** Ownership that an apply by force takes from the others: leaves whose value it changes. */
const loses = (of: Shape, fields: FieldsV1, before: Value, after: Value): FieldsV1 | undefined => {
  if (isLeaf(fields) || of.is === "scalar" || of.is === "atomic")
    return same(before, after) || (isLeaf(fields) && (of.is === "map" || of.is === "struct")) ? fields : undefined
  const kept: Fields = {}
  for (const [path, child] of Object.entries(fields)) {
    if (path === ".") {
      kept[path] = child
      continue
    }
    const at = (value: Value): Value =>
      of.is === "map" || of.is === "struct"
        ? treeOf(value)[path.slice(2)]
        : listOf(value).find((element) => (of.is === "list" ? keyPath(of, element) : `v:${JSON.stringify(element)}`) === path)
    if (at(after) === undefined) continue
    const rest = loses(of.is === "list" ? of.of : childShape(of, path.slice(2)), child, at(before), at(after))
    if (rest !== undefined) kept[path] = rest
  }
  return Object.keys(kept).length === 0 ? undefined : kept
}

/** One object and its server. */
export class ModelServer {
  #tree: Tree = {}
  readonly #owners = new Map<string, FieldsV1>()
  #version = 1

  /** The object as it is read. */
  get live(): KubernetesObject {
    const { metadata, ...rest } = this.#tree
    const managedFields = [...this.#owners].map(([manager, fieldsV1]) => ({ manager, operation: "Apply", fieldsV1 }))
    return {
      ...rest,
      apiVersion: "v1",
      kind: "Thing",
      metadata: { ...treeOf(metadata), name: "thing", uid: "1", resourceVersion: String(this.#version), managedFields },
    }
  }

  /** A server-side apply with force. */
  apply(manager: string, body: Body): KubernetesObject {
    const old = this.#owners.get(manager) ?? {}
    const wanted = treeOf(body)
    const fields = fieldsOf(shape, wanted)
    const others = [...this.#owners].flatMap(([name, owned]) => (name === manager ? [] : [owned]))
    this.#change(
      treeOf(merge(shape, prune(shape, this.#tree, old, fields, others), wanted, [])),
      manager,
      isLeaf(fields) ? undefined : fields,
    )
    return this.live
  }

  /** Somebody without a share in the managed fields sets something: the owners lose it. */
  edit(body: Body): void {
    this.#change(treeOf(merge(shape, this.#tree, treeOf(body), [])), undefined, undefined)
  }

  #state(): string {
    return JSON.stringify(sorted({ tree: this.#tree, owners: Object.fromEntries(this.#owners) }))
  }

  #change(after: Tree, manager: string | undefined, fields: FieldsV1 | undefined): void {
    const before = this.#state()
    for (const [name, owned] of new Map(this.#owners)) {
      const kept = loses(shape, owned, this.#tree, after)
      if (kept === undefined) this.#owners.delete(name)
      else this.#owners.set(name, kept)
    }
    this.#tree = after
    if (manager !== undefined) {
      this.#owners.delete(manager)
      if (fields !== undefined) this.#owners.set(manager, fields)
    }
    if (this.#state() !== before) this.#version += 1
  }
}

/** Without the order of keys, which means nothing. */
const sorted = (value: Value): Value => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isTree(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => byText(a, b))
      .map(([name, child]) => [name, sorted(child)]),
  )
}
