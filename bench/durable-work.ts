import { waitFor } from "../sandbox/wait.ts"
import { type Endpoint, serviceOf } from "./endpoint.ts"
import { inParallel } from "./parallel.ts"

/** The durable-execution server as the bench uses it: directly, past the proxy that measures the operator. */
export class DurableWork {
  readonly #adminUrl: string
  readonly #ingressUrl: string
  readonly #endpoint: Endpoint

  constructor(urls: { readonly adminUrl: string; readonly ingressUrl: string }, endpoint: Endpoint) {
    this.#adminUrl = urls.adminUrl
    this.#ingressUrl = urls.ingressUrl
    this.#endpoint = endpoint
  }

  /** Starts one invocation on each service that does not end, and waits until all are pinned to the version they run on. */
  async begin(count: number): Promise<void> {
    await inParallel(Array(count).keys(), 10, (index) => post(`${this.#ingressUrl}/${serviceOf(index)}/hold/send`, {}))
    await waitFor("the invocations to be pinned", async () => this.#endpoint.held.size === count && (await this.pinned()) === count, {
      timeoutMs: 120_000,
      everyMs: 250,
    })
  }

  /** Lets all of them end. */
  async finish(): Promise<void> {
    const ids = [...this.#endpoint.held.values()]
    await inParallel(ids, 10, (id) => post(`${this.#ingressUrl}/restate/awakeables/${id}/resolve`, "done"))
    await waitFor("the invocations to end", async () => (await this.pinned()) === 0, { timeoutMs: 120_000, everyMs: 250 })
  }

  /** Unfinished invocations that are pinned to a version. */
  async pinned(): Promise<number> {
    return this.#count("SELECT COUNT(*) AS n FROM sys_invocation_status WHERE pinned_deployment_id IS NOT NULL AND status <> 'completed'")
  }

  /** Versions that the server knows. */
  async registered(): Promise<number> {
    return this.#count("SELECT COUNT(*) AS n FROM sys_deployment")
  }

  async #count(query: string): Promise<number> {
    const { rows }: { readonly rows: ReadonlyArray<{ readonly n: number }> } = JSON.parse(await post(`${this.#adminUrl}/query`, { query }))
    return rows[0]?.n ?? 0
  }
}

/** Sends JSON and returns the text of a good answer. */
export const post = async (url: string, body: unknown): Promise<string> => {
  const headers = { "content-type": "application/json", accept: "application/json" }
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(`POST ${new URL(url).pathname} answered ${response.status}: ${text.slice(0, 200)}`)
  return text
}
