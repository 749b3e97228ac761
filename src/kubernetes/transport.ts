/** Requests to the API server: one keep-alive agent, bounded, interruptible, counted. Knows HTTP, not Kubernetes' objects. */
import { Context, Duration, Effect, Layer, Metric, type Scope, Semaphore } from "effect"
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { Unavailable } from "../errors.ts"
import type { Verb } from "./access.ts"
import { oneLine } from "./answers.ts"
import type { Connection, Credentials } from "./credentials.ts"
import { type Lines, linesOf } from "./lines.ts"

export interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** Path and query. */
  readonly path: string
  readonly body?: string
  readonly contentType?: string
  /** For the counter: what it means and to which resource. Both come from the access table, so there are few. */
  readonly verb: Verb
  readonly resource: string
}

export interface Answer {
  readonly status: number
  readonly text: string
}

export class Transport extends Context.Service<
  Transport,
  {
    /** One question, one whole answer of any status, within 30 s. 429 with Retry-After is waited for and asked again, at most three times. */
    readonly send: (request: Request) => Effect.Effect<Answer, Unavailable>
    /** Starts a GET that goes on until the scope ends. Anything but 200 comes back whole. */
    readonly open: (request: Request) => Effect.Effect<Answer | Lines, Unavailable, Scope.Scope>
  }
>()("service-operator/kubernetes/Transport") {
  /** `metric` is the name of the request counter. */
  static readonly layer = (connection: Connection, metric: string): Layer.Layer<Transport> =>
    Layer.effect(Transport, make(connection, metric))
}

/** How long until a request counts as lost; a watch has this long to begin. */
const patience = Duration.seconds(30)

/** Longest Retry-After that is waited for in the request itself; the API server says 1 s when it is full. */
const longestRetryAfter = 5

/** Writes in flight. More do not make an API server faster, measured: above 10 only the latency grows. */
const writes = 12
/** Reads in flight: live reads and pages of lists. */
const reads = 8
/** Sockets: all of the above and a watch for each kind, so that no request ever waits behind a watch. */
const sockets = 64

const make = Effect.fnUntraced(function* (connection: Connection, metric: string) {
  const secure = connection.server.protocol === "https:"
  const options = { keepAlive: true, maxSockets: sockets, maxFreeSockets: 16 }
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => (secure ? new HttpsAgent(options) : new HttpAgent(options))),
    (agent) => Effect.sync(() => agent.destroy()),
  )
  const base = connection.server.pathname.replace(/\/$/, "")
  const { hostname, port } = connection.server
  const places = { read: yield* Semaphore.make(reads), write: yield* Semaphore.make(writes) }
  const count = counter(metric)

  const start = (
    request: Request,
    { headers, tls }: Credentials,
    onAnswer: (message: IncomingMessage) => void,
    onError: (error: Error, retry: boolean) => void,
  ): ClientRequest => {
    const { body, contentType, method, path } = request
    const outgoing = (secure ? httpsRequest : httpRequest)({
      // The URL parser keeps the brackets of an IPv6 address; the resolver does not want them.
      hostname: hostname.replace(/^\[|\]$/g, ""),
      ...(port === "" ? {} : { port }),
      path: base + path,
      method,
      agent,
      ...definedOnly(tls),
      headers: {
        ...headers,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": contentType ?? "application/json", "content-length": Buffer.byteLength(body) }),
      },
    })
    outgoing.on("response", onAnswer)
    // A socket that the server closed while it lay idle: nothing was answered, and a new one will do.
    outgoing.on("error", (error) => onError(error, outgoing.reusedSocket && "code" in error && error.code === "ECONNRESET"))
    outgoing.end(body)
    return outgoing
  }

  /** Up to the headers. What is not finished when the scope ends is destroyed; a finished request leaves its socket to the next. */
  const begin = Effect.fnUntraced(function* (request: Request): Effect.fn.Return<IncomingMessage, Unavailable, Scope.Scope> {
    const credentials = yield* connection.credentials
    let current: ClientRequest | undefined
    let answer: IncomingMessage | undefined
    let over = false
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        // A request that is given up ends as if its server had closed the socket. It must not be sent again, behind our back.
        over = true
        if (answer?.complete !== true) current?.destroy()
      }),
    )
    const message = yield* Effect.callback<IncomingMessage, Unavailable>((resume) => {
      const attempt = (last: boolean) => {
        current = start(
          request,
          credentials,
          (message) => {
            answer = message
            resume(Effect.succeed(message))
          },
          (error, retry) => {
            if (retry && !last && !over) attempt(true)
            else resume(Effect.fail(broken(request, error)))
          },
        )
      }
      attempt(false)
    })
    if (message.statusCode === 401) yield* connection.forget
    return message
  })

  const once = (request: Request) =>
    Effect.scoped(
      Effect.flatMap(begin(request), (message) =>
        Effect.map(textOf(request, message), (text) => ({ status: message.statusCode ?? 0, text, retryAfter: retryAfter(message) })),
      ),
    ).pipe(
      Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(silent(request)) }),
      Effect.tap((answer) => count(request, String(answer.status))),
      Effect.tapError(() => count(request, "none")),
    )

  const patiently = (request: Request, tries: number): Effect.Effect<Answer, Unavailable> =>
    Effect.flatMap(once(request), (answer) =>
      answer.status === 429 && answer.retryAfter !== undefined && answer.retryAfter <= longestRetryAfter && tries > 1
        ? Effect.delay(patiently(request, tries - 1), Duration.seconds(answer.retryAfter))
        : Effect.succeed(answer),
    )

  return Transport.of({
    send: (request) => (request.method === "GET" ? places.read : places.write).withPermit(patiently(request, 4)),
    open: (request) =>
      begin(request).pipe(
        Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(silent(request)) }),
        Effect.tapError(() => count(request, "none")),
        Effect.tap((message) => count(request, String(message.statusCode ?? 0))),
        Effect.flatMap((message): Effect.Effect<Answer | Lines, Unavailable> =>
          message.statusCode === 200
            ? Effect.sync(() => linesOf(message))
            : Effect.map(
                textOf(request, message).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(silent(request)) })),
                (text) => ({ status: message.statusCode ?? 0, text }),
              ),
        ),
      ),
  })
})

