/** The private key by which a server signs its requests (operator.md §2.10). */
import type { Given } from "../given.ts"

export const signingKeyMount = "/signing-key"
const file = "private.pem"
const volumeOfSecret = "request-signing-private-key-secret"
const volumeOfProvider = "request-signing-private-key-secret-provider"

/** Name of the SecretProviderClass; the same in both vocabularies. */
const providerClassName = "request-signing-key-v1"

/** Path of the key inside the container; undefined when requests are not signed. */
export const keyFile = ({ cluster }: Given): string | undefined => {
  const key = cluster.spec.security?.requestSigningPrivateKey
  if (key?.secret) return `${signingKeyMount}/${file}`
  return key?.secretProvider ? `${signingKeyMount}/${key.secretProvider.path}` : undefined
}

/** The volume that holds the key; its name tells where it comes from. */
export const keyVolume = ({ cluster }: Given): { readonly name: string; readonly [field: string]: unknown } | undefined => {
  const key = cluster.spec.security?.requestSigningPrivateKey
  if (key?.secret) {
    const { secretName } = key.secret
    return { name: volumeOfSecret, secret: { secretName, defaultMode: 0o400, items: [{ key: key.secret.key, path: file, mode: 0o400 }] } }
  }
  if (key?.secretProvider) {
    const csi = { driver: "secrets-store.csi.k8s.io", readOnly: true, volumeAttributes: { secretProviderClass: providerClassName } }
    return { name: volumeOfProvider, csi }
  }
  return undefined
}
