import { writeFileSync } from "node:fs"
import type { Identity } from "./certificates.ts"

/** How a kubeconfig's user proves who it is. */
export type Credential = { readonly identity: Identity } | { readonly token: string }

const base64 = (text: string): string => Buffer.from(text).toString("base64")

/** Writes a kubeconfig (as JSON, which every reader of YAML takes) that only its owner may read. */
export const writeKubeconfig = (
  file: string,
  server: string,
  authorityPem: string | undefined,
  user: string,
  credential: Credential,
  namespace = "default",
): string => {
  const proof =
    "token" in credential
      ? { token: credential.token }
      : {
          "client-certificate-data": base64(credential.identity.certificatePem),
          "client-key-data": base64(credential.identity.keyPem),
        }
  // Without an authority of its own the server is vouched for by one that everybody knows.
  const authority = authorityPem === undefined ? {} : { "certificate-authority-data": base64(authorityPem) }
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "sandbox", cluster: { server, ...authority } }],
    users: [{ name: user, user: proof }],
    contexts: [{ name: "sandbox", context: { cluster: "sandbox", user, namespace } }],
    "current-context": "sandbox",
  }
  writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
  return file
}
