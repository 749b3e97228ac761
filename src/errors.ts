/** What can go wrong when the operator talks to one of its two servers. Every failure of a call is one of these. */
import { Data } from "effect"

export type Server = "kubernetes" | "admin"

/** The server did not give an answer that can be used: transport errors, time-outs, 429, 5xx, answers that do not parse. Worth another try. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  readonly server: Server
  /** HTTP status, absent when there was none. */
  readonly status?: number
  /** One line, without credentials or request bodies. */
  readonly detail: string
}> {}

/** The server understood and refused. The same request would be refused again. */
export class Rejected extends Data.TaggedError("Rejected")<{
  readonly server: Server
  readonly status: number
  /** The server's own code (`META0006`, `Invalid`), `""` when it gave none. */
  readonly code: string
  readonly detail: string
}> {}

/** Somebody else wrote first: decide again from what is there now. */
export class Conflict extends Data.TaggedError("Conflict")<{ readonly detail: string }> {}

/** The operator's role lacks a right; only a person can help. */
export class Forbidden extends Data.TaggedError("Forbidden")<{
  readonly verb: string
  /** `replicasets.apps "default/greeter-abc"` */
  readonly subject: string
  readonly detail: string
}> {}

export type ReadError = Unavailable | Rejected | Forbidden
export type WriteError = ReadError | Conflict

/** The operator cannot start, or cannot go on; only a person can help. `sentence` tells them what to do. */
export class CannotRun extends Data.TaggedError("CannotRun")<{ readonly sentence: string }> {}
