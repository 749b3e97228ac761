/** A waiting line: first come, first served, and anybody may step out. */
export class Line<T> {
  readonly #waiting = new Set<T>()
  // A set's iterator goes on to what is added later. One that is kept makes the next place cheap, where a new one would
  // walk over all who have left (quadratic with 100 000 entries).
  #cursor = this.#waiting.values()
  #head: T | undefined

  get size(): number {
    return this.#waiting.size
  }

  /** Joins at the end; who is waiting already keeps the place. */
  join(entry: T): void {
    this.#waiting.add(entry)
  }

  leave(entry: T): void {
    this.#waiting.delete(entry)
  }

  /** Who has waited longest. */
  peek(): T | undefined {
    while (this.#head === undefined || !this.#waiting.has(this.#head)) {
      const next = this.#cursor.next()
      if (next.done !== true) {
        this.#head = next.value
        continue
      }
      this.#head = undefined
      this.#cursor = this.#waiting.values()
      if (this.#waiting.size === 0) return undefined
    }
    return this.#head
  }
}
