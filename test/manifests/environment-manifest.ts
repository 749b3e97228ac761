/** An environment that every rule accepts, and ways to break one rule each. */
import type { Vocabulary } from "#src/vocabulary.ts"
import type { JsonObject } from "../support/api-server.ts"
import { merged } from "../support/merge-patch.ts"
import type { Manifest, Violation } from "./violation.ts"

const validSpec: JsonObject = {
  environmentId: "env_1a2b3c",
  region: "eu.central",
  signingPublicKey: "publickeyv1_4d5e6f",
  authentication: { secret: { name: "token", key: "token" } },
}

/** A valid environment with a merge patch applied to its spec. */
export const environment = (vocabulary: Vocabulary, name: string, patch: JsonObject = {}): Manifest => {
  const { group, version, kind } = vocabulary.resources.environment
  return { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec: merged(validSpec, patch) }
}

/** Rules that the definition of the operator before this one does not have: objects that break them may exist. */
export const stricterThanBefore: ReadonlyArray<Violation> = [
  { breaks: "a long name", name: "a".repeat(57), field: "name", says: "at most 56 characters" },
  { breaks: "a dotted name", name: "main.eu", field: "name", says: "a Service is named after it" },
  ...["", ".eu", "eu.", "eu..central", "EU", "eu/central", "eu central", "eu:1"].map(region),
  ...["", "env:1", "env_1/2", "env 1"].map(environmentId),
  {
    breaks: "a signing key of another kind",
    spec: { signingPublicKey: "ssh-ed25519 AAAA" },
    field: "spec.signingPublicKey",
    says: "must begin with publickeyv1_",
  },
  { breaks: "negative replicas", spec: { tunnel: { replicas: -1 } }, field: "spec.tunnel.replicas", says: "replicas must be 0 or more" },
  {
    breaks: "two variables of one name",
    spec: { tunnel: { env: [{ name: "A", value: "1" }, { name: "A" }] } },
    field: "spec.tunnel.env[1]",
    says: "Duplicate value",
  },
]

/** Rules that both definitions have. */
export const strictAsBefore: ReadonlyArray<Violation> = [
  ...["environmentId", "region", "signingPublicKey", "authentication"].map((field) => ({
    breaks: `no ${field}`,
    spec: { [field]: null },
    field: `spec.${field}`,
    says: "Required value",
  })),
  {
    breaks: "a token of no Secret",
    spec: { authentication: { secret: null } },
    field: "spec.authentication.secret",
    says: "Required value",
  },
  {
    breaks: "a token without entry",
    spec: { authentication: { secret: { key: null } } },
    field: "spec.authentication.secret.key",
    says: "Required value",
  },
]

function region(value: string): Violation {
  return { breaks: `the region "${value}"`, spec: { region: value }, field: "spec.region", says: "with single dots between them" }
}

function environmentId(value: string): Violation {
  return {
    breaks: `the environment "${value}"`,
    spec: { environmentId: value },
    field: "spec.environmentId",
    says: "environmentId must be an id such as",
  }
}