/** Counts answers. `code` is the HTTP status, `none` when there was no answer. */
const counter = (name: string) => {
  const total = Metric.counter(name, { description: "Requests to the Kubernetes API server", incremental: true })
  const series = new Map<string, ReturnType<typeof withLabels>>()
  const withLabels = (request: Request, code: string) =>
    Metric.withAttributes(total, { verb: request.verb, resource: request.resource, code })
  return (request: Request, code: string): Effect.Effect<void> => {
    const key = `${request.verb} ${request.resource} ${code}`
    const one = series.get(key) ?? withLabels(request, code)
    series.set(key, one)
    return Metric.update(one, 1)
  }
}

/** The whole body as text. */
const textOf = (request: Request, message: IncomingMessage): Effect.Effect<string, Unavailable> =>
  Effect.callback<string, Unavailable>((resume) => {
    const chunks: Array<Buffer> = []
    message.on("data", (chunk: Buffer) => chunks.push(chunk))
    message.on("end", () => resume(Effect.sync(() => Buffer.concat(chunks).toString())))
    message.on("error", (error) => resume(Effect.fail(broken(request, error))))
  })

/** Seconds; the header's date form is not used by API servers. */
const retryAfter = (message: IncomingMessage): number | undefined => {
  const seconds = Number(message.headers["retry-after"] ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

const broken = ({ method, path }: Request, error: Error): Unavailable =>
  new Unavailable({
    server: "kubernetes",
    detail: oneLine(`${method} ${path.split("?")[0] ?? path}: ${error.message || ("code" in error ? String(error.code) : error.name)}`),
  })

const silent = ({ method, path }: Request): Unavailable =>
  new Unavailable({
    server: "kubernetes",
    detail: oneLine(`${method} ${path.split("?")[0] ?? path}: no answer within ${Duration.toSeconds(patience)} s`),
  })

/** Node takes an option that is there but undefined for a wish. */
const definedOnly = <T extends object>(options: T): Partial<T> => {
  const kept: Partial<T> = { ...options }
  for (const key in kept) if (kept[key] === undefined) delete kept[key]
  return kept
}
