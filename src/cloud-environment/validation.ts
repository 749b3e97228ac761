/** The admission rules again, for objects that predate them or met an older CRD (operator.md §1.3). */
import type { Given } from "./given.ts"
import { tokenOf } from "./token.ts"

/** What is wrong with the object: the error of the specification and a sentence that names the field. */
export interface Invalid {
  readonly _tag: "Invalid"
  readonly error: "InvalidConfiguration" | "InvalidSigningKey"
  readonly message: string
}

const invalid = (message: string): Invalid => ({ _tag: "Invalid", error: "InvalidConfiguration", message })

/** undefined: it can be carried out. Nothing of a spec with a mistake is: a tunnel to a wrong place replaces one that works. */
export const invalidSpec = (given: Given): Invalid | undefined =>
  name(given) ?? environmentId(given) ?? region(given) ?? signingKey(given) ?? token(given) ?? replicas(given) ?? variables(given)

const name = ({ environment: { metadata } }: Given): Invalid | undefined =>
  metadata.name.length <= 56 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(metadata.name)
    ? undefined
    : invalid(
        "metadata.name: must have at most 56 characters, only a-z, 0-9 and '-', and neither start nor end with '-': a Service is named after it",
      )

const environmentId = ({ environment: { spec } }: Given): Invalid | undefined =>
  /^(env_)?[A-Za-z0-9_-]+$/.test(spec.environmentId)
    ? undefined
    : invalid(`spec.environmentId: must be an id such as env_1a2b3c, only letters, digits, '_' and '-', not ${quote(spec.environmentId)}`)

const region = ({ environment: { spec } }: Given): Invalid | undefined =>
  /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(spec.region)
    ? undefined
    : invalid(`spec.region: must be one or more names of a-z, 0-9 and '-' with single dots between them, not ${quote(spec.region)}`)

/** Not quoted: somebody may have put a private key there. */
const signingKey = ({ environment: { spec } }: Given): Invalid | undefined =>
  spec.signingPublicKey.startsWith("publickeyv1_")
    ? undefined
    : { _tag: "Invalid", error: "InvalidSigningKey", message: "spec.signingPublicKey: must begin with publickeyv1_" }

const token = ({ environment }: Given): Invalid | undefined => {
  const secret = tokenOf(environment)
  const field = secret.name === "" ? "name" : secret.key === "" ? "key" : undefined
  return field === undefined ? undefined : invalid(`spec.authentication.secret.${field}: must not be empty`)
}

const replicas = ({ environment: { spec } }: Given): Invalid | undefined =>
  (spec.tunnel?.replicas ?? 0) < 0 ? invalid("spec.tunnel.replicas: must be 0 or more") : undefined

/** Variables are told apart by name: the API server refuses the whole with two of one name. */
const variables = ({ environment: { spec } }: Given): Invalid | undefined => {
  const names = (spec.tunnel?.env ?? []).map((entry) => entry.name)
  const twice = names.find((each, index) => names.indexOf(each) < index)
  return twice === undefined ? undefined : invalid(`spec.tunnel.env: ${twice} is there twice`)
}

const quote = (given: string): string => JSON.stringify(given.slice(0, 60))
