/** Writes to the live cluster. Every answer enters the cache; what would change nothing is not sent. */
import { Effect, Predicate } from "effect"
import type { Desired, Ref } from "../engine/action.ts"
import { Conflict, Unavailable, type WriteError } from "../errors.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import type { Cache } from "../runtime/cache.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { access, type Kind, type KindAccess, selectedBy, type Verb } from "./access.ts"
import { type AlreadyExists, isOlderCrd, type Question, type Refusal, refusal, unreadable } from "./answers.ts"
import { KubernetesWriter } from "./kubernetes.ts"
import { metadataOf, type ObjectReader } from "./objects.ts"
import { apiVersion, collectionPath, objectPath, resource, subject, withQuery } from "./paths.ts"
import { Settling } from "./settling.ts"
import type { Request, Transport } from "./transport.ts"
import { canonical, unchanged } from "./unchanged.ts"

type Body = Desired["body"]

const types = { apply: "application/apply-patch+yaml", merge: "application/merge-patch+json", json: "application/json" } as const

/** Writes through one transport into one cache. */
export const liveWriter = Effect.fnUntraced(function* (
  transport: Transport["Service"],
  cache: Cache["Service"],
  reader: ObjectReader,
  vocabulary: Vocabulary,
) {
  const rows = access(vocabulary)
  const main = vocabulary.managers.main
  const settling = yield* Settling.make(vocabulary)

  /** Sends, and reads the object that comes back into the cache. */
  const write = (
    kind: Kind,
    question: Question,
    request: Omit<Request, "resource" | "body">,
    body: Body,
    written: Body = body,
  ): Effect.Effect<KubernetesObject, WriteError | AlreadyExists> =>
    Effect.flatMap(
      transport.send({ ...request, resource: resource(rows[kind]), body: JSON.stringify(body) }),
      ({ status, text }): Effect.Effect<KubernetesObject, WriteError | AlreadyExists> => {
        if (status < 200 || status >= 300) return Effect.fail(writeError(refusal(status, text, question)))
        const object = reader.read(kind, reader.json(kind, text))
        if (object === undefined) return Effect.fail(unreadable(question, `it is no ${rows[kind].kind}`))
        remember(kind, object, written)
        return Effect.succeed(object)
      },
    )

  /** Into the cache, if the reflector would bring it there too: else nobody would ever take it out again. */
  const remember = (kind: Kind, object: KubernetesObject, written: unknown) => {
    const read = reader.read(kind, object)
    const selected = selectedBy(rows[kind], vocabulary)
    if (read !== undefined && (selected === undefined || object.metadata.labels?.[selected[0]] === selected[1]))
      cache.put(kind, read, written)
  }

  const ask = (verb: Verb, ref: Ref): Question => ({ verb, subject: subject(rows[ref.kind], ref), name: ref.name })

  const create = Effect.fnUntraced(function* ({ ref, body }: Desired) {
    const row = rows[ref.kind]
    const path = withQuery(collectionPath(row, ref.namespace), { fieldManager: main })
    const whole = identified(row, ref, body)
    const made = write(ref.kind, ask("create", ref), { method: "POST", path, contentType: types.json, verb: "create" }, whole)
    return yield* made.pipe(
      Effect.map((object) => ({ _tag: "Created" as const, object })),
      Effect.catchTag("AlreadyExists", () => taken(row, ref)),
    )
  })

  /** What stands under a name that is taken. Gone by the time we look: decide again. */
  const taken = (row: KindAccess, ref: Ref) =>
    Effect.flatMap(
      transport.send({ method: "GET", path: objectPath(row, ref), verb: "get", resource: resource(row) }),
      ({ status, text }): Effect.Effect<{ readonly _tag: "Taken"; readonly object: KubernetesObject }, WriteError> => {
        if (status !== 200) return Effect.fail(asWriteError(refusal(status, text, ask("get", ref))))
        const object = reader.read(ref.kind, reader.json(ref.kind, text))
        if (object === undefined) return Effect.fail(unreadable(ask("get", ref), `it is no ${row.kind}`))
        // Nothing was written: all that is new in it is somebody else's, and is told when the watch brings it.
        remember(ref.kind, object, undefined)
        return Effect.succeed({ _tag: "Taken", object })
      },
    )

  const apply = Effect.fnUntraced(function* ({ ref, body }: Desired, manager: string, subresource?: "status") {
    const row = rows[ref.kind]
    const known: KubernetesObject | undefined = cache.peek(ref.kind, ref.namespace, ref.name)
    const wanted = canonical(body)
    if (
      known !== undefined &&
      (unchanged(wanted, known, manager, subresource) || settling.isUseless(ref, known, wanted, manager, subresource))
    )
      return { changed: false, object: known }
    // An apply makes an object that is not there. Only the main manager's whole objects may do that; with a UID a part
    // of one fails with a conflict if the object was deleted meanwhile.
    const part = manager !== main || subresource !== undefined
    const whole = identified(row, ref, wanted, part ? known?.metadata.uid : undefined)
    const path = withQuery(objectPath(row, ref, subresource), { fieldManager: manager, force: "true" })
    const sent = write(ref.kind, ask("patch", ref), { method: "PATCH", path, contentType: types.apply, verb: "patch" }, whole, wanted)
    const object = yield* notTaken(
      Effect.catchIf(sent, isOlderCrd, (error) => (subresource === "status" ? pruned(ref, known, wanted, manager) : Effect.fail(error))),
    )
    if (!unchanged(wanted, object, manager, subresource)) yield* settling.unsettled(ref, object, wanted, manager, subresource)
    return { changed: object.metadata.resourceVersion !== known?.metadata.resourceVersion, object }
  })

  /** A status with fields that the installed CRD has not yet: an apply is refused as a whole, a merge drops what it does not know. */
  const pruned = (ref: Ref, known: KubernetesObject | undefined, wanted: Body, manager: string) => {
    const gone = Object.keys(fieldsOf(known, "status")).map((field) => [field, null])
    const status = { ...Object.fromEntries(gone), ...(Predicate.isObject(wanted["status"]) ? wanted["status"] : {}) }
    const path = withQuery(objectPath(rows[ref.kind], ref, "status"), { fieldManager: manager })
    const request = { method: "PATCH", path, contentType: types.merge, verb: "patch" } as const
    return write(ref.kind, ask("patch", ref), request, { status }, wanted)
  }

  const scale = Effect.fnUntraced(function* (ref: Ref, replicas: number, manager: string) {
    const row = rows[ref.kind]
    const known: KubernetesObject | undefined = cache.peek(ref.kind, ref.namespace, ref.name)
    if (known !== undefined && replicasOf(known) === replicas) return { changed: false, object: known }
    const question = ask("patch", ref)
    const { status, text } = yield* transport.send({
      method: "PATCH",
      path: withQuery(objectPath(row, ref, "scale"), { fieldManager: manager, force: "true" }),
      contentType: types.apply,
      verb: "patch",
      resource: `${resource(row)}/scale`,
      body: JSON.stringify({
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: {
          name: ref.name,
          ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
          ...(known === undefined ? {} : { uid: known.metadata.uid }),
        },
        spec: { replicas },
      }),
    })
    if (status !== 200) return yield* Effect.fail(asWriteError(refusal(status, text, question)))
    const answer = metadataOf(reader.json(ref.kind, text))
    if (answer === undefined) return yield* unreadable(question, "it is no Scale")
    // The answer is a Scale. What it says of the object itself enters the cache; the watch brings the rest.
    const { resourceVersion, uid } = answer
    const before = known !== undefined && known.metadata.uid === uid ? known : yield* fetched(row, ref)
    const object = { ...before, metadata: { ...before.metadata, resourceVersion }, spec: { ...fieldsOf(before, "spec"), replicas } }
    remember(ref.kind, object, { spec: { replicas } })
    return { changed: resourceVersion !== known?.metadata.resourceVersion, object }
  })

  const fetched = (row: KindAccess, ref: Ref) => Effect.map(taken(row, ref), ({ object }) => object)

  const merge = (ref: Ref, patch: Body) => {
    const path = withQuery(objectPath(rows[ref.kind], ref), { fieldManager: main })
    return notTaken(write(ref.kind, ask("patch", ref), { method: "PATCH", path, contentType: types.merge, verb: "patch" }, patch))
  }

  const remove = Effect.fnUntraced(function* (ref: Ref, uid: string, propagationPolicy: "Background" | "Orphan" = "Background") {
    const row = rows[ref.kind]
    const { status, text } = yield* transport.send({
      method: "DELETE",
      path: objectPath(row, ref),
      contentType: types.json,
      verb: "delete",
      resource: resource(row),
      body: JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid }, propagationPolicy }),
    })
    if (status >= 200 && status < 300) return cache.tombstone(ref.kind, ref.namespace, ref.name, uid)
    const error = refusal(status, text, ask("delete", ref))
    // Not there, or another object of that name: this one is gone. A missing kind is no proof of anything.
    if (
      (error._tag === "NotFound" && error.of === "object") ||
      (error._tag === "Conflict" && error.detail.includes("UID in the precondition"))
    )
      return cache.tombstone(ref.kind, ref.namespace, ref.name, uid)
    return yield* Effect.fail(asWriteError(error))
  })

  const event = (method: "POST" | "PATCH", namespace: string, name: string | undefined, body: Body) => {
    const row = rows.Event
    const ref: Ref = { kind: "Event", namespace, name: name ?? nameOf(body) }
    const path = withQuery(name === undefined ? collectionPath(row, namespace) : objectPath(row, ref), { fieldManager: main })
    const [contentType, verb] = method === "POST" ? ([types.json, "create"] as const) : ([types.merge, "patch"] as const)
    const whole = method === "POST" ? { ...body, apiVersion: apiVersion(row), kind: row.kind } : body
    return notTaken(write("Event", ask(verb, ref), { method, path, contentType, verb }, whole))
  }

  const during = <A, E>(ref: Ref, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    cache.during(ref.kind, ref.namespace, ref.name, effect)

  return KubernetesWriter.of({
    create: (object) => during(object.ref, create(object)),
    apply: (object, manager, subresource) => during(object.ref, apply(object, manager, subresource)),
    scale: (ref, replicas, manager) => during(ref, scale(ref, replicas, manager)),
    merge: (ref, patch) => during(ref, merge(ref, patch)),
    remove,
    createEvent: (namespace, body) => event("POST", namespace, undefined, body),
    patchEvent: (namespace, name, body) => event("PATCH", namespace, name, body),
  })
})

