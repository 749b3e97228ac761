import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { isIPv4 } from "node:net"
import { join } from "node:path"
import { der } from "./der.ts"

/** Who a certificate is for. */
export interface Subject {
  readonly commonName: string
  /** Kubernetes reads a client's groups from here. */
  readonly organization?: string
}

/** A private key with its certificate, both also as PEM. */
export interface Identity {
  readonly subject: Subject
  readonly key: KeyObject
  /** Ties a certificate to its issuer; strict clients insist on it. */
  readonly keyIdentifier: Uint8Array
  readonly keyPem: string
  readonly certificatePem: string
}

const oid = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extendedKeyUsage: "2.5.29.37",
  subjectAlternativeName: "2.5.29.17",
  subjectKeyIdentifier: "2.5.29.14",
  authorityKeyIdentifier: "2.5.29.35",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
}

const dayMs = 86_400_000
const algorithm = der.sequence(der.objectIdentifier(oid.ecdsaWithSha256))

const attribute = (id: string, value: string): Buffer => der.set(der.sequence(der.objectIdentifier(id), der.utf8String(value)))

const name = ({ commonName, organization }: Subject): Buffer =>
  der.sequence(...(organization === undefined ? [] : [attribute(oid.organization, organization)]), attribute(oid.commonName, commonName))

const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  der.sequence(der.objectIdentifier(id), ...(critical ? [der.boolean(true)] : []), der.octetString(value))

const alternativeName = (host: string): Buffer =>
  isIPv4(host) ? der.implicit(7, Buffer.from(host.split(".").map(Number))) : der.implicit(2, Buffer.from(host, "ascii"))

const issue = (subject: Subject, issuer: Identity | undefined, extensions: ReadonlyArray<Buffer>): Identity => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const publicDer = publicKey.export({ type: "spki", format: "der" })
  const keyIdentifier = createHash("sha256").update(publicDer).digest().subarray(0, 20)
  const now = Date.now()
  const signed = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(randomBytes(16)),
    algorithm,
    name(issuer?.subject ?? subject),
    // An hour back, because clocks that share a kernel still round differently.
    der.sequence(der.utcTime(new Date(now - dayMs / 24)), der.utcTime(new Date(now + 365 * dayMs))),
    name(subject),
    publicDer,
    der.explicit(
      3,
      der.sequence(
        ...extensions,
        extension(oid.subjectKeyIdentifier, false, der.octetString(keyIdentifier)),
        extension(oid.authorityKeyIdentifier, false, der.sequence(der.implicit(0, issuer?.keyIdentifier ?? keyIdentifier))),
      ),
    ),
  )
  const certificate = der.sequence(signed, algorithm, der.bitString(sign("sha256", signed, issuer?.key ?? privateKey)))
  const lines = certificate.toString("base64").replace(/.{1,64}/g, "$&\n")
  return {
    subject,
    key: privateKey,
    keyIdentifier,
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    certificatePem: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
  }
}

/** A new certificate authority that signs itself. */
export const createAuthority = (commonName: string): Identity =>
  issue({ commonName }, undefined, [
    extension(oid.basicConstraints, true, der.sequence(der.boolean(true))),
    // digitalSignature, keyCertSign, cRLSign
    extension(oid.keyUsage, true, der.bitString(Buffer.from([0b1000_0110]), 1)),
  ])

const leafUsage = (purpose: string): ReadonlyArray<Buffer> => [
  extension(oid.keyUsage, true, der.bitString(Buffer.from([0b1000_0000]), 7)),
  extension(oid.extendedKeyUsage, false, der.sequence(der.objectIdentifier(purpose))),
]

/** A certificate with which a client proves who it is. */
export const createClient = (authority: Identity, subject: Subject): Identity => issue(subject, authority, leafUsage(oid.clientAuth))

/** A certificate with which a server proves that it is each of `hosts` (names and IPv4 addresses). */
export const createServer = (authority: Identity, subject: Subject, hosts: ReadonlyArray<string>): Identity =>
  issue(subject, authority, [
    ...leafUsage(oid.serverAuth),
    extension(oid.subjectAlternativeName, false, der.sequence(...hosts.map(alternativeName))),
  ])

/** A key pair without certificate, for signing tokens. */
export const createKeyPair = (): { readonly privatePem: string; readonly publicPem: string } => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return {
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  }
}

/** Where the files of an identity lie. */
export interface IdentityFiles {
  readonly certificate: string
  readonly key: string
}

/** Writes `<name>.crt` and `<name>.key` (for the owner's eyes only). */
export const writeIdentity = (directory: string, fileName: string, identity: Identity): IdentityFiles => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const files = { certificate: join(directory, `${fileName}.crt`), key: join(directory, `${fileName}.key`) }
  writeFileSync(files.certificate, identity.certificatePem)
  writeFileSync(files.key, identity.keyPem, { mode: 0o600 })
  return files
}
