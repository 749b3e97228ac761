/** Calls `act` for each item, at most `width` at a time; the first failure ends it once the others have come back. */
export const inParallel = async <T>(items: Iterable<T>, width: number, act: (item: T) => Promise<unknown>): Promise<void> => {
  const iterator = items[Symbol.iterator]()
  const failures: Array<unknown> = []
  const worker = async (): Promise<void> => {
    while (failures.length === 0) {
      const next = iterator.next()
      if (next.done === true) return
      try {
        await act(next.value)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  if (failures.length > 0) throw failures[0]
}

/** Jobs that come in over time, at most `width` at a time. */
export class Workers {
  readonly #waiting: Array<() => Promise<void>> = []
  readonly #width: number
  #running = 0

  constructor(width: number) {
    this.#width = width
  }

  /** Adds a job; it must not fail. */
  add(job: () => Promise<void>): void {
    this.#waiting.push(job)
    if (this.#running < this.#width) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running += 1
    for (let job = this.#waiting.shift(); job !== undefined; job = this.#waiting.shift()) await job()
    this.#running -= 1
  }
}
