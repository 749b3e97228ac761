/** The operator's own HTTP server: alive, ready, metrics, last pass. Up before anything else is waited for. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { createServer } from "node:http"
import { CannotRun } from "../errors.ts"
import { Readiness } from "../runtime/readiness.ts"

export interface Address {
  readonly host: string
  readonly port: number
}

/** Milliseconds that open requests get when the operator stops. */
const grace = 5_000

/** The four paths, without a server. Probes come every few seconds, so nothing is logged. */
export const routes = Layer.mergeAll(
  HttpRouter.add("GET", "/health", HttpServerResponse.jsonUnsafe("healthy")),
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const { pending, lastPass } = yield* Readiness
      yield* router.add(
        "GET",
        "/ready",
        Effect.map(pending, (pendingControllers) => {
          const ready = pendingControllers.length === 0
          return HttpServerResponse.jsonUnsafe({ ready, pendingControllers }, { status: ready ? 200 : 503 })
        }),
      )
      yield* router.add(
        "GET",
        "/",
        Effect.map(lastPass, (at) => HttpServerResponse.jsonUnsafe({ last_event: new Date(at).toISOString() })),
      )
    }),
  ),
  PrometheusMetrics.layerHttp({ path: "/metrics" }),
)

/** Serves them. `[::]` answers on IPv4 as well; where IPv6 is off, it means 0.0.0.0. */
export const layer = (address: Address): Layer.Layer<never, CannotRun, Readiness> =>
  HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(Layer.provide(listen(address)))

const listen = (address: Address): Layer.Layer<HttpServer.HttpServer, CannotRun> =>
  bind(address).pipe(
    Layer.catchTag("ServeError", ({ cause }) =>
      address.host === "::" && noIPv6.has(codeOf(cause)) ? listen({ ...address, host: "0.0.0.0" }) : refuse(address, cause),
    ),
  )

const bind = ({ host, port }: Address) =>
  NodeHttpServer.layerServer(
    () => {
      const server = createServer()
      const close = server.close.bind(server)
      // A client that neither speaks nor hangs up does not hold up the end of the process.
      server.close = (done) => {
        setTimeout(() => server.closeAllConnections(), grace).unref()
        return close(done)
      }
      return server
    },
    { host, port, gracefulShutdownTimeout: grace },
  )

/** What the kernel answers to a bind on `::` when IPv6 is off. */
const noIPv6: ReadonlySet<string> = new Set(["EAFNOSUPPORT", "EADDRNOTAVAIL", "EINVAL"])

const refuse = (address: Address, cause: unknown) =>
  Layer.effect(HttpServer.HttpServer, Effect.fail(new CannotRun({ sentence: sentence(address, cause) })))

const sentence = (address: Address, cause: unknown): string => {
  const name = `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`
  const code = codeOf(cause)
  if (code === "EADDRINUSE")
    return `Port ${address.port} is in use: stop what listens on ${name}, or choose another address with --http-address.`
  if (code === "EACCES") return `This user may not listen on ${name}: choose a port above 1023 with --http-address.`
  return `The HTTP server cannot listen on ${name} (${code}): choose another address with --http-address.`
}

const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : String(cause))
