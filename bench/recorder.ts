import type { AdminRecord } from "./admin-record.ts"
import { isWatch, type RequestRecord } from "./request-record.ts"

/** What the operator did in a stretch of time. */
export interface Recorded {
  readonly kubernetes: ReadonlyArray<RequestRecord>
  readonly admin: ReadonlyArray<AdminRecord>
}

/** Keeps what both proxies see until it is taken. */
export class Recorder {
  #kubernetes: Array<RequestRecord> = []
  #admin: Array<AdminRecord> = []
  #lastAt = 0
  readonly #trace: (record: RequestRecord | AdminRecord) => void

  /** `trace` is told every request, for those who want to see each of them. */
  constructor(trace: (record: RequestRecord | AdminRecord) => void = () => {}) {
    this.#trace = trace
  }

  addKubernetes(record: RequestRecord): void {
    if (!isWatch(record)) this.#lastAt = Date.now()
    this.#kubernetes.push(record)
    this.#trace(record)
  }

  addAdmin(record: AdminRecord): void {
    this.#admin.push(record)
    this.#trace(record)
  }

  /** Everything since the last call of this function, and forgets it. */
  take(): Recorded {
    const taken = { kubernetes: this.#kubernetes, admin: this.#admin }
    this.#kubernetes = []
    this.#admin = []
    return taken
  }

  /** Everything since the last {@link take}, and keeps it. */
  get sofar(): Recorded {
    return { kubernetes: this.#kubernetes, admin: this.#admin }
  }

  /** Milliseconds since the API server was last asked for anything but a list or a watch. */
  get quietFor(): number {
    return Date.now() - this.#lastAt
  }
}
