/** Is what a write has left behind only what it asked for? */
import { Predicate } from "effect"

/** Fields of metadata that move with every write, whoever wrote what. */
const moving = new Set(["resourceVersion", "generation", "managedFields"])

/** Equality of JSON values; absent and undefined are the same. */
export const equal = (a: unknown, b: unknown): boolean => explained(a, b, undefined)

/** True when two states of one object differ in nothing but what moves with every write. */
export const sameContent = (a: object, b: object): boolean => explainedObject(a, b, undefined)

/** True when every difference between two states of an object is what `written`, a part of the object, says. */
export const explainedObject = (before: object, after: object, written: unknown): boolean => {
  for (const name of names(before, after)) {
    const [old, now, wish] = [at(before, name), at(after, name), at(written, name)]
    if (name === "metadata" ? !explainedMetadata(old, now, wish) : !explained(old, now, wish)) return false
  }
  return true
}

const explainedMetadata = (before: unknown, after: unknown, written: unknown): boolean => {
  for (const name of names(before, after))
    if (!moving.has(name) && !explained(at(before, name), at(after, name), at(written, name))) return false
  return true
}

const explained = (before: unknown, after: unknown, written: unknown): boolean => {
  if (before === after) return true
  if (Array.isArray(after) && Array.isArray(before ?? [])) {
    const old: ReadonlyArray<unknown> = Array.isArray(before) ? before : []
    // Entries of a list have no names here: the list is as before, or it is the one that was written.
    return (
      (old.length === after.length && after.every((value, index) => explained(old[index], value, undefined))) ||
      (written !== undefined && isWritten(after, written))
    )
  }
  if (Predicate.isObject(after) && (before === undefined || Predicate.isObject(before))) {
    // A map that appears or disappears while empty says nothing.
    for (const name of names(before, after)) if (!explained(at(before, name), at(after, name), at(written, name))) return false
    return true
  }
  return written !== undefined && isWritten(after, written)
}

/** The server's value has all that was written, and maybe defaults. */
const isWritten = (after: unknown, written: unknown): boolean => {
  // A merge patch removes by writing null.
  if ((after ?? null) === written) return true
  if (Array.isArray(written))
    return Array.isArray(after) && after.length === written.length && written.every((value, index) => isWritten(after[index], value))
  return (
    Predicate.isObject(written) &&
    Predicate.isObject(after) &&
    Object.keys(written).every((name) => written[name] === undefined || isWritten(after[name], written[name]))
  )
}

const at = (value: unknown, name: string): unknown => (Predicate.isObject(value) ? value[name] : undefined)

const names = (a: unknown, b: unknown): ReadonlySet<string> =>
  new Set([...(Predicate.isObject(a) ? Object.keys(a) : []), ...(Predicate.isObject(b) ? Object.keys(b) : [])])
