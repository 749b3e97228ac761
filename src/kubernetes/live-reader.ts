/** Reads of the live cluster: from the cache, and past it. */
import { Effect, Predicate } from "effect"
import { type ReadError, Rejected, Unavailable } from "../errors.ts"
import type { Cache } from "../runtime/cache.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { access } from "./access.ts"
import { type Question, type Refusal, refusal, unreadable } from "./answers.ts"
import { KubernetesReader, type Objects } from "./kubernetes.ts"
import type { ObjectReader } from "./objects.ts"
import { apiVersion, collectionPath, objectPath, resource, subject, withQuery } from "./paths.ts"
import type { Transport } from "./transport.ts"

/** Reads through one transport and one cache. A live read leaves the cache as it is: the watch brings what it has not. */
export const liveReader = (
  transport: Transport["Service"],
  cache: Cache["Service"],
  reader: ObjectReader,
  vocabulary: Vocabulary,
): KubernetesReader["Service"] => {
  const rows = access(vocabulary)
  return KubernetesReader.of({
    get: cache.get,
    list: cache.list,
    fetch: <K extends keyof Objects>(kind: K, namespace: string | undefined, name: string) => {
      const row = rows[kind]
      const ref = { ...(namespace === undefined ? {} : { namespace }), name }
      const question = { verb: "get", subject: subject(row, ref), name }
      return Effect.flatMap(
        transport.send({ method: "GET", path: objectPath(row, ref), verb: "get", resource: resource(row) }),
        ({ status, text }): Effect.Effect<Objects[K] | undefined, ReadError> => {
          if (status === 200) {
            const object = reader.read(kind, reader.json(kind, text))
            return object === undefined ? unreadable(question, `it is no ${row.kind}`) : Effect.succeed(object)
          }
          const error = refusal(status, text, question)
          // A missing CRD is no proof that the object is gone: it may come back with all its objects.
          return error._tag === "NotFound" && error.of === "object" ? Effect.undefined : Effect.fail(readError(error))
        },
      )
    },
    search: <K extends keyof Objects>(kind: K, namespace: string, labels: { readonly [key: string]: string }) => {
      const row = rows[kind]
      const labelSelector = Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(",")
      const question: Question = { verb: "list", subject: resource(row) }
      const path = withQuery(collectionPath(row, namespace), { labelSelector, limit: "20" })
      return Effect.flatMap(
        transport.send({ method: "GET", path, verb: "list", resource: resource(row) }),
        ({ status, text }): Effect.Effect<ReadonlyArray<Objects[K]>, ReadError> => {
          if (status !== 200) return Effect.fail(readError(refusal(status, text, question)))
          const list = reader.json(kind, text)
          const items = Predicate.isObject(list) ? list["items"] : undefined
          if (!Array.isArray(items)) return unreadable(question, "it is no list")
          const type = { apiVersion: apiVersion(row), kind: row.kind }
          return Effect.succeed(items.flatMap((item: unknown) => reader.read(kind, item, type) ?? []))
        },
      )
    },
  })
}

const readError = (error: Refusal): ReadError => {
  switch (error._tag) {
    case "NotFound":
      return new Unavailable({ server: "kubernetes", status: 404, detail: error.detail })
    case "Expired":
    case "Conflict":
    case "AlreadyExists":
      return new Rejected({ server: "kubernetes", status: 409, code: error._tag, detail: error.detail })
    default:
      return error
  }
}
