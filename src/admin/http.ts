/** One exchange with an admin API over node:http: bounded in time by the caller and in size here, redirects not followed. */
import * as http from "node:http"
import * as https from "node:https"
import { Effect, type Scope } from "effect"
import type { AdminServer } from "../engine/action.ts"
import { Unavailable } from "../errors.ts"
import type { Answer } from "./answer.ts"

/** Bytes. 1,000 services are 0.5 MB; what is larger is not an admin API, and a gigabyte must not end the process. */
export const largestAnswer = 8 * 1024 * 1024

/** Milliseconds after which an unused connection is closed: more than a poll's 10 s, less than a dead peer may go unnoticed. */
const idleFor = 15_000

export interface Request {
  readonly method: "GET" | "POST" | "DELETE"
  /** Path and query, appended to the path of the server's base URL. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: { readonly [field: string]: string | boolean }
}

/**
 * Sends one request and reads the whole answer, whatever its status. Interruption closes the connection. `Unavailable`
 * when there is no answer, or only a part of one.
 */
export type Exchange = (server: AdminServer, request: Request) => Effect.Effect<Answer, Unavailable>

/** `GET /services`, as it stands in messages: no host, no query, no body. */
export const callName = (request: Request): string => `${request.method} ${request.path.replace(/\?.*$/, "")}`

/**
 * An exchange over connections that stay open, and through the proxy that the standard variables (`HTTP_PROXY`,
 * `HTTPS_PROXY`, `NO_PROXY`) name, so that an operator outside the cluster can reach names inside it.
 */
export const makeExchange = (environment: NodeJS.ProcessEnv): Effect.Effect<Exchange, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const options = { keepAlive: true, maxFreeSockets: 4, timeout: idleFor, proxyEnv: environment }
        return { "http:": new http.Agent(options), "https:": new https.Agent(options) }
      }),
      (agents) =>
        Effect.sync(() => {
          agents["http:"].destroy()
          agents["https:"].destroy()
        }),
    ),
    (agents): Exchange =>
      (server, request) => {
        const url = target(server.base, request.path)
        if (url === undefined) return Effect.fail(failed(request, "the server's address is not an http or https URL"))
        const send = Effect.callback<Answer, Unavailable | Stale>((resume) => {
          let sent: http.ClientRequest
          try {
            const options = { method: request.method, headers: headers(request) }
            sent =
              url.protocol === "https:"
                ? https.request(url, { ...options, agent: agents["https:"] })
                : http.request(url, { ...options, agent: agents["http:"] })
          } catch {
            // A user name with a stray percent sign, for example. Node's text would quote it.
            return resume(Effect.fail(failed(request, "the server's address cannot be used")))
          }
          receive(sent, request, resume)
          sent.end(request.body === undefined ? undefined : JSON.stringify(request.body))
          return Effect.sync(() => sent.destroy())
        })
        // A server may close an idle connection while we send. All our requests can be repeated; one that met a fresh
        // connection is not stale, so this ends.
        return send.pipe(
          Effect.retry({ while: (error) => error._tag === "Stale", times: 8 }),
          Effect.catchTag("Stale", () => Effect.fail(failed(request, "connection reset (ECONNRESET)"))),
          Effect.map((answer) => ({ ...answer, text: withoutSecrets(answer.text, url) })),
        )
      },
  )

/** A kept connection was found closed before any answer. */
interface Stale {
  readonly _tag: "Stale"
}

const receive = (
  sent: http.ClientRequest,
  request: Request,
  resume: (result: Effect.Effect<Answer, Unavailable | Stale>) => void,
): void => {
  sent.on("error", (error: NodeJS.ErrnoException) => {
    const stale = sent.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE")
    resume(Effect.fail(stale ? { _tag: "Stale" } : failed(request, transportError(error))))
  })
  let begun = false
  sent.on("response", (answer) => {
    begun = true
    const chunks: Array<Buffer> = []
    let size = 0
    answer.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > largestAnswer) {
        resume(Effect.fail(failed(request, `the answer is larger than ${largestAnswer / 1024 / 1024} MiB`, answer.statusCode)))
        sent.destroy()
      } else chunks.push(chunk)
    })
    answer.on("error", () => {})
    // After its end and not at it: by then the connection is free for the request that follows at once.
    answer.on("close", () =>
      resume(
        answer.complete
          ? Effect.succeed({
              status: answer.statusCode ?? 0,
              text: Buffer.concat(chunks).toString("utf8"),
              location: answer.headers.location,
            })
          : Effect.fail(failed(request, "the connection broke off in the middle of the answer", answer.statusCode)),
      ),
    )
  })
  // A proxy that refuses a tunnel, or a server that speaks another protocol, must not leave the caller waiting.
  sent.on("close", () => {
    if (!begun) resume(Effect.fail(failed(request, "the connection was closed without an answer")))
  })
}

/** An answer may echo the header that our credentials stand in, and what is wrong with an answer is quoted in conditions, events and logs. */
const withoutSecrets = (text: string, { username, password }: URL): string => {
  if (username === "" && password === "") return text
  const [user = "", pass = ""] = [username, password].map(decoded)
  const secrets = [Buffer.from(`${user}:${pass}`).toString("base64"), pass, password]
  return secrets.filter((secret) => secret !== "").reduce((clean, secret) => clean.replaceAll(secret, "***"), text)
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const headers = (request: Request): http.OutgoingHttpHeaders => ({
  // Anything else makes /query stream Arrow.
  accept: "application/json",
  ...(request.body === undefined ? {} : { "content-type": "application/json" }),
})

/** The base's own path is kept; its query and fragment are not part of an API's address. */
const target = (base: string, path: string): URL | undefined => {
  if (!URL.canParse(base)) return undefined
  const url = new URL(base)
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined
  const [pathname = "", search = ""] = path.split("?")
  url.pathname = url.pathname.replace(/\/+$/, "") + pathname
  url.search = search
  url.hash = ""
  return url
}

const failed = (request: Request, why: string, status?: number): Unavailable =>
  new Unavailable({ server: "admin", detail: `${callName(request)}: ${why}`, ...(status === undefined ? {} : { status }) })

const known: { readonly [code: string]: string } = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ENOTFOUND: "name not found",
  EAI_AGAIN: "name lookup failed",
  ETIMEDOUT: "connection timed out",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
}

/** By code and not by Node's text, which holds addresses and ports: a message must be the same for the same trouble. */
const transportError = (error: NodeJS.ErrnoException): string => {
  const code = error.code ?? error.name
  const text = known[code]
  return text === undefined ? code : `${text} (${code})`
}
