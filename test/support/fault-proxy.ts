/**
 * A proxy before one of the operator's two servers. Everything passes until a test says otherwise; the test sees each
 * write before it reaches the server and after it was answered, and may cut the wire at either moment.
 */
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

/** What happens to a request. `lose`: the server carries it out, the answer never arrives. */
export type Fate = "pass" | "drop" | "lose"

export interface ProxiedRequest {
  readonly method: string
  /** Path with query; for an admin call the whole URL. */
  readonly url: string
}

/** Asked once before a request is sent on; for `lose` the answer is awaited before the wire is cut. */
export type Judge = (request: ProxiedRequest) => Fate

export interface Upstream {
  /** Base URL of the server, or of the HTTP proxy that leads to it. */
  readonly url: string
  readonly ca?: string
}

export class FaultProxy {
  readonly #server: http.Server
  readonly #agent: http.Agent
  readonly #upstream: URL
  /** Replaced by tests; everything passes by default. */
  judge: Judge = () => "pass"
  /** Called when the fate of a request has been carried out and it was not `pass`. */
  onFault: (request: ProxiedRequest, fate: Fate) => void = () => {}
  readonly seen: Array<ProxiedRequest & { readonly status: number }> = []

  private constructor(upstream: Upstream) {
    this.#upstream = new URL(upstream.url)
    const secure = this.#upstream.protocol === "https:"
    this.#agent = secure
      ? new https.Agent({ keepAlive: true, ...(upstream.ca === undefined ? {} : { ca: upstream.ca }) })
      : new http.Agent({ keepAlive: true })
    this.#server = http.createServer((request, response) => void this.#forward(request, response))
  }

  static async start(upstream: Upstream): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream)
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve))
    return proxy
  }

  get url(): string {
    const { port }: Pick<AddressInfo, "port"> = addressOf(this.#server)
    return `http://127.0.0.1:${port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#agent.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #forward(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const proxied = { method: request.method ?? "GET", url: request.url ?? "/" }
    const fate = this.judge(proxied)
    if (fate === "drop") {
      request.socket.destroy()
      this.onFault(proxied, fate)
      return
    }
    const upstream = (this.#upstream.protocol === "https:" ? https : http).request({
      host: this.#upstream.hostname,
      port: this.#upstream.port,
      agent: this.#agent,
      method: proxied.method,
      // A request to a proxy carries the whole URL, one to a server only the path: both go on as they came.
      path: proxied.url,
      headers: request.headers,
    })
    upstream.on("error", () => request.socket.destroy())
    response.on("close", () => upstream.destroy())
    upstream.on("response", (answer) => {
      this.seen.push({ ...proxied, status: answer.statusCode ?? 0 })
      if (fate === "lose") {
        void text(answer).then(() => {
          request.socket.destroy()
          this.onFault(proxied, fate)
        })
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      // A watch of a kind without objects has nothing to say for a minute; its client waits for this much.
      response.flushHeaders()
      answer.pipe(response)
    })
    request.pipe(upstream)
  }
}

const addressOf = (server: http.Server): AddressInfo => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the proxy does not listen on a port")
  return address
}

/** A request that changes something on its server; questions in SQL are POSTs that do not. */
export const isWrite = ({ method, url }: ProxiedRequest): boolean => method !== "GET" && !url.split("?")[0]?.endsWith("/query")

/** One line for tables. */
export const describeRequest = ({ method, url }: ProxiedRequest): string =>
  `${method} ${url
    .replace(/^http:\/\/[^/]+/, "")
    .replace(/\?.*$/, "")
    .replace(/dp_\w+/, "dp_…")
    .replace(/-[0-9a-f]{8,11}\b/, "-<hash>")}`
