import type { IncomingMessage } from "node:http"
import { Agent, request, type RequestOptions } from "node:https"
import { createInterface } from "node:readline"
import type { KubernetesObject } from "./kubernetes-types.ts"
import { writeKubeconfig } from "./kubeconfig.ts"

/** An answer of the API server that is not a success. */
export class ApiError extends Error {
  readonly status: number
  /** Kubernetes' own word for it, such as `AlreadyExists`. */
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super(message)
    this.name = "ApiError"
    this.status = status
    this.reason = reason
  }
}

/** One line of a watch. */
export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"
  readonly object: T
}

/** How a patch is meant. */
export type PatchKind = "merge" | "strategic" | "json" | "apply"

const patchTypes: Readonly<Record<PatchKind, string>> = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
}

interface ResourceList {
  readonly resources: ReadonlyArray<{ readonly name: string; readonly kind: string; readonly namespaced: boolean }>
}

/** What a client needs to know about a server. */
export interface Connection {
  readonly server: string
  readonly tls: RequestOptions
  readonly headers: Readonly<Record<string, string>>
  readonly authorityPem: string | undefined
}

const connectionOf = async (kubeconfig: string): Promise<Connection> => {
  // Loaded only here: the library takes up to a second to import.
  const { KubeConfig } = await import("@kubernetes/client-node")
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error(`${kubeconfig} has no current cluster`)
  const tls: RequestOptions = {}
  await config.applyToHTTPSOptions(tls)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(tls.headers ?? {})) {
    if (typeof value === "string") headers[name] = value.trim()
  }
  return { server: cluster.server, tls, headers, authorityPem: tls.ca === undefined ? undefined : String(tls.ca) }
}

/** A small JSON client for the sandbox, demos and tests. Paths are those of the API, such as `/api/v1/namespaces`. */
export class KubernetesClient {
  readonly #connection: Connection
  readonly #agent: Agent
  readonly #resources = new Map<string, ResourceList>()

