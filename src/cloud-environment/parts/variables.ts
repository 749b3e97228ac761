/** The variables of the tunnel client (operator.md §5). It has two spellings of its own in one of the vocabularies. */
import type { EnvVar } from "../../resources/parts.ts"
import { replacedBy, spelled } from "../../resources/variables.ts"
import type { Given } from "../given.ts"
import { remoteProxy } from "./ports.ts"

/** Ours, and the user's in their place. */
export const variables = ({ environment, settings: { vocabulary } }: Given): ReadonlyArray<EnvVar> => {
  const { metadata, spec } = environment
  const prefixes = vocabulary.server.variables
  const own = (name: string, value: string) => spelled(prefixes, name, value)
  return replacedBy(
    prefixes,
    [
      // Part of the address under which services are registered: another environment of the same name is another tunnel.
      ...own("TUNNEL_NAME", metadata.uid),
      ...own("SIGNING_PUBLIC_KEY", spec.signingPublicKey),
      ...own("ENVIRONMENT_ID", spec.environmentId),
      ...own("CLOUD_REGION", spec.region),
      ...own("BEARER_TOKEN_FILE", vocabulary.tunnel.tokenPath),
      ...own("REMOTE_PROXY", String(remoteProxy(environment))),
      { name: "RUST_BACKTRACE", value: "1" },
      { name: "RUST_LIB_BACKTRACE", value: "0" },
      { name: "RUST_LOG", value: "info" },
    ],
    spec.tunnel?.env ?? [],
  )
}
