import type { OperatorProcess } from "../sandbox/operator-process.ts"

const everyMs = 200

/** Bytes of resident memory of the operator in a stretch of time. */
export interface Memory {
  readonly median: number
  readonly max: number
}

/** Samples the resident set of the operator that runs at the moment. */
export class MemorySampler {
  readonly #timer: NodeJS.Timeout
  #samples: Array<number> = []
  #peak = 0

  /** `operator` names the process; undefined while there is none. */
  constructor(operator: () => OperatorProcess | undefined) {
    this.#timer = setInterval(() => {
      try {
        const memory = operator()?.memory()
        if (memory === undefined) return
        this.#samples.push(memory.now)
        this.#peak = Math.max(this.#peak, memory.peak)
      } catch {
        // It ended between the question and the look; the next one starts soon or the run fails elsewhere.
      }
    }, everyMs)
    this.#timer.unref()
  }

  /** The most that any of the processes ever had (VmHWM), which no sampling misses. */
  get peak(): number {
    return this.#peak
  }

  /** Samples since the last call. */
  take(): Memory {
    const sorted = this.#samples.toSorted((left, right) => left - right)
    this.#samples = []
    return { median: sorted[sorted.length >> 1] ?? 0, max: sorted.at(-1) ?? 0 }
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