/** The body with what makes it an object: type, name, and the UID it must have, if any. */
const identified = (row: KindAccess, ref: Ref, body: Body, uid?: string): Body => ({
  ...body,
  apiVersion: apiVersion(row),
  kind: row.kind,
  metadata: {
    ...(Predicate.isObject(body["metadata"]) ? body["metadata"] : {}),
    name: ref.name,
    ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
    ...(uid === undefined ? {} : { uid }),
  },
})

/** What a refused write comes to; AlreadyExists is left to those who create. */
const writeError = (error: Refusal): WriteError | AlreadyExists => {
  switch (error._tag) {
    case "NotFound":
      // Deleted since we looked: decide again. A kind that is not served is the server's trouble.
      return error.of === "object"
        ? new Conflict({ detail: error.detail })
        : new Unavailable({ server: "kubernetes", status: 404, detail: error.detail })
    case "Expired":
      return new Unavailable({ server: "kubernetes", status: 410, detail: error.detail })
    default:
      return error
  }
}

const asWriteError = (error: Refusal): WriteError => {
  const mapped = writeError(error)
  return mapped._tag === "AlreadyExists" ? new Conflict({ detail: mapped.detail }) : mapped
}

const notTaken = <A>(effect: Effect.Effect<A, WriteError | AlreadyExists>): Effect.Effect<A, WriteError> =>
  Effect.catchTag(effect, "AlreadyExists", ({ detail }) => new Conflict({ detail }))

const fieldsOf = (object: KubernetesObject | undefined, part: "spec" | "status"): { readonly [field: string]: unknown } => {
  const found: unknown = object === undefined ? undefined : Reflect.get(object, part)
  return Predicate.isObject(found) ? found : {}
}

const replicasOf = (object: KubernetesObject): unknown => fieldsOf(object, "spec")["replicas"]

const nameOf = (body: Body): string => {
  const metadata: unknown = body["metadata"]
  return Predicate.isObject(metadata) && typeof metadata["name"] === "string" ? metadata["name"] : ""
}
