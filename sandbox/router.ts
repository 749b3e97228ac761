import * as http from "node:http"
import * as http2 from "node:http2"
import { createServer, type Server, type Socket } from "node:net"
import type { Lookup, Target } from "./service-lookup.ts"

/** Answers where an authority leads now. */
export interface Resolver {
  resolve(authority: string): Lookup
}

const preface = Buffer.from("PRI * HTTP/2.0")

/**
 * The sandbox's network: a proxy by authority that leads `name.namespace.svc.cluster.local:port` to a process.
 *
 * One port speaks cleartext HTTP/2 (prior knowledge), which is how the durable-execution server calls endpoints, and
 * plain HTTP/1.1, also in the form in which clients ask a proxy. A name that leads nowhere is answered with 503; on a
 * real network the connection would be refused or the name unknown, which the server treats alike.
 */
export class Router {
  readonly #resolver: Resolver
  readonly #sessions = new Map<string, http2.ClientHttp2Session>()
  readonly #sockets = new Set<Socket>()
  readonly #http1 = http.createServer()
  readonly #http2 = http2.createServer()
  readonly #server: Server

  constructor(resolver: Resolver) {
    this.#resolver = resolver
    this.#http1.on("request", (request, response) => this.#forward1(request, response))
    this.#http2.on("stream", (stream, headers) => this.#forward2(stream, headers))
    // Both ends of the proxy come and go; a broken connection is its streams' affair, never the router's.
    this.#http2.on("sessionError", () => {})
    this.#server = createServer((socket) => this.#accept(socket))
  }

  /** Starts to listen on a port of 127.0.0.1. */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen(port, "127.0.0.1", resolve)
    })
    this.#server.unref()
  }

  /** Cuts every connection. */
  close(): void {
    this.#server.close()
    for (const session of this.#sessions.values()) session.destroy()
    for (const socket of this.#sockets) socket.destroy()
  }

  /** The first bytes tell the two protocols apart. */
  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.unref()
    socket.once("close", () => this.#sockets.delete(socket))
    socket.on("error", () => {})
    socket.once("data", (first: Buffer) => {
      socket.pause()
      const isHttp2 = first.subarray(0, preface.length).equals(preface.subarray(0, first.length))
      socket.unshift(first)
      const server = isHttp2 ? this.#http2 : this.#http1
      server.emit("connection", socket)
      if (!isHttp2) socket.resume()
    })
  }

  #forward2(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): void {
    stream.on("error", () => {})
    const lookup = this.#resolver.resolve(headers[":authority"] ?? headers.host ?? "")
    if ("refused" in lookup) return refuse2(stream, lookup.refused)

    const upstream = this.#session(lookup.target).request(headers)
    let answered = false
    upstream.on("response", (answer) => {
      answered = true
      if (!stream.destroyed && !stream.headersSent) stream.respond(answer)
      upstream.pipe(stream)
    })
    upstream.on("error", (error) => {
      if (!answered) refuse2(stream, error.message)
      else stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
    })
    upstream.on("close", () => {
      if (!stream.closed && upstream.rstCode !== 0) stream.close(upstream.rstCode)
    })
    stream.on("close", () => {
      if (!upstream.closed) upstream.close(http2.constants.NGHTTP2_CANCEL)
    })
    stream.pipe(upstream)
  }

  /** One connection per endpoint, as long as it lasts. */
  #session({ host, port }: Target): http2.ClientHttp2Session {
    const url = `http://${host}:${port}`
    const open = this.#sessions.get(url)
    if (open !== undefined && !open.closed && !open.destroyed) return open
    const session = http2.connect(url)
    session.unref()
    const forget = (): void => {
      if (this.#sessions.get(url) === session) this.#sessions.delete(url)
    }
    session.on("error", forget)
    session.on("goaway", forget)
    session.on("close", forget)
    this.#sessions.set(url, session)
    return session
  }

  #forward1(request: http.IncomingMessage, response: http.ServerResponse): void {
    const asked = new URL(request.url ?? "/", `http://${request.headers.host ?? "unknown"}`)
    const lookup = this.#resolver.resolve(asked.host)
    if ("refused" in lookup) {
      response.writeHead(503, { "content-type": "text/plain" }).end(`${lookup.refused}\n`)
      return
    }
    const upstream = http.request({
      ...lookup.target,
      method: request.method,
      path: asked.pathname + asked.search,
      headers: { ...request.headers, host: asked.host },
    })
    upstream.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    upstream.on("error", (error) => {
      if (response.headersSent) response.destroy()
      else response.writeHead(503, { "content-type": "text/plain" }).end(`${error.message}\n`)
    })
    response.on("close", () => upstream.destroy())
    request.pipe(upstream)
  }
}

// The server quotes the headers in its error, and the same refusal should read the same each time. Node documents the
// option only for the other half of its API.
const undated: http2.ServerStreamResponseOptions & { readonly sendDate: boolean } = { sendDate: false }

const refuse2 = (stream: http2.ServerHttp2Stream, why: string): void => {
  if (stream.destroyed || stream.headersSent) return
  stream.respond({ ":status": 503, "content-type": "text/plain" }, undated)
  stream.end(`${why}\n`)
}
