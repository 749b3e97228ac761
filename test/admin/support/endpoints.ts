/** SDK endpoints inside the test's process, and addresses that behave badly. */
import { createServer as createPlainServer, type Server } from "node:http"
import { createServer } from "node:http2"
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net"
import * as restate from "@restatedev/restate-sdk"
import { Effect, type Scope } from "effect"

/** Lets the handlers `hold` go on that wait before their first journal entry. */
export class Gate {
  #waiting: Array<() => void> = []
  readonly wait = (): Promise<void> => new Promise((resolve) => this.#waiting.push(resolve))
  open(): void {
    for (const go of this.#waiting.splice(0)) go()
  }
}

/** A service whose handlers do what a drain must cope with. */
export const greeter = (name: string, tag: string, gate: Gate) =>
  restate.service({
    name,
    handlers: {
      fast: async (): Promise<string> => tag,
      /** Pinned: its first entry is in the journal. */
      sleepy: async (context: restate.Context): Promise<void> => context.sleep(3_600_000),
      /** Runs its first attempt without an entry until the gate opens, then sleeps. */
      hold: async (context: restate.Context): Promise<void> => {
        await gate.wait()
        await context.sleep(3_600_000)
      },
      /** Fails before its first entry, again and again. */
      boom: async (): Promise<never> => Promise.reject(new Error(tag)),
    },
  })

/** The same name as another kind of service: a breaking change. */
export const objectNamed = (name: string) => restate.object({ name, handlers: { fast: async (): Promise<string> => "object" } })

type Definition = ReturnType<typeof greeter> | ReturnType<typeof objectNamed>

interface Listening {
  readonly listen: (port: number, host: string, started: () => void) => unknown
  readonly address: () => AddressInfo | string | null
  readonly close: () => unknown
}

const listening = (make: () => { readonly server: Listening; readonly cut: () => void }): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly url: string; readonly cut: () => void; readonly server: Listening }>((resume) => {
        const { server, cut } = make()
        server.listen(0, "127.0.0.1", () =>
          resume(Effect.succeed({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, server })),
        )
      }),
      ({ cut, server }) =>
        Effect.sync(() => {
          server.close()
          cut()
        }),
    ),
    ({ url }) => url,
  )

/** The URL of an endpoint with these services, over HTTP/2 or HTTP/1.1. */
export const endpoint = (services: ReadonlyArray<Definition>, protocol: "h2" | "http1" = "h2"): Effect.Effect<string, never, Scope.Scope> =>
  listening(() => {
    const options = { services: [...services], logger: () => {} }
    if (protocol === "http1") {
      const server: Server = createPlainServer(restate.createEndpointHandler({ ...options, bidirectional: false }))
      return { server, cut: () => server.closeAllConnections() }
    }
    const server = createServer(restate.createEndpointHandler(options))
    const sessions = new Set<{ destroy: () => void }>()
    server.on("session", (session) => sessions.add(session))
    return { server, cut: () => sessions.forEach((session) => session.destroy()) }
  })

/** Accepts connections and never says a word. */
export const silentEndpoint: Effect.Effect<string, never, Scope.Scope> = listening(() => {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
  })
  return { server, cut: () => sockets.forEach((socket) => socket.destroy()) }
})
