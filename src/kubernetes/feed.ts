/** What the reflector asks of the API server for one kind: pages of a list, and a watch. */
import { Effect, Predicate } from "effect"
import { type Conflict, Unavailable } from "../errors.ts"
import { type Feed, type FeedError, Missing, type Page, type WatchEvent } from "../runtime/watch.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { access, type KindAccess, selectedBy, type Verb } from "./access.ts"
import { type AlreadyExists, type Question, readStatus, type Refusal, refusal, unreadable } from "./answers.ts"
import type { Objects } from "./kubernetes.ts"
import type { ObjectReader } from "./objects.ts"
import { apiVersion, collectionPath, resource, withQuery } from "./paths.ts"
import type { Transport } from "./transport.ts"

/** Objects a page. A page of large objects is a few MB and takes tens of milliseconds; smaller ones only add requests. */
const pageSize = "500"

/** The feed of a kind, of one namespace or of all, narrowed to what is ours where the access table says so. */
export const feedOf = <K extends keyof Objects>(
  kind: K,
  transport: Transport["Service"],
  reader: ObjectReader,
  vocabulary: Vocabulary,
  namespace?: string,
): Feed<Objects[K]> => {
  const row: KindAccess = access(vocabulary)[kind]
  const type = { apiVersion: apiVersion(row), kind: row.kind }
  const selection = { labelSelector: selectedBy(row, vocabulary)?.join("=") }
  const name = resource(row)
  const question = (verb: Verb): Question => ({ verb, subject: name })
  const ask = (verb: Verb, query: { readonly [name: string]: string | undefined }) =>
    ({ method: "GET", path: withQuery(collectionPath(row, namespace), { ...selection, ...query }), verb, resource: name }) as const

  return {
    name,
    page: (next) =>
      Effect.flatMap(transport.send(ask("list", { limit: pageSize, continue: next })), ({ status, text }) => {
        if (status !== 200) return feedError(refusal(status, text, question("list")))
        const page = readPage(kind, reader, reader.json(kind, text), type)
        return page === undefined ? unreadable(question("list"), "it is no list") : Effect.succeed(page)
      }),
    open: (resourceVersion, seconds) =>
      Effect.map(
        Effect.flatMap(
          transport.open(ask("watch", { watch: "true", allowWatchBookmarks: "true", resourceVersion, timeoutSeconds: String(seconds) })),
          (answer) => ("next" in answer ? Effect.succeed(answer) : feedError(refusal(answer.status, answer.text, question("watch")))),
        ),
        (lines) =>
          Effect.flatMap(lines.next, (texts) => {
            if (texts === undefined) return Effect.undefined
            const events: Array<WatchEvent<Objects[K]>> = []
            for (const text of texts) {
              const event = readEvent(kind, reader, reader.json(kind, text), question("watch"))
              if ("_tag" in event && isError(event)) return Effect.fail(event)
              events.push(event)
            }
            return Effect.succeed(events)
          }),
      ),
  }
}

const readPage = <K extends keyof Objects>(
  kind: K,
  reader: ObjectReader,
  value: unknown,
  type: { readonly apiVersion: string; readonly kind: string },
): Page<Objects[K]> | undefined => {
  if (!Predicate.isObject(value) || !Predicate.isObject(value["metadata"])) return undefined
  const { continue: next, resourceVersion } = value["metadata"]
  const items: unknown = value["items"] ?? []
  if (typeof resourceVersion !== "string" || !Array.isArray(items)) return undefined
  return {
    objects: items.flatMap((item: unknown) => reader.read(kind, item, type) ?? []),
    resourceVersion,
    next: typeof next === "string" && next !== "" ? next : undefined,
  }
}

const readEvent = <K extends keyof Objects>(
  kind: K,
  reader: ObjectReader,
  value: unknown,
  question: Question,
): WatchEvent<Objects[K]> | FeedError => {
  if (!Predicate.isObject(value)) return unreadable(question, "a line is no event")
  const { object, type } = value
  if (type === "ERROR") {
    const status = readStatus(object)
    return status === undefined
      ? unreadable(question, "an error without a status")
      : toFeedError(refusal(status.code, JSON.stringify(object), question))
  }
  const version: unknown =
    Predicate.isObject(object) && Predicate.isObject(object["metadata"]) ? object["metadata"]["resourceVersion"] : undefined
  const resourceVersion = typeof version === "string" ? version : undefined
  if (type === "BOOKMARK" && resourceVersion !== undefined) return { _tag: "Bookmark", resourceVersion }
  const read = reader.read(kind, object)
  if (read === undefined || resourceVersion === undefined) return { _tag: "Unreadable", resourceVersion }
  return { _tag: type === "DELETED" ? "Removed" : "Upserted", object: read, resourceVersion }
}

const isError = <T>(event: WatchEvent<T> | FeedError): event is FeedError => event instanceof Error

const feedError = (error: Refusal): Effect.Effect<never, FeedError> => Effect.fail(toFeedError(error))

const toFeedError = (error: Refusal): FeedError => {
  switch (error._tag) {
    case "NotFound":
      return new Missing({ detail: error.detail })
    case "AlreadyExists":
    case "Conflict":
      return impossible(error)
    default:
      return error
  }
}

/** Nothing was written, so nothing can conflict: an answer that makes no sense. */
const impossible = (error: AlreadyExists | Conflict): FeedError =>
  new Unavailable({ server: "kubernetes", status: 409, detail: error.detail })
