/**
 * An API server in memory. It speaks the requests of src/kubernetes (the real writer and reader are then under test) and
 * keeps what matters to an operator: resourceVersions, generations, UIDs, finalizers, field ownership, preconditions.
 */
import type { Ref } from "#src/engine/action.ts"
import { access, type Kind } from "#src/kubernetes/access.ts"
import { apiVersion, collectionPath } from "#src/kubernetes/paths.ts"
import type { Answer, Request } from "#src/kubernetes/transport.ts"
import type { Vocabulary } from "#src/vocabulary.ts"
import { applied, leaves, managedFields, type Owned, type Owners, patched, same, type Tree, treeOf } from "./world-tree.ts"

/** What a watch tells. `object` is as it is on the wire. */
export interface Told {
  readonly type: "Upserted" | "Removed"
  readonly kind: Kind
  readonly object: Tree
}

/** A request, understood. */
export interface Understood {
  readonly ref: Ref
  readonly subresource: string | undefined
  readonly manager: string
  readonly body: Tree
  /** `POST`, `GET`, `DELETE`, server-side apply or merge patch. */
  readonly verb: "create" | "get" | "delete" | "apply" | "merge"
}

type Rows = ReturnType<typeof access>

interface Stored extends Owned {
  readonly ref: Ref
}

/** An object somebody holds a name for; metadata is read through {@link meta}. */
export interface Meta {
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string
  readonly labels: Tree
  readonly annotations: Tree
  readonly finalizers: ReadonlyArray<unknown>
  readonly owners: ReadonlyArray<string>
  readonly deleting: boolean
}

export const meta = (object: Tree): Meta => {
  const metadata = treeOf(object["metadata"])
  const { name, namespace, uid, finalizers, ownerReferences } = metadata
  return {
    name: text(name),
    namespace: typeof namespace === "string" ? namespace : undefined,
    uid: text(uid),
    labels: treeOf(metadata["labels"]),
    annotations: treeOf(metadata["annotations"]),
    finalizers: list(finalizers),
    owners: list(ownerReferences).map((reference) => text(treeOf(reference)["uid"])),
    deleting: metadata["deletionTimestamp"] !== undefined,
  }
}

export const text = (value: unknown): string => (typeof value === "string" ? value : "")
export const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const keyOf = ({ kind, namespace, name }: Ref): string => `${kind}/${namespace ?? ""}/${name}`

export class ApiServer {
  readonly #rows: Rows
  readonly #now: () => number
  readonly #objects = new Map<string, Stored>()
  readonly #listeners = new Set<(told: Told) => void>()
  #version = 100
  #uids = 0

  constructor(vocabulary: Vocabulary, now: () => number) {
    this.#rows = access(vocabulary)
    this.#now = now
  }

