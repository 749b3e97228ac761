/** An HTTP server that answers as a test says, for answers that no admin API should give. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"
import type { AdminServer } from "#src/engine/action.ts"

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface FakeServer {
  readonly port: number
  readonly server: AdminServer
  readonly seen: Array<Seen>
}

/** A server on a free port; its connections are cut when the scope ends. */
export const fakeServer = (
  answer: (request: Seen, response: ServerResponse) => void,
  path = "",
): Effect.Effect<FakeServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<FakeServer & { readonly close: () => void }>((resume) => {
      const seen: Array<Seen> = []
      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const one: Seen = {
            method: request.method ?? "",
            url: request.url ?? "",
            headers: request.headers,
            body: Buffer.concat(chunks).toString(),
          }
          seen.push(one)
          answer(one, response)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const base = `http://127.0.0.1:${port}${path}`
        const close = () => {
          server.close()
          server.closeAllConnections()
        }
        resume(Effect.succeed({ port, server: { key: `url/${base}`, base }, seen, close }))
      })
    }),
    ({ close }) => Effect.sync(close),
  )

/** Answers every request alike. */
export const always =
  (status: number, body: string, headers: { readonly [name: string]: string } = { "content-type": "application/json" }) =>
  (_request: Seen, response: ServerResponse): void => {
    response.writeHead(status, headers)
    response.end(body)
  }
