/**
 * The objects of one kind, by name and by index, as the watch tells it and as our own writes have left it. A plain data
 * structure: no clock, no requests.
 *
 * Law 5, read your writes. A response enters at once if it is newer than what is held; a deleted object is hidden at
 * once. Who writes knows what was written and need not be woken by the echo, which may come before the response or after
 * it. So while a write is on its way, and until the watch has caught up with its response, changes enter the store but
 * are told to nobody. Then there are two cases: all that happened was ours, and nobody hears of it; or somebody else
 * wrote as well, and the change from the state before to the state now is told.
 */
import type { KubernetesObject } from "../resources/meta.ts"
import { explainedObject, sameContent } from "./difference.ts"

/** One change that listeners should hear of. `before` is absent for an addition, `after` for a deletion. */
export interface StoreChange<T> {
  readonly before: T | undefined
  readonly after: T | undefined
}

interface Entry<T> {
  readonly object: T
  /** Set by a delete of ours, until the watch confirms it or the name has a new owner. */
  hidden: boolean
}

/** What is not told yet about one name. */
interface Pending<T> {
  /** What listeners know. */
  base: T | undefined
  /** Our writes on their way. */
  writers: number
  /** resourceVersions of our responses. */
  readonly own: Set<string>
  /** resourceVersions that the watch told and that are not known to be ours. */
  readonly foreign: Set<string>
  /** A response brought more than what was written. */
  unexplained: boolean
  /** The youngest response that the watch has not confirmed. */
  awaited: bigint
}

/** UIDs remembered after their deletion, so that a late response cannot bring an object back. */
const remembered = 1_000

export class Store<T extends KubernetesObject> {
  readonly #entries = new Map<string, Entry<T>>()
  readonly #pending = new Map<string, Pending<T>>()
  readonly #indexes = new Map<string, Set<string>>()
  readonly #indexer: (object: T) => ReadonlyArray<readonly [index: string, value: string]>
  /** UID → resourceVersion of its end. A younger one is back: what a watch by label calls deleted may only have lost its label. */
  readonly #gone = new Map<string, bigint>()
  /** The youngest resourceVersion that a list or the watch has told. */
  #seen = 0n

  /** `indexer` says under which values an object is found; it must depend on nothing but the object. */
  constructor(indexer: (object: T) => ReadonlyArray<readonly [index: string, value: string]>) {
    this.#indexer = indexer
  }

  get(namespace: string | undefined, name: string): T | undefined {
    const entry = this.#entries.get(keyOf(namespace, name))
    return entry === undefined || entry.hidden ? undefined : entry.object
  }

  /** Sorted by name, then namespace. */
  list(index: string, value: string): ReadonlyArray<T> {
    const found: Array<T> = []
    for (const key of this.#indexes.get(indexKey(index, value)) ?? []) {
      const entry = this.#entries.get(key)
      if (entry !== undefined && !entry.hidden) found.push(entry.object)
    }
    return found.toSorted(byName)
  }

