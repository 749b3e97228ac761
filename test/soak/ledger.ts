/** Who was accepted, who came to an end, on which version, and how often. */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

export interface Entry {
  /** Id of the invocation; absent until it was accepted. */
  id?: string
  /** Deployment it was last seen pinned to. */
  pinnedTo?: string
  /** Answer of its caller, or why there is none. */
  answer?: string
  /** Versions that told of their end: exactly one, unless it ran twice. */
  readonly told: Array<string>
}

/** The entries by key, and the little server that invocations tell their end to. */
export class Ledger {
  readonly entries = new Map<string, Entry>()
  readonly #server = http.createServer((request, response) => {
    void text(request).then((version) => {
      this.entry((request.url ?? "").slice(1)).told.push(version)
      response.end()
    })
  })

  static async open(): Promise<Ledger> {
    const ledger = new Ledger()
    await new Promise<void>((resolve) => ledger.#server.listen(0, "127.0.0.1", resolve))
    return ledger
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  url(key: string): string {
    const { port }: Pick<AddressInfo, "port"> = addressOf(this.#server)
    return `http://127.0.0.1:${port}/${key}`
  }

  entry(key: string): Entry {
    const entry = this.entries.get(key) ?? { told: [] }
    this.entries.set(key, entry)
    return entry
  }

  get accepted(): ReadonlyArray<Entry> {
    return [...this.entries.values()].filter(({ id }) => id !== undefined)
  }

  get completed(): number {
    return this.accepted.filter(({ told }) => told.length > 0).length
  }
}

const addressOf = (server: http.Server): AddressInfo => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the ledger does not listen on a port")
  return address
}
