/** Which API server, and who we are to it: from KUBECONFIG, `~/.kube/config` or the pod's ServiceAccount. */
import { KubeConfig } from "@kubernetes/client-node"
import { Clock, Data, Effect, Semaphore } from "effect"
import type { RequestOptions } from "node:https"
import { Unavailable } from "../errors.ts"
import { oneLine } from "./answers.ts"

/** Nothing can be asked at all: no usable kubeconfig. `detail` is one sentence for a person, without secrets. */
export class Misconfigured extends Data.TaggedError("Misconfigured")<{ readonly detail: string }> {}

/** What a request needs besides its path. TLS options are part of the agent's key for a socket, so new ones make new sockets. */
export interface Credentials {
  readonly headers: { readonly [name: string]: string }
  readonly tls: Pick<RequestOptions, "ca" | "cert" | "key" | "passphrase" | "pfx" | "rejectUnauthorized" | "servername" | "auth">
}

export interface Connection {
  /** Base URL; paths of the API are appended to its path. */
  readonly server: URL
  /** At most 30 s old: token files, certificate files and exec plugins are asked again then. */
  readonly credentials: Effect.Effect<Credentials, Unavailable>
  /** The server refused the credentials: read everything again at the next request, the kubeconfig itself included. */
  readonly forget: Effect.Effect<void>
}

/** Milliseconds that credentials are used without another look at their files. */
const lifetime = 30_000

/**
 * Opens the kubeconfig that KUBECONFIG names (or `~/.kube/config`, or the pod's own). Makes no request, but reads the
 * credentials once, so that a missing file is found now and not in an hour.
 */
export const connect = Effect.fnUntraced(function* (file?: string) {
  let config = yield* load(file)
  const server = yield* serverOf(config)
  let known: { readonly at: number; readonly credentials: Credentials } | undefined
  const one = yield* Semaphore.make(1)
  const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

  const fresh = Effect.gen(function* () {
    const at = yield* now
    if (known !== undefined && at - known.at < lifetime) return known.credentials
    const credentials = yield* read(config)
    known = { at, credentials }
    return credentials
  })

  yield* fresh.pipe(Effect.catch((error) => new Misconfigured({ detail: error.detail })))

  const connection: Connection = {
    server,
    credentials: one.withPermit(fresh),
    forget: one.withPermit(
      Effect.gen(function* () {
        if (known === undefined) return
        known = undefined
        config = yield* load(file).pipe(Effect.catch(() => Effect.succeed(config)))
      }),
    ),
  }
  return connection
})

const load = (file: string | undefined): Effect.Effect<KubeConfig, Misconfigured> =>
  Effect.try({
    try: () => {
      const config = new KubeConfig()
      if (file === undefined) config.loadFromDefault()
      else config.loadFromFile(file)
      return config
    },
    catch: (cause) => new Misconfigured({ detail: `The kubeconfig cannot be read: ${reason(cause)}.` }),
  })

const serverOf = (config: KubeConfig): Effect.Effect<URL, Misconfigured> =>
  Effect.suspend(() => {
    const cluster = config.getCurrentCluster()
    // The library's last resort is a server on port 8080 of this machine, which nobody has run for years.
    if (cluster === null || (cluster.name === "cluster" && cluster.server === "http://localhost:8080"))
      return new Misconfigured({ detail: "There is no kubeconfig with a current context, and this is not a pod with a ServiceAccount." })
    if (cluster.proxyUrl !== undefined && cluster.proxyUrl !== "")
      return new Misconfigured({ detail: "The kubeconfig names a proxy-url, which is not supported." })
    const url = URL.canParse(cluster.server) ? new URL(cluster.server) : undefined
    return url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")
      ? new Misconfigured({ detail: `The kubeconfig's server is not an http or https URL: ${oneLine(cluster.server)}.` })
      : Effect.succeed(url)
  })

const read = (config: KubeConfig): Effect.Effect<Credentials, Unavailable> =>
  Effect.tryPromise({
    try: async () => {
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      const headers: Record<string, string> = {}
      for (const [name, value] of Object.entries(options.headers ?? {})) {
        // Token files often end in a line break, which is not allowed in a header.
        if (typeof value === "string") headers[name.toLowerCase()] = value.trim()
      }
      const { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername, auth } = options
      return { headers, tls: { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername, auth } }
    },
    catch: (cause) =>
      new Unavailable({ server: "kubernetes", detail: `The credentials of the kubeconfig cannot be read: ${reason(cause)}.` }),
  })

/** Messages of file and YAML errors name paths and places, never contents; an exec plugin's are its own words on stderr. */
const reason = (cause: unknown): string => oneLine(cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, "")
