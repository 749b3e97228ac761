/** The API token of an environment: where it is, and whether it is there. What it says nobody here knows. */
import type { ServiceCloudEnvironment } from "../resources/generated/service-cloud-environment.ts"
import type { Secret } from "../resources/kubernetes.ts"
import type { Snapshot } from "./snapshot.ts"

/** A Secret of the operator's namespace, and an entry of it; `""` what the object does not say. */
export const tokenOf = ({ spec }: ServiceCloudEnvironment): { readonly name: string; readonly key: string } => {
  // An older CRD may let anything through.
  const secret: Partial<typeof spec.authentication.secret> | undefined = spec.authentication?.secret
  return { name: secret?.name ?? "", key: secret?.key ?? "" }
}

export type Token =
  | { readonly _tag: "Found"; readonly digest: string }
  | { readonly _tag: "SecretNotFound"; readonly name: string; readonly key: string }
  | { readonly _tag: "SecretKeyNotFound"; readonly name: string; readonly key: string }

/** An entry without content is no token. */
export const findToken = ({ environment, secret }: Pick<Snapshot, "environment" | "secret">): Token => {
  const { key, name } = tokenOf(environment)
  if (secret === undefined) return { _tag: "SecretNotFound", name, key }
  const digest = digestOf(secret, key)
  return digest === undefined ? { _tag: "SecretKeyNotFound", name, key } : { _tag: "Found", digest }
}

/** By its own entries only: `constructor` is a valid key. */
const digestOf = ({ digests }: Secret, key: string): string | undefined => (Object.hasOwn(digests, key) ? digests[key] : undefined)