  constructor(connection: Connection) {
    this.#connection = connection
    const { ca, cert, key, rejectUnauthorized } = connection.tls
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64, ca, cert, key, rejectUnauthorized })
  }

  /** Reads a kubeconfig file and uses its current context. */
  static async fromKubeconfig(kubeconfig: string): Promise<KubernetesClient> {
    return new KubernetesClient(await connectionOf(kubeconfig))
  }

  /** The address of the API server. */
  get server(): string {
    return this.#connection.server
  }

  /** Closes idle connections; the client may still be used. */
  close(): void {
    this.#agent.destroy()
  }

  /** Reads one object; fails with an {@link ApiError} of status 404 when there is none. */
  get<T extends object = KubernetesObject>(path: string): Promise<T> {
    return this.#json<T>("GET", path)
  }

  /** Reads one object; `undefined` when there is none. */
  async find<T extends object = KubernetesObject>(path: string): Promise<T | undefined> {
    try {
      return await this.get<T>(path)
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined
      throw error
    }
  }

  /** Reads all objects of a collection. */
  async list<T extends object = KubernetesObject>(path: string): Promise<ReadonlyArray<T>> {
    return (await this.get<{ readonly items: ReadonlyArray<T> }>(path)).items
  }

  /** Creates an object in a collection. */
  create<T extends object = KubernetesObject>(path: string, object: object): Promise<T> {
    return this.#json<T>("POST", path, object)
  }

  /** Replaces an object. */
  replace<T extends object = KubernetesObject>(path: string, object: object): Promise<T> {
    return this.#json<T>("PUT", path, object)
  }

  /** Patches an object. */
  patch<T extends object = KubernetesObject>(path: string, body: unknown, kind: PatchKind = "merge"): Promise<T> {
    return this.#json<T>("PATCH", path, body, patchTypes[kind])
  }

  /** Server-side apply of a whole manifest, wherever it belongs; the manifest's namespace counts, else `namespace`. */
  async apply<T extends KubernetesObject>(manifest: T, namespace = "default"): Promise<T> {
    const path = await this.pathOf(manifest, namespace)
    return this.patch<T>(`${path}?fieldManager=sandbox&force=true`, manifest, "apply")
  }

  /** Deletes an object; one that is gone already is no error. */
  async delete(path: string, options: object = {}): Promise<void> {
    try {
      await this.#json("DELETE", path, options)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error
    }
  }

  /** The path of an object by its kind, as the server's own discovery says. */
  async pathOf(object: KubernetesObject, namespace = "default"): Promise<string> {
    const { apiVersion, kind, metadata } = object
    if (apiVersion === undefined || kind === undefined) throw new Error(`${metadata.name} has no apiVersion or no kind`)
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const search = (list: ResourceList | undefined) =>
      list?.resources.find((resource) => resource.kind === kind && !resource.name.includes("/"))
    let resource = search(this.#resources.get(root))
    if (resource === undefined) {
      // Not remembered, or the kind is younger than what is remembered.
      const list = await this.get<ResourceList>(root)
      this.#resources.set(root, list)
      resource = search(list)
    }
    if (resource === undefined) throw new Error(`the API server knows no ${kind} in ${apiVersion}`)
    const scope = resource.namespaced ? `/namespaces/${metadata.namespace ?? namespace}` : ""
    return `${root}${scope}/${resource.name}/${metadata.name}`
  }

  /** Calls `onEvent` for each line of a watch until the server ends it (normal) or `signal` does. */
  async watch<T extends object>(path: string, signal: AbortSignal, onEvent: (event: WatchEvent<T>) => void): Promise<void> {
    const response = await this.#send("GET", path, undefined, undefined, signal)
    if ((response.statusCode ?? 0) >= 300) throw await failureOf(response)
    for await (const line of createInterface({ input: response })) {
      const event: WatchEvent<T> | { readonly type: "ERROR"; readonly object: ErrorBody } = JSON.parse(line)
      if (event.type === "ERROR") throw errorOf(event.object, 500)
      onEvent(event)
    }
  }

  /** A token of a ServiceAccount, good for a day. */
  async tokenFor(namespace: string, serviceAccount: string): Promise<string> {
    const answer = await this.create<{ readonly status: { readonly token: string } }>(
      `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 86_400 } },
    )
    return answer.status.token
  }

  /** Writes a kubeconfig with which a program is exactly that ServiceAccount, with its rights and no more. */
  async writeServiceAccountKubeconfig(file: string, namespace: string, serviceAccount: string): Promise<string> {
    const token = await this.tokenFor(namespace, serviceAccount)
    const { server, authorityPem } = this.#connection
    return writeKubeconfig(file, server, authorityPem, serviceAccount, { token }, namespace)
  }

  async #json<T extends object>(method: string, path: string, body?: unknown, contentType = "application/json"): Promise<T> {
    const response = await this.#send(method, path, body, contentType)
    if ((response.statusCode ?? 0) >= 300) throw await failureOf(response)
    const parsed: T = JSON.parse(await textOf(response))
    return parsed
  }

  #send(method: string, path: string, body?: unknown, contentType?: string, signal?: AbortSignal): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers: Record<string, string> = { ...this.#connection.headers, accept: "application/json" }
    if (text !== undefined) {
      // By itself Node sends no length with a DELETE, and the body would be read as the next request.
      headers["content-length"] = String(Buffer.byteLength(text))
      headers["content-type"] = contentType ?? "application/json"
    }
    return new Promise((resolve, reject) => {
      const options: RequestOptions = { method, headers, agent: this.#agent, ...(signal === undefined ? {} : { signal }) }
      const outgoing = request(new URL(this.#connection.server.replace(/\/$/, "") + path), options, resolve)
      outgoing.once("error", reject)
      outgoing.end(text)
    })
  }
}

interface ErrorBody {
  readonly code?: number
  readonly reason?: string
  readonly message?: string
}

const textOf = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString("utf8")
}

const errorOf = (body: ErrorBody, status: number): ApiError =>
  new ApiError(body.code ?? status, body.reason ?? "Unknown", body.message ?? `status ${body.code ?? status}`)

const failureOf = async (response: IncomingMessage): Promise<ApiError> => {
  const text = await textOf(response)
  const status = response.statusCode ?? 0
  try {
    const body: ErrorBody = JSON.parse(text)
    return errorOf(body, status)
  } catch {
    return new ApiError(status, "Unknown", `${status}: ${text.slice(0, 200)}`)
  }
}
