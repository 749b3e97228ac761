/** The parts of the admin API's answers that the operator reads, decoded where they come in. Other fields are dropped. */
import { Effect, Result, Schema } from "effect"
import type { Unavailable } from "../errors.ts"
import { type Answer, excerpt, unusable } from "./answer.ts"

const Service = Schema.Struct({ name: Schema.String, deployment_id: Schema.String })

/** `GET /services/{name}` */
export const ServiceAnswer = Service

/** `GET /services` */
export const ServicesAnswer = Schema.Struct({ services: Schema.Array(Service) })

/** `GET /deployments`: an HTTP deployment has a `uri`, a function an `arn`. */
export const DeploymentsAnswer = Schema.Struct({
  deployments: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      uri: Schema.optional(Schema.NullOr(Schema.String)),
      arn: Schema.optional(Schema.NullOr(Schema.String)),
      services: Schema.Array(Schema.Struct({ name: Schema.String })),
    }),
  ),
})

/** `POST /deployments`. An empty id would be recorded and never found again. */
export const RegistrationAnswer = Schema.Struct({
  id: Schema.NonEmptyString,
  services: Schema.Array(Schema.Struct({ name: Schema.String })),
})

/** `POST /query` with the usage statement. Columns that are NULL are left out by the server. */
export const UsageAnswer = Schema.Struct({
  rows: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      endpoint: Schema.optional(Schema.NullOr(Schema.String)),
      pinned: Schema.Finite,
      unpinned: Schema.Finite,
      latest_for: Schema.Finite,
      example: Schema.optional(Schema.NullOr(Schema.String)),
    }),
  ),
})

/**
 * A decoder of successful answers. A body that is empty, cut off, HTML, or of another form is `Unavailable`: a proxy
 * spoke, or a server of another kind, and nothing is known.
 */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
): ((call: string, answer: Answer) => Effect.Effect<S["Type"], Unavailable>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (call, answer) => {
    if (answer.text.trim() === "") return Effect.fail(unusable(call, answer, "without a body"))
    let body: unknown
    try {
      body = JSON.parse(answer.text)
    } catch {
      return Effect.fail(unusable(call, answer, `not with JSON: ${excerpt(answer.text)}`))
    }
    const decoded = decode(body)
    return Result.isSuccess(decoded)
      ? Effect.succeed(decoded.success)
      : Effect.fail(unusable(call, answer, `in an unknown form: ${excerpt(decoded.failure.message)}`))
  }
}
