/** The API server's answers as values: a success is its body, everything else is one error. */
import { Data, Predicate } from "effect"
import { Conflict, Forbidden, Rejected, Unavailable } from "../errors.ts"
import { Expired } from "../runtime/watch.ts"

/** 404: the object is not there, or the server does not serve the kind at all (its CRD is missing). */
export class NotFound extends Data.TaggedError("NotFound")<{
  readonly of: "object" | "kind"
  readonly detail: string
}> {}

/** The name is taken. */
export class AlreadyExists extends Data.TaggedError("AlreadyExists")<{ readonly detail: string }> {}

export type Refusal = Unavailable | Rejected | Forbidden | Conflict | NotFound | Expired | AlreadyExists

/** What was asked, for people: `patch`, `replicasets.apps "default/greeter-abc"`, `greeter-abc`. */
export interface Question {
  readonly verb: string
  readonly subject: string
  /** Name of the object asked for; absent for collections. */
  readonly name?: string
}

/** The parts of `v1.Status` that are read. */
interface Status {
  readonly reason: string
  readonly message: string
  /** `details.name`, `""` when absent. */
  readonly name: string
  /** Fields and reasons named by `details.causes`. */
  readonly fields: ReadonlyArray<string>
  readonly causes: ReadonlyArray<string>
}

/** Longest text of a server that reaches a log, a condition or an event. */
const longest = 300

/** The text as one line of at most 300 characters. */
export const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`
}

/** Ours, for a refusal that has no reason of its own. */
const olderCrd = "OlderCRD"

/** What was applied has a field that the installed CRD does not know. */
export const isOlderCrd = (error: { readonly _tag: string; readonly code?: string }): boolean =>
  error._tag === "Rejected" && error.code === olderCrd

/** The error that an HTTP status of 400 or above stands for. */
export const refusal = (status: number, body: string, question: Question): Refusal => {
  const said = statusOf(body)
  const detail = oneLine(
    `${question.verb} ${question.subject}: ${said === undefined ? body.slice(0, 4 * longest) || `status ${status}` : said.message}`,
  )
  switch (status) {
    case 401:
      return new Unavailable({ server: "kubernetes", status, detail: "the API server does not accept the operator's credentials" })
    case 403:
      // No right of ours is missing: the namespace is on its way out, and with it what we wanted to write.
      if (said?.causes.includes("NamespaceTerminating") === true) return new Conflict({ detail })
      return new Forbidden({ verb: question.verb, subject: question.subject, detail })
    case 404:
      // A missing CRD is answered in plain text or without a name; a missing object by its name.
      return new NotFound({ of: said !== undefined && said.reason === "NotFound" && said.name !== "" ? "object" : "kind", detail })
    case 409:
      return said?.reason === "AlreadyExists" ? new AlreadyExists({ detail }) : new Conflict({ detail })
    case 410:
      return new Expired({ detail })
    case 422:
      // An apply that names the UID of an object that was deleted and made again.
      if (said?.fields.includes("metadata.uid") === true) return new Conflict({ detail })
      return new Rejected({ server: "kubernetes", status, code: said?.reason ?? "", detail })
    case 500:
      // No failure of the server: what is applied has a field that the installed CRD has not.
      if (detail.includes("field not declared in schema"))
        return new Rejected({
          server: "kubernetes",
          status,
          code: olderCrd,
          detail: oneLine(`the installed CRD is older than this operator; install the one that came with it: ${detail}`),
        })
      return new Unavailable({ server: "kubernetes", status, detail })
    case 408:
    case 429:
      return new Unavailable({ server: "kubernetes", status, detail })
    default:
      return status >= 500 || status < 400
        ? new Unavailable({ server: "kubernetes", status, detail })
        : new Rejected({ server: "kubernetes", status, code: said?.reason ?? "", detail })
  }
}

/** The answer could not be read: cut off, a proxy's page, another API. */
export const unreadable = (question: Question, why: string): Unavailable =>
  new Unavailable({ server: "kubernetes", detail: oneLine(`${question.verb} ${question.subject}: the answer cannot be read: ${why}`) })

/** A `v1.Status` given as JSON text; undefined for anything else. */
const statusOf = (body: string): Status | undefined => {
  try {
    return readStatus(JSON.parse(body))
  } catch {
    return undefined
  }
}

/** The parts of a `v1.Status` that matter; undefined when it is none. */
export const readStatus = (value: unknown): (Status & { readonly code: number }) | undefined => {
  if (!Predicate.isObject(value) || value["kind"] !== "Status") return undefined
  const details = Predicate.isObject(value["details"]) ? value["details"] : {}
  const causes = (Array.isArray(details["causes"]) ? details["causes"] : []).filter(Predicate.isObject)
  return {
    code: typeof value["code"] === "number" ? value["code"] : 0,
    reason: text(value["reason"]),
    message: text(value["message"]),
    name: text(details["name"]),
    fields: causes.map((cause) => text(cause["field"])),
    causes: causes.map((cause) => text(cause["reason"])),
  }
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")
