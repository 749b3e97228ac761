/** What an answer that is not a success means, and how much of it people get to read (operator.md part 9, row 199). */
import { Option, Schema } from "effect"
import { Rejected, Unavailable } from "../errors.ts"

/** An HTTP answer, whole. */
export interface Answer {
  readonly status: number
  readonly text: string
  /** Where a redirect points, when the answer has one. */
  readonly location: string | undefined
}

/** The request would be refused again, whatever the status says: `META0012` and `META0014` come with a 500. */
const terminal: ReadonlySet<string> = new Set(["META0004", "META0005", "META0006", "META0012", "META0014", "META0015"])

/** The endpoint did not answer as it should. Pods may be starting: worth another try. */
const transient: ReadonlySet<string> = new Set(["META0003", "META0013"])

/** 401 and 403 because a token or a policy may be on its way; 408 and 429 because they say so themselves. */
const transientStatuses: ReadonlySet<number> = new Set([401, 403, 408, 429])

// Domain errors are JSON; malformed requests get text/plain; unknown routes and 501 get nothing at all.
const ErrorBody = Schema.fromJsonString(
  Schema.Struct({ message: Schema.String, restate_code: Schema.optional(Schema.NullOr(Schema.String)) }),
)
const decodeErrorBody = Schema.decodeUnknownOption(ErrorBody)

const longest = 200

/**
 * A foreign text as it may stand in a condition, an event or a log: its first line, without control characters and
 * URL credentials, at most 200 characters.
 */
export const excerpt = (text: string): string => {
  // A body may have megabytes; only its beginning is looked at.
  const lines = text.slice(0, 4_000).split(/[\r\n]/)
  const first = (lines.find((line) => line.trim() !== "") ?? "")
    .replace(/\p{Cc}/gu, " ")
    .replace(/\/\/[^/\s]*@/g, "//")
    .trim()
  const letters = Array.from(first)
  return letters.length <= longest ? first : `${letters.slice(0, longest - 1).join("")}…`
}

/**
 * The error that an answer other than 2xx is. `call` is method and path.
 *
 * @returns `Rejected` when the same request would be refused again, else `Unavailable` with the status.
 */
export const refusal = (call: string, answer: Answer): Unavailable | Rejected => {
  const body = Option.getOrUndefined(decodeErrorBody(answer.text))
  const message = body?.message ?? answer.text
  const code = body?.restate_code ?? /^\[([A-Z]+\d{4})\]/.exec(message)?.[1] ?? ""
  const detail = `${call} answered ${answer.status}${said(answer, message)}`
  return isTerminal(answer.status, code, body !== undefined)
    ? new Rejected({ server: "admin", status: answer.status, code, detail })
    : new Unavailable({ server: "admin", status: answer.status, detail })
}

/** Code first, then status. `own`: the body is an error of the admin API's own shape. */
const isTerminal = (status: number, code: string, own: boolean): boolean => {
  if (terminal.has(code)) return true
  if (transient.has(code)) return false
  if (status < 400 || status >= 500 || transientStatuses.has(status)) return false
  // Its own errors are JSON with a message, or text for a request it could not read. The rest is some proxy's opinion.
  return own || unreadable.has(status)
}

const unreadable: ReadonlySet<number> = new Set([400, 409, 415, 422])

const said = (answer: Answer, message: string): string => {
  if (answer.status >= 300 && answer.status < 400) {
    // Only the origin: a path or query of a login page may carry a token.
    const target = answer.location !== undefined && URL.canParse(answer.location) ? ` to ${new URL(answer.location).origin}` : ""
    return `, a redirect${target}, which is not followed`
  }
  const text = excerpt(message)
  return text === "" ? "" : `: ${text}`
}

/** An answer that cannot be used although its status is fine. */
export const unusable = (call: string, answer: Answer, why: string): Unavailable =>
  new Unavailable({ server: "admin", status: answer.status, detail: `${call} answered ${answer.status}, but ${why}` })