  /** All that are not hidden, in no order. */
  all(): ReadonlyArray<T> {
    return [...this.#entries.values()].flatMap((entry) => (entry.hidden ? [] : [entry.object]))
  }

  /** A write of ours sets out. Every `begin` is followed by one `end`. */
  begin(namespace: string | undefined, name: string): void {
    this.#await(keyOf(namespace, name)).writers += 1
  }

  /** A write of ours is over, well or not. */
  end(namespace: string | undefined, name: string): StoreChange<T> | undefined {
    const key = keyOf(namespace, name)
    const pending = this.#pending.get(key)
    if (pending === undefined) return undefined
    pending.writers -= 1
    return this.#settle(key, pending)
  }

  /**
   * The response of one of our writes, between `begin` and `end`, and what was written; undefined when nothing was. A
   * response can bring what others wrote just before, and a write that changed nothing answers with somebody else's
   * resourceVersion: what `written` does not explain is told when the watch has caught up.
   */
  put(object: T, written: unknown): void {
    const { namespace, name, resourceVersion, uid } = object.metadata
    if (this.#isGone(object)) return
    if (isEnded(object)) {
      this.tombstone(namespace, name, uid)
      return
    }
    const key = keyOf(namespace, name)
    const pending = this.#await(key)
    pending.own.add(resourceVersion)
    pending.foreign.delete(resourceVersion)
    const held = this.#entries.get(key)
    const newer = held === undefined || isNewer(object, held.object)
    // The echo may be here already: then the state before the write is the one that listeners know.
    const before = newer ? held?.object : pending.base
    const explained =
      written !== undefined && (before === undefined || (before.metadata.uid === uid && explainedObject(before, object, written)))
    if (!explained) pending.unexplained = true
    if (!newer) return
    pending.awaited = version(resourceVersion)
    this.#set(key, { object, hidden: held?.hidden === true && held.object.metadata.uid === uid })
  }

  /** We deleted this object. It is hidden until the watch confirms it. */
  tombstone(namespace: string | undefined, name: string, uid: string): void {
    const entry = this.#entries.get(keyOf(namespace, name))
    if (entry?.object.metadata.uid === uid) entry.hidden = true
  }

  /** An addition or a change, from the watch. */
  upsert(object: T): StoreChange<T> | undefined {
    const { namespace, name, resourceVersion, uid } = object.metadata
    this.#see(resourceVersion)
    const key = keyOf(namespace, name)
    const held = this.#entries.get(key)
    const pending = this.#pending.get(key)
    if (held === undefined && this.#isGone(object)) return undefined
    const hidden = held?.hidden === true && held.object.metadata.uid === uid
    if (pending === undefined) {
      if (held !== undefined && !isNewer(object, held.object)) return undefined
      this.#set(key, { object, hidden })
      return hidden ? undefined : { before: held?.object, after: object }
    }
    if (!pending.own.has(resourceVersion)) pending.foreign.add(resourceVersion)
    if (held === undefined || !isNewer(held.object, object)) {
      // What the watch says is complete, where the answer of a subresource was not.
      if (held?.object.metadata.resourceVersion === resourceVersion && !sameContent(held.object, object)) pending.unexplained = true
      this.#set(key, { object, hidden })
    }
    if (version(resourceVersion) >= pending.awaited) pending.awaited = 0n
    return this.#settle(key, pending)
  }

  /** A deletion, from the watch. Told even when it is our own: a delete always wakes the owner. */
  remove(object: T): StoreChange<T> | undefined {
    const { namespace, name, resourceVersion, uid } = object.metadata
    this.#see(resourceVersion)
    this.#forget(uid, resourceVersion)
    const key = keyOf(namespace, name)
    const entry = this.#entries.get(key)
    return entry?.object.metadata.uid === uid ? this.#delete(key, entry.object) : undefined
  }

  /** A complete list as of `resourceVersion`. What is missing from it is gone, unless it is younger than the list. */
  replace(objects: ReadonlyArray<T>, resourceVersion: string): ReadonlyArray<StoreChange<T>> {
    const changes: Array<StoreChange<T>> = []
    // A consistent list is never older than what was told before it, unless somebody restored a backup of etcd. Then all
    // that is held is from a future that did not happen.
    if (version(resourceVersion) < this.#seen) changes.push(...this.#clear())
    this.#see(resourceVersion)
    // A list leaves out the steps on the way: nobody knows whether all of them were ours.
    for (const pending of this.#pending.values()) pending.unexplained = true
    const listed = new Set<string>()
    for (const object of objects) {
      listed.add(keyOf(object.metadata.namespace, object.metadata.name))
      const change = this.upsert(object)
      if (change !== undefined) changes.push(change)
    }
    for (const [key, { object }] of this.#entries) {
      if (listed.has(key) || version(object.metadata.resourceVersion) > version(resourceVersion)) continue
      this.#forget(object.metadata.uid, resourceVersion)
      changes.push(this.#delete(key, object))
    }
    return changes
  }

  #await(key: string): Pending<T> {
    const known = this.#pending.get(key)
    if (known !== undefined) return known
    const pending: Pending<T> = {
      base: this.#entries.get(key)?.object,
      writers: 0,
      own: new Set(),
      foreign: new Set(),
      unexplained: false,
      awaited: 0n,
    }
    this.#pending.set(key, pending)
    return pending
  }

  /** Tells what is left to tell, once no write is on its way and the watch has caught up. */
  #settle(key: string, pending: Pending<T>): StoreChange<T> | undefined {
    if (pending.writers > 0 || pending.awaited > 0n) return undefined
    this.#pending.delete(key)
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.hidden || entry.object === pending.base) return undefined
    return pending.unexplained || pending.foreign.size > 0 ? { before: pending.base, after: entry.object } : undefined
  }

  #see(resourceVersion: string): void {
    const seen = version(resourceVersion)
    if (seen > this.#seen) this.#seen = seen
  }

  #clear(): ReadonlyArray<StoreChange<T>> {
    const changes = [...this.#entries].map(([key, { object }]) => this.#delete(key, object))
    this.#pending.clear()
    this.#gone.clear()
    this.#seen = 0n
    return changes
  }

  #set(key: string, entry: Entry<T>): void {
    const old = this.#entries.get(key)
    this.#entries.set(key, entry)
    const places = this.#places(entry.object)
    if (old !== undefined) for (const place of this.#places(old.object)) if (!places.includes(place)) this.#leave(place, key)
    for (const place of places) {
      const keys = this.#indexes.get(place)
      if (keys === undefined) this.#indexes.set(place, new Set([key]))
      else keys.add(key)
    }
  }

  #delete(key: string, object: T): StoreChange<T> {
    this.#entries.delete(key)
    for (const place of this.#places(object)) this.#leave(place, key)
    const pending = this.#pending.get(key)
    const before = pending?.base ?? object
    if (pending !== undefined) {
      pending.base = undefined
      pending.awaited = 0n
      if (pending.writers === 0) this.#pending.delete(key)
    }
    return { before, after: undefined }
  }

  #places(object: T): ReadonlyArray<string> {
    return this.#indexer(object).map(([index, value]) => indexKey(index, value))
  }

  #leave(place: string, key: string): void {
    const keys = this.#indexes.get(place)
    keys?.delete(key)
    if (keys?.size === 0) this.#indexes.delete(place)
  }

  #isGone({ metadata: { resourceVersion, uid } }: T): boolean {
    const end = this.#gone.get(uid)
    return end !== undefined && version(resourceVersion) <= end
  }

  #forget(uid: string, resourceVersion: string): void {
    this.#gone.set(uid, version(resourceVersion))
    if (this.#gone.size > remembered) for (const oldest of this.#gone.keys()) return void this.#gone.delete(oldest)
  }
}

/** Without finalizers a terminating object is gone with the write that took the last one away. */
const isEnded = ({ metadata }: KubernetesObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0

/** resourceVersions of one kind grow: what every API server does, and what the API promises since 1.35. */
const isNewer = (a: KubernetesObject, b: KubernetesObject): boolean =>
  version(a.metadata.resourceVersion) > version(b.metadata.resourceVersion)

const version = (text: string): bigint => (/^\d+$/.test(text) ? BigInt(text) : 0n)

/** Namespaces and names have no slash; a cluster-scoped object's key has none either. */
const keyOf = (namespace: string | undefined, name: string): string => (namespace === undefined ? name : `${namespace}/${name}`)

const indexKey = (index: string, value: string): string => `${index} ${value}`

const byName = (a: KubernetesObject, b: KubernetesObject): number =>
  compare(a.metadata.name, b.metadata.name) || compare(a.metadata.namespace ?? "", b.metadata.namespace ?? "")

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
