import { setTimeout as sleep } from "node:timers/promises"
import { ApiError, type KubernetesClient } from "./kubernetes-client.ts"
import type { KubernetesObject } from "./kubernetes-types.ts"

/** What changed: the object as it is now, or as it was when it went. */
export type Change<T> = { readonly kind: "there" | "gone"; readonly object: T }

interface Page<T> {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: ReadonlyArray<T>
}

/** A collection of the API server, kept up to date by list and watch until it is closed. */
export class Reflector<T extends KubernetesObject> {
  readonly #items = new Map<string, T>()
  readonly #abort = new AbortController()
  readonly #client: KubernetesClient
  readonly #path: string
  readonly #onChange: (change: Change<T>) => void
  #running: Promise<void> = Promise.resolve()

  private constructor(client: KubernetesClient, path: string, onChange: (change: Change<T>) => void) {
    this.#client = client
    this.#path = path
    this.#onChange = onChange
  }

  /** Returns after the first complete list. */
  static async start<T extends KubernetesObject>(
    client: KubernetesClient,
    path: string,
    onChange: (change: Change<T>) => void = () => {},
  ): Promise<Reflector<T>> {
    const reflector = new Reflector<T>(client, path, onChange)
    const version = await reflector.#list()
    reflector.#running = reflector.#follow(version)
    return reflector
  }

  /** All objects as they are known now. */
  values(): Iterable<T> {
    return this.#items.values()
  }

  /** One object; the namespace is empty for those that have none. */
  find(namespace: string, name: string): T | undefined {
    return this.#items.get(`${namespace}/${name}`)
  }

  /** Ends the watch; nothing is reported afterwards. */
  async close(): Promise<void> {
    this.#abort.abort()
    await this.#running
  }

  async #list(): Promise<string> {
    const page = await this.#client.get<Page<T>>(this.#path)
    const seen = new Set(page.items.map(keyOf))
    for (const [key, object] of this.#items) {
      if (!seen.has(key)) {
        this.#items.delete(key)
        this.#onChange({ kind: "gone", object })
      }
    }
    for (const object of page.items) this.#store(object)
    return page.metadata.resourceVersion
  }

  #store(object: T): void {
    const key = keyOf(object)
    // A list repeats what the watch has told already.
    if (this.#items.get(key)?.metadata.resourceVersion === object.metadata.resourceVersion) return
    this.#items.set(key, object)
    this.#onChange({ kind: "there", object })
  }

  async #follow(from: string): Promise<void> {
    let version: string | undefined = from
    const { signal } = this.#abort
    while (!signal.aborted) {
      try {
        version ??= await this.#list()
        const query = new URLSearchParams({ watch: "true", allowWatchBookmarks: "true", resourceVersion: version })
        await this.#client.watch<T>(`${this.#path}?${query.toString()}`, signal, ({ type, object }) => {
          if (signal.aborted) return
          version = object.metadata.resourceVersion
          if (type === "DELETED") {
            this.#items.delete(keyOf(object))
            this.#onChange({ kind: "gone", object })
          } else if (type !== "BOOKMARK") this.#store(object)
        })
      } catch (error) {
        if (signal.aborted) return
        // An answer means that the version is too old; anything else is the connection, and the version is still good.
        if (error instanceof ApiError) version = undefined
        await sleep(200, undefined, { signal }).catch(() => {})
      }
    }
  }
}

const keyOf = (object: KubernetesObject): string => `${object.metadata.namespace ?? ""}/${object.metadata.name}`
