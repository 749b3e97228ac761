/** Keys that wait for a server to come back: the first answer after a failure wakes them all. */
import type { LookKind } from "../engine/plan.ts"
import type { Key } from "../engine/wake.ts"
import type { Unavailable } from "../errors.ts"

/** What has to answer again: any call, or this look only, because the rest of the server may be well. */
type Cause = "server" | LookKind

// What proxies and overloaded servers say: it is about the server as a whole, not about one call.
const serverStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Whether a failure says that the server is away, and not only that this one call does not work. */
export const isServerFailure = (error: Unavailable): boolean => error.status === undefined || serverStatuses.has(error.status)

export class Recovery {
  readonly #servers = new Map<string, Map<Key, Cause>>()

  failed(server: string, keys: Iterable<Key>, cause: Cause): void {
    const failing = this.#servers.get(server) ?? new Map<Key, Cause>()
    this.#servers.set(server, failing)
    for (const key of keys) failing.set(key, cause)
  }

  /** Keys to wake, each once: those that failed for the server, and for this look when it is one that answered. */
  answered(server: string, look?: LookKind): ReadonlyArray<Key> {
    const failing = this.#servers.get(server)
    if (failing === undefined) return []
    const woken = [...failing].filter(([, cause]) => cause === "server" || cause === look).map(([key]) => key)
    for (const key of woken) failing.delete(key)
    if (failing.size === 0) this.#servers.delete(server)
    return woken
  }

  /** This key has had its answer. */
  forget(server: string, key: Key): void {
    this.#servers.get(server)?.delete(key)
  }
}
