/**
 * A proxy before one of the operator's two servers. Everything passes until a test says otherwise; the test sees each
 * request with its body before it reaches the server, and says what becomes of it. Watches can be held up or cut.
 */
import { Buffer } from "node:buffer"
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { buffer, text } from "node:stream/consumers"

/**
 * What happens to a request. `drop`: cut before the server sees it. `lose`: the server carries it out, the answer never
 * arrives. `refuse`: 500 in its place. `hold`: neither server nor client ever hear of it again. `twice`: the server gets
 * it two times, as from a proxy that tries again, and the second answer counts.
 */
export type Fate = "pass" | "drop" | "lose" | "refuse" | "hold" | "twice"

export interface ProxiedRequest {
  readonly method: string
  /** Path with query; for an admin call the whole URL. */
  readonly url: string
  /** Empty when there is none. */
  readonly body: string
}

/** Asked once before a request is sent on; for `lose` the answer is awaited before the wire is cut. */
export type Judge = (request: ProxiedRequest) => Fate | Promise<Fate>

export interface Upstream {
  /** Base URL of the server, or of the HTTP proxy that leads to it. */
  readonly url: string
  readonly ca?: string
}

/** A request and what its server said to it. */
export interface Answered extends ProxiedRequest {
  readonly status: number
  /** When the request came, milliseconds since 1970. */
  readonly at: number
}

export class FaultProxy {
  readonly #server: http.Server
  readonly #agent: http.Agent
  readonly #upstream: URL
  /** By the path and query that was asked. */
  readonly #watches = new Map<http.IncomingMessage, string>()
  #held: RegExp | undefined
  /** Replaced by tests; everything passes by default. */
  judge: Judge = () => "pass"
  /** Called when the fate of a request has been carried out and it was not `pass`. */
  onFault: (request: ProxiedRequest, fate: Fate) => void = () => {}
  readonly seen: Array<Answered> = []

  private constructor(upstream: Upstream) {
    this.#upstream = new URL(upstream.url)
    const secure = this.#upstream.protocol === "https:"
    this.#agent = secure
      ? new https.Agent({ keepAlive: true, ...(upstream.ca === undefined ? {} : { ca: upstream.ca }) })
      : new http.Agent({ keepAlive: true })
    this.#server = http.createServer((request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy())
    })
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

  /** Events of watches of such URLs, of those to come too, stay in the proxy until `undefined` is said; then they all arrive. */
  holdWatches(which: RegExp | undefined): void {
    this.#held = which
    for (const [watch, url] of this.#watches)
      if (which?.test(url) === true) watch.pause()
      else watch.resume()
  }

  /** Breaks the wire of all watches in the middle of whatever they carry. */
  cutWatches(): void {
    for (const watch of this.#watches.keys()) watch.destroy(new Error("cut"))
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#agent.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const at = Date.now()
    const body = await buffer(request)
    const proxied = { method: request.method ?? "GET", url: request.url ?? "/", body: body.toString("utf8") }
    const fate = await this.judge(proxied)
    if (fate === "drop" || fate === "hold") {
      this.onFault(proxied, fate)
      if (fate === "drop") request.socket.destroy()
      return
    }
    if (fate === "refuse") {
      const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "InternalError", code: 500, message: "planted" }
      response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify(status))
      this.onFault(proxied, fate)
      return
    }
    if (fate === "twice") await text(await this.#send(request, response, body))
    const answer = await this.#send(request, response, body)
    this.seen.push({ ...proxied, at, status: answer.statusCode ?? 0 })
    if (fate === "lose") {
      await text(answer)
      // First: a client that is to be killed here must not have the time to try again.
      this.onFault(proxied, fate)
      request.socket.destroy()
      return
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    // A watch of a kind without objects has nothing to say for a minute; its client waits for this much.
    response.flushHeaders()
    answer.on("error", () => request.socket.destroy())
    answer.pipe(response)
    if (isWatch(proxied)) this.#follow(answer, proxied.url)
    if (fate !== "pass") this.onFault(proxied, fate)
  }

  #follow(watch: http.IncomingMessage, url: string): void {
    this.#watches.set(watch, url)
    watch.once("close", () => this.#watches.delete(watch))
    if (this.#held?.test(url) === true) watch.pause()
  }

  #send(request: http.IncomingMessage, response: http.ServerResponse, body: Buffer): Promise<http.IncomingMessage> {
    const upstream = (this.#upstream.protocol === "https:" ? https : http).request({
      host: this.#upstream.hostname,
      port: this.#upstream.port,
      agent: this.#agent,
      method: request.method,
      // A request to a proxy carries the whole URL, one to a server only the path: both go on as they came.
      path: request.url,
      headers: request.headers,
    })
    // A client that gives up must not leave a call behind that is carried out later.
    response.once("close", () => upstream.destroy())
    upstream.end(body)
    return new Promise((resolve, reject) => upstream.once("response", resolve).on("error", reject))
  }
}

const addressOf = (server: http.Server): AddressInfo => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the proxy does not listen on a port")
  return address
}

export const isWatch = ({ method, url }: Pick<ProxiedRequest, "method" | "url">): boolean => method === "GET" && /[?&]watch=/.test(url)

/** A request that changes something on its server; questions in SQL are POSTs that do not. */
export const isWrite = ({ method, url }: Pick<ProxiedRequest, "method" | "url">): boolean =>
  method !== "GET" && !url.split("?")[0]?.endsWith("/query")

/** One line for tables. */
export const describeRequest = ({ method, url }: Pick<ProxiedRequest, "method" | "url">): string =>
  `${method} ${url
    .replace(/^http:\/\/[^/]+/, "")
    .replace(/\?.*$/, "")
    .replace(/dp_\w+/, "dp_…")
    .replace(/-[0-9a-f]{8,11}\b/, "-<hash>")}`
