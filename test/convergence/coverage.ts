/** What a set of random histories has seen: without it, a law that held may never have been put to the test. */

/** What at least one history in twenty must have seen, or the laws were not put to the test. */
const wanted: ReadonlyArray<string> = [
  "rollback mid-drain",
  "rollback to a resting version",
  "half-superseded",
  "collision",
  "outage over a deadline",
  "crash between register and record",
  "autoscaling",
  "suspension",
  "deletion by force",
  "crash",
  "crash at a call",
  "lost answer",
  "error",
  "conflict",
  "outage",
  "query answers 500",
  "stale cache",
  "deletion with work",
  "made again",
  "two objects",
  "a version that never starts",
  "no faults",
]

export class Coverage {
  readonly #seen = new Map<string, number>()
  #histories = 0

  /** One history, and what happened in it. */
  add(touched: Iterable<string>): void {
    this.#histories += 1
    for (const what of touched) this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1)
  }

  /** Shares in percent, the commonest first. */
  get lines(): ReadonlyArray<string> {
    return [...this.#seen]
      .toSorted(([, a], [, b]) => b - a)
      .map(([what, count]) => `${((100 * count) / this.#histories).toFixed(1).padStart(5)} % ${what}`)
  }

  /** What fewer than one history in twenty have seen. */
  get missing(): ReadonlyArray<string> {
    return wanted.filter((what) => (this.#seen.get(what) ?? 0) < this.#histories / 20)
  }
}
