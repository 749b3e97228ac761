/** An HTTP server that answers as a test tells it to. */
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

export interface FakeServer {
  readonly url: URL
  /** `GET /path` of every request so far. */
  readonly requests: ReadonlyArray<string>
  /** Authorization headers of every request so far. */
  readonly credentials: ReadonlyArray<string>
  /** TCP connections made so far. */
  readonly connections: () => number
  /** Requests whose client went away before the answer was finished. */
  readonly abandoned: () => number
}

/** Serves until the scope ends. */
export const fakeServer = (
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Effect.Effect<FakeServer, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly close: () => void; readonly fake: FakeServer }>((resume) => {
        const requests: Array<string> = []
        const credentials: Array<string> = []
        let connections = 0
        let abandoned = 0
        const server = createServer((request, response) => {
          requests.push(`${request.method ?? ""} ${request.url ?? ""}`)
          credentials.push(request.headers.authorization ?? "")
          response.on("close", () => {
            if (!response.writableFinished) abandoned += 1
          })
          request.resume()
          answer(request, response, requests.length)
        })
        server.on("connection", () => void connections++)
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" && address !== null ? address.port : 0
          const close = () => {
            server.closeAllConnections()
            server.close()
          }
          resume(
            Effect.succeed({
              close,
              fake: {
                url: new URL(`http://127.0.0.1:${port}`),
                requests,
                credentials,
                connections: () => connections,
                abandoned: () => abandoned,
              },
            }),
          )
        })
      }),
      ({ close }) => Effect.sync(close),
    ),
    ({ fake }) => fake,
  )

/** A JSON answer. */
export const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}
