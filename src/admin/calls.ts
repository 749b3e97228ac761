/** The six calls of the admin API that the operator makes, typed; nothing is remembered between two of them. */
import { Context, Effect, Layer, Metric } from "effect"
import type { AdminServer } from "../engine/action.ts"
import { type Rejected, Unavailable } from "../errors.ts"
import type { Registration, Routing, Usage } from "./admin.ts"
import { type Answer, refusal } from "./answer.ts"
import { decoder, DeploymentsAnswer, RegistrationAnswer, ServiceAnswer, ServicesAnswer, UsageAnswer } from "./codecs.ts"
import { callName, type Exchange, makeExchange, type Request } from "./http.ts"
import { toUsage, usageStatement } from "./usage.ts"

/** Any failure of a question means that nothing is known: it is never `Rejected`. */
export interface Calls {
  /** `GET /services`: service → deployment id. */
  readonly services: (server: AdminServer) => Effect.Effect<Routing["services"], Unavailable>
  /** `GET /deployments`: id → endpoint and services. */
  readonly deployments: (server: AdminServer) => Effect.Effect<Routing["deployments"], Unavailable>
  /** `GET /services/{name}`: the deployment id, `""` when the server does not know the service. */
  readonly service: (server: AdminServer, name: string) => Effect.Effect<string, Unavailable>
  /** `POST /query` */
  readonly usage: (server: AdminServer) => Effect.Effect<Usage, Unavailable>
  /** `POST /deployments`. Not bounded in time: the lane does that. */
  readonly register: (registration: Registration) => Effect.Effect<Registered, Unavailable | Rejected>
  /** `DELETE /deployments/{id}?force=true`; 404 counts as done. */
  readonly forget: (server: AdminServer, id: string) => Effect.Effect<void, Unavailable | Rejected>
}

export interface Registered {
  readonly id: string
  readonly services: ReadonlyArray<string>
}

export class AdminCalls extends Context.Service<AdminCalls, Calls>()("service-operator/admin/AdminCalls") {}

/** Milliseconds for any call but a registration (operator.md §3.6). */
export const callTimeout = 10_000

export interface CallsOptions {
  /** Where the proxy variables are looked up. */
  readonly environment: NodeJS.ProcessEnv
  /** Prefix of metric names, from the vocabulary. */
  readonly metricsPrefix: string
}

/** The calls over HTTP, counted by method, path template and status. */
export const layerCalls = (options: CallsOptions): Layer.Layer<AdminCalls> =>
  Layer.effect(
    AdminCalls,
    Effect.map(makeExchange(options.environment), (exchange) => makeCalls(exchange, options.metricsPrefix)),
  )

const readServices = decoder(ServicesAnswer)
const readService = decoder(ServiceAnswer)
const readDeployments = decoder(DeploymentsAnswer)
const readUsage = decoder(UsageAnswer)
const readRegistration = decoder(RegistrationAnswer)

const makeCalls = (exchange: Exchange, metricsPrefix: string): Calls => {
  const requests = Metric.counter(`${metricsPrefix}admin_requests_total`, { description: "Calls of admin APIs.", incremental: true })
  const count = (request: Request, code: string) =>
    Metric.update(Metric.withAttributes(requests, { method: request.method, path: template(request.path), code }), 1)

  const send = (server: AdminServer, request: Request): Effect.Effect<Answer, Unavailable> =>
    exchange(server, request).pipe(
      Effect.tap((answer) => count(request, String(answer.status))),
      Effect.tapError((error) => count(request, String(error.status ?? "none"))),
      Effect.onInterrupt(() => count(request, "none")),
    )

  const bounded = (server: AdminServer, request: Request): Effect.Effect<Answer, Unavailable> =>
    send(server, request).pipe(
      Effect.timeoutOrElse({
        duration: callTimeout,
        orElse: () =>
          Effect.fail(new Unavailable({ server: "admin", detail: `${callName(request)}: no answer within ${callTimeout / 1000} s` })),
      }),
    )

  /** A GET or a query: every refusal is "unknown". */
  const ask = Effect.fnUntraced(function* <A>(
    server: AdminServer,
    request: Request,
    read: (call: string, answer: Answer) => Effect.Effect<A, Unavailable>,
  ) {
    const answer = yield* bounded(server, request)
    return answer.status === 200 ? yield* read(callName(request), answer) : yield* Effect.fail(unknown(request, answer))
  })

  return {
    services: (server) =>
      Effect.map(
        ask(server, { method: "GET", path: "/services" }, readServices),
        ({ services }) => new Map(services.map((service) => [service.name, service.deployment_id])),
      ),

    deployments: (server) =>
      Effect.map(
        ask(server, { method: "GET", path: "/deployments" }, readDeployments),
        ({ deployments }) =>
          new Map(
            deployments.map(({ id, uri, arn, services }) => [
              id,
              { endpoint: uri ?? arn ?? "", services: services.map(({ name }) => name).toSorted() },
            ]),
          ),
      ),

    service: Effect.fnUntraced(function* (server, name) {
      const request: Request = { method: "GET", path: `/services/${encodeURIComponent(name)}` }
      const answer = yield* bounded(server, request)
      if (answer.status === 404) return ""
      if (answer.status !== 200) return yield* Effect.fail(unknown(request, answer))
      return (yield* readService(callName(request), answer)).deployment_id
    }),

    usage: (server) => Effect.map(ask(server, { method: "POST", path: "/query", body: { query: usageStatement } }, readUsage), toUsage),

    register: Effect.fnUntraced(function* ({ server, endpoint, force, useHttp11 }) {
      const request: Request = {
        method: "POST",
        path: "/deployments",
        // force always: its default differs between API versions.
        body: { uri: endpoint, force, ...(useHttp11 === undefined ? {} : { use_http_11: useHttp11 }) },
      }
      const answer = yield* send(server, request)
      if (answer.status !== 200 && answer.status !== 201) return yield* Effect.fail(refusal(callName(request), answer))
      const { id, services } = yield* readRegistration(callName(request), answer)
      return { id, services: services.map(({ name }) => name).toSorted() }
    }),

    forget: Effect.fnUntraced(function* (server, id) {
      const request: Request = { method: "DELETE", path: `/deployments/${encodeURIComponent(id)}?force=true` }
      const answer = yield* bounded(server, request)
      if (answer.status === 404 || (answer.status >= 200 && answer.status < 300)) return
      return yield* Effect.fail(refusal(callName(request), answer))
    }),
  }
}

const unknown = (request: Request, answer: Answer): Unavailable => {
  const { detail, status } = refusal(callName(request), answer)
  return new Unavailable({ server: "admin", detail, ...(status === undefined ? {} : { status }) })
}

/** Path without names, for metric labels. */
const template = (path: string): string =>
  path
    .replace(/\?.*$/, "")
    .replace(/^\/deployments\/.+/, "/deployments/{id}")
    .replace(/^\/services\/.+/, "/services/{name}")
