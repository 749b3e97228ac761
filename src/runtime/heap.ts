/** Something that waits for its time. `slot` belongs to the heap: the place of the entry in it, or -1. */
export interface Timed {
  at: number
  slot: number
}

/**
 * A binary heap, earliest first, whose entries can be moved and taken out. Each entry is in it once: a key that is put
 * off and brought forward a thousand times takes the room of one.
 */
export class Heap<T extends Timed> {
  readonly #entries: Array<T> = []

  get size(): number {
    return this.#entries.length
  }

  /** The entry whose time comes first. */
  peek(): T | undefined {
    return this.#entries[0]
  }

  /** Puts an entry in, or to its new place after its time has changed. */
  place(entry: T): void {
    if (entry.slot < 0) entry.slot = this.#entries.length
    this.#settle(entry, entry.slot)
  }

  remove(entry: T): void {
    if (entry.slot < 0) return
    const slot = entry.slot
    entry.slot = -1
    const last = this.#entries.pop()
    if (last !== undefined && last !== entry) this.#settle(last, slot)
  }

  /** Moves an entry from a free slot up or down to where it belongs. */
  #settle(entry: T, free: number): void {
    const entries = this.#entries
    let slot = free
    for (;;) {
      const parent = (slot - 1) >> 1
      const above = slot > 0 ? entries[parent] : undefined
      if (above === undefined || above.at <= entry.at) break
      this.#put(above, slot)
      slot = parent
    }
    for (;;) {
      const left = 2 * slot + 1
      let child = left
      const [a, b] = [entries[left], entries[left + 1]]
      if (a !== undefined && b !== undefined && b.at < a.at) child = left + 1
      const below = entries[child]
      if (below === undefined || below.at >= entry.at) break
      this.#put(below, slot)
      slot = child
    }
    this.#put(entry, slot)
  }

  #put(entry: T, slot: number): void {
    this.#entries[slot] = entry
    entry.slot = slot
  }
}
