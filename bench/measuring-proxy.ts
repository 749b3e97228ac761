import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import type { Identity } from "../sandbox/certificates.ts"

/** Where a proxy leads and who is told. */
export interface ProxyOptions {
  /** Base URL of the server behind it. */
  readonly upstream: string
  /** Who vouches for the server, for https. */
  readonly authorityPem?: string
  /** With it the proxy speaks TLS itself, so that its client works as hard as without a proxy. */
  readonly identity?: Identity
  /** Called with each request; the function it returns, with the status of the answer, 0 for none. */
  readonly onRequest: (request: http.IncomingMessage) => (status: number) => void
  /** Another server for this request, as a base URL, or {@link nowhere}. */
  readonly lead?: (request: http.IncomingMessage) => string | undefined
}

/** The request is taken and never answered. */
export const nowhere = "nowhere"

/** A running proxy. */
export interface MeasuringProxy {
  readonly url: string
  close(): void
}

/**
 * A reverse proxy on a port of 127.0.0.1 that passes everything on as it comes, watches too. Figures come from here and
 * not from the operator, which would have to be trusted to count itself.
 */
export const startProxy = async (options: ProxyOptions): Promise<MeasuringProxy> => {
  const { identity, onRequest } = options
  const upstream = new URL(options.upstream)
  const secure = upstream.protocol === "https:"
  const agent = secure ? new https.Agent({ keepAlive: true, ca: options.authorityPem }) : new http.Agent({ keepAlive: true })
  const send = secure ? https.request : http.request

  const forward = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const answered = onRequest(request)
    const led = options.lead?.(request)
    if (led === nowhere) return
    const asked = new URL(request.url ?? "/", upstream)
    const server = led === undefined ? upstream : new URL(led)
    const outgoing = send({
      hostname: server.hostname,
      port: server.port,
      path: asked.pathname + asked.search,
      method: request.method,
      agent,
      headers: { ...endToEnd(request.headers), host: server.host },
    })
    outgoing.on("response", (answer) => {
      answered(answer.statusCode ?? 0)
      response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers))
      // A watch may have nothing to say for minutes, but its client waits for the headers.
      response.flushHeaders()
      answer.pipe(response)
      answer.on("error", () => response.destroy())
    })
    outgoing.on("error", () => {
      if (!response.headersSent) answered(0)
      response.destroy()
    })
    response.on("close", () => outgoing.destroy())
    request.pipe(outgoing)
  }

  const server =
    identity === undefined
      ? http.createServer(forward)
      : https.createServer({ cert: identity.certificatePem, key: identity.keyPem }, forward)
  // A kept connection that is closed on this side would show up as the operator's error.
  server.keepAliveTimeout = 0
  server.on("clientError", (_error, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  server.unref()
  return {
    url: `${identity === undefined ? "http" : "https"}://127.0.0.1:${portOf(server.address())}`,
    close: () => {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}

/** Belongs to one connection only, so a proxy does not pass it on. */
const hopByHop = new Set(["connection", "keep-alive", "proxy-connection"])

const endToEnd = (headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name)))

const portOf = (address: AddressInfo | string | null): number => {
  if (address === null || typeof address === "string") throw new Error("the proxy listens on no port")
  return address.port
}
