import * as http2 from "node:http2"
import * as restate from "@restatedev/restate-sdk"
import { freePort } from "../sandbox/ports.ts"

type Handler = ReturnType<typeof restate.createEndpointHandler>

/** Name of the service that the versions of an object expose. */
export const serviceOf = (index: number): string => `Bench${index}`

/** Path under which registrations that only measure the server find a service of their own. */
export const throwawayPath = (index: number): string => `/throwaway-${index}`

/**
 * The endpoint behind all versions of all objects: one HTTP/2 server that looks at the authority it is called by and
 * answers as the service of that object. Versions of one object expose the same service, as they would in life.
 */
export class Endpoint {
  readonly port: number
  readonly #server: http2.Http2Server
  readonly #sessions = new Set<http2.Http2Session>()
  readonly #handlers = new Map<string, Handler>()
  readonly #held = new Map<string, string>()

  private constructor(port: number) {
    this.port = port
    this.#server = http2.createServer((request, response) => this.#answer(request, response))
    this.#server.on("session", (session) => {
      this.#sessions.add(session)
      session.once("close", () => this.#sessions.delete(session))
      session.on("error", () => {})
    })
  }

  /** Starts to listen on 127.0.0.1. */
  static async start(): Promise<Endpoint> {
    const endpoint = new Endpoint(await freePort())
    await new Promise<void>((resolve, reject) => {
      endpoint.#server.once("error", reject)
      endpoint.#server.listen(endpoint.port, "127.0.0.1", resolve)
    })
    return endpoint
  }

  /** Services with an invocation that waits, and the awakeable that it waits for. */
  get held(): ReadonlyMap<string, string> {
    return this.#held
  }

  /** Cuts every connection. */
  close(): void {
    this.#server.close()
    for (const session of this.#sessions) session.destroy()
  }

  #answer(request: http2.Http2ServerRequest, response: http2.Http2ServerResponse): void {
    const service = serviceAt(request.authority, request.url)
    if (service === undefined) {
      response.writeHead(404).end()
      return
    }
    let handler = this.#handlers.get(service)
    if (handler === undefined) {
      handler = restate.createEndpointHandler({ services: [this.#service(service)], logger: silent })
      this.#handlers.set(service, handler)
    }
    handler(request, response)
  }

  #service(name: string) {
    return restate.service({
      name,
      handlers: {
        /** Waits until the bench lets go: work that is pinned to the version it began on. */
        hold: async (context: restate.Context): Promise<string> => {
          // Pinning is lazy: an invocation belongs to a version from its first journal entry on, which an awakeable is not.
          await context.run("began", () => true)
          const { id, promise } = context.awakeable<string>()
          this.#held.set(name, id)
          const answer = await promise
          this.#held.delete(name)
          return answer
        },
      },
    })
  }
}

/** `bench-17-<hash>.bench.svc.cluster.local:9080` is `Bench17`. */
const serviceAt = (authority: string, path: string): string | undefined => {
  const index = /^bench-(\d+)-/.exec(authority)?.[1]
  if (index !== undefined) return serviceOf(Number(index))
  const throwaway = /^\/throwaway-(\d+)\//.exec(path)?.[1]
  return throwaway === undefined ? undefined : `Throwaway${throwaway}`
}

/** The SDK tells of every invocation, on the terminal where the table stands. */
const silent = (): void => {}