  /** The version that a list of now is of. */
  get version(): string {
    return String(this.#version)
  }

  /** Hears of every change, at once. */
  listen(listener: (told: Told) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  get(ref: Ref): Tree | undefined {
    const stored = this.#objects.get(keyOf(ref))
    return stored === undefined ? undefined : wire(stored)
  }

  all(kind: Kind): ReadonlyArray<Tree> {
    return [...this.#objects.values()].filter(({ ref }) => ref.kind === kind).map(wire)
  }

  /** Everything there is, as refs. */
  refs(): ReadonlyArray<Ref> {
    return [...this.#objects.values()].map(({ ref }) => ref)
  }

  exists(uid: string): boolean {
    return [...this.#objects.values()].some(({ tree }) => meta(tree).uid === uid)
  }

  /** A person or a controller makes an object. */
  make(ref: Ref, body: Tree): Tree {
    return wire(this.#create(ref, body, "person Update"))
  }

  /** A person or a controller changes an object that may be gone. A status is written through its subresource. */
  edit(ref: Ref, patch: Tree): void {
    const stored = this.#objects.get(keyOf(ref))
    if (stored !== undefined) this.#store(stored, patched(stored, "person Update", patch))
  }

  delete(ref: Ref): void {
    const stored = this.#objects.get(keyOf(ref))
    if (stored !== undefined) this.#delete(stored)
  }

  /** What a request asks for; undefined for a path that this server does not know. */
  understand(request: Request): Understood | undefined {
    const url = new URL(request.path, "http://api")
    for (const [kind, row] of Object.entries(this.#rows)) {
      if (!isKind(this.#rows, kind)) continue
      const [, namespace, rest = ""] =
        (row.namespaced
          ? /^(?:.*)\/namespaces\/([^/]+)\/[^/]+(?:\/(.*))?$/.exec(url.pathname)
          : ["", undefined, url.pathname.slice(collectionPath(row).length + 1)]) ?? []
      if (!url.pathname.startsWith(collectionPath(row, namespace))) continue
      const body = treeOf(request.body === undefined ? {} : JSON.parse(request.body))
      const [name = text(treeOf(body["metadata"])["name"]), subresource] = rest.split("/").filter((part) => part !== "")
      return {
        ref: { kind, name, ...(namespace === undefined ? {} : { namespace }) },
        subresource,
        manager: url.searchParams.get("fieldManager") ?? "",
        body,
        verb: verbOf(request),
      }
    }
    return undefined
  }

  answer(request: Request): Answer {
    const understood = this.understand(request)
    if (understood === undefined) return status(404, "NotFound", "the server could not find the requested resource")
    const { ref, body, manager, subresource, verb } = understood
    const stored = this.#objects.get(keyOf(ref))
    if (verb === "create") {
      if (stored !== undefined) return status(409, "AlreadyExists", `"${ref.name}" already exists`, ref.name)
      return found(this.#create(ref, body, `${manager} Update`), 201)
    }
    if (stored === undefined) {
      return verb === "apply" && subresource === undefined && treeOf(body["metadata"])["uid"] === undefined
        ? found(this.#create(ref, body, `${manager} Apply`), 201)
        : status(
            verb === "apply" && subresource === undefined ? 409 : 404,
            verb === "apply" ? "Conflict" : "NotFound",
            `"${ref.name}" not found`,
            ref.name,
          )
    }
    if (verb === "get") return found(stored)
    const { uid, resourceVersion } = treeOf(verb === "delete" ? body["preconditions"] : body["metadata"])
    const metadata = treeOf(stored.tree["metadata"])
    if (uid !== undefined && uid !== metadata["uid"])
      return status(409, "Conflict", `the UID in the precondition (${text(uid)}) does not match`, ref.name)
    if (resourceVersion !== undefined && resourceVersion !== metadata["resourceVersion"])
      return status(
        409,
        "Conflict",
        "the object has been modified; please apply your changes to the latest version and try again",
        ref.name,
      )
    if (verb === "delete") return found(this.#delete(stored))
    if (verb === "merge") return found(this.#store(stored, patched(stored, `${manager} Update`, body)))
    const who = `${manager} Apply${subresource === undefined ? "" : ` ${subresource}`}`
    const after = this.#store(stored, applied(stored, who, subresource === undefined ? body : { ...body, metadata: undefined }))
    if (subresource !== "scale") return found(after)
    const { tree } = after
    return {
      status: 200,
      text: JSON.stringify({ apiVersion: "autoscaling/v1", kind: "Scale", metadata: tree["metadata"], spec: body["spec"] }),
    }
  }

  #create(ref: Ref, body: Tree, who: string): Stored {
    const row = this.#rows[ref.kind]
    const created = {
      ref,
      owners: new Map([[who, new Set(leaves(body).keys())]]),
      tree: {
        ...body,
        apiVersion: apiVersion(row),
        kind: row.kind,
        metadata: {
          ...treeOf(body["metadata"]),
          name: ref.name,
          ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
          uid: `uid-${(this.#uids += 1)}`,
          generation: 1,
          creationTimestamp: new Date(this.#now()).toISOString().replace(/\.\d+Z/, "Z"),
        },
      },
    }
    return this.#save(created)
  }

  /** Nothing happens when nothing changes; a new spec is a new generation; the last finalizer takes a terminating object with it. */
  #store(before: Stored, { owners, tree }: Owned): Stored {
    if (same(tree, before.tree) && sameOwners(owners, before.owners)) return before
    const metadata = treeOf(tree["metadata"])
    const generation = Number(metadata["generation"]) + (same(tree["spec"], before.tree["spec"]) ? 0 : 1)
    const after = { ref: before.ref, owners, tree: { ...tree, metadata: { ...metadata, generation } } }
    return meta(tree).deleting && meta(tree).finalizers.length === 0 ? this.#gone(after) : this.#save(after)
  }

  #delete(stored: Stored): Stored {
    const { deleting, finalizers } = meta(stored.tree)
    if (deleting) return stored
    if (finalizers.length === 0) return this.#gone(stored)
    const metadata = treeOf(stored.tree["metadata"])
    const deletionTimestamp = new Date(this.#now()).toISOString().replace(/\.\d+Z/, "Z")
    const generation = Number(metadata["generation"]) + 1
    return this.#save({ ...stored, tree: { ...stored.tree, metadata: { ...metadata, deletionTimestamp, generation } } })
  }

  #save(stored: Stored): Stored {
    const saved = this.#stamped(stored)
    this.#objects.set(keyOf(stored.ref), saved)
    this.#tell("Upserted", saved)
    return saved
  }

  #gone(stored: Stored): Stored {
    const last = this.#stamped(stored)
    this.#objects.delete(keyOf(stored.ref))
    this.#tell("Removed", last)
    return last
  }

  #stamped(stored: Stored): Stored {
    const resourceVersion = String((this.#version += 1))
    return { ...stored, tree: { ...stored.tree, metadata: { ...treeOf(stored.tree["metadata"]), resourceVersion } } }
  }

  #tell(type: Told["type"], stored: Stored): void {
    const told = { type, kind: stored.ref.kind, object: wire(stored) }
    for (const listener of this.#listeners) listener(told)
  }
}

const verbOf = ({ contentType = "", method }: Request): Understood["verb"] => {
  if (method === "PATCH") return contentType.startsWith("application/apply-patch") ? "apply" : "merge"
  return method === "POST" ? "create" : method === "DELETE" ? "delete" : "get"
}

const isKind = (rows: Rows, kind: string): kind is Kind => kind in rows

const sameOwners = (a: Owners, b: Owners): boolean =>
  a.size === b.size &&
  [...a].every(([who, paths]) => paths.size === b.get(who)?.size && [...paths].every((path) => b.get(who)?.has(path) === true))

const wire = ({ owners, tree }: Stored): Tree => ({
  ...tree,
  metadata: { ...treeOf(tree["metadata"]), managedFields: managedFields(owners) },
})

const found = (stored: Stored, status = 200): Answer => ({ status, text: JSON.stringify(wire(stored)) })

/** An error as the API server writes it. */
export const status = (code: number, reason: string, message: string, name?: string): Answer => ({
  status: code,
  text: JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message,
    ...(name === undefined ? {} : { details: { name } }),
  }),
})
