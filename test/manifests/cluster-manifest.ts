/** A cluster that every rule accepts, and ways to break one rule each. */
import type { Vocabulary } from "#src/vocabulary.ts"
import type { JsonObject } from "../support/api-server.ts"
import { merged } from "../support/merge-patch.ts"
import type { Manifest, Violation } from "./violation.ts"

const validSpec: JsonObject = { storage: { storageRequestBytes: 1_000 }, compute: { image: "server:1" } }

/** A valid cluster with a merge patch applied to its spec. */
export const cluster = (vocabulary: Vocabulary, name: string, patch: JsonObject = {}): Manifest => {
  const { group, version, kind } = vocabulary.resources.cluster
  return { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec: merged(validSpec, patch) }
}

const secret = { secretName: "signing", key: "private.pem" }
const signingKey = "spec.security.requestSigningPrivateKey"
const oneSource = "exactly one of secret and secretProvider must be set"

/** Rules that the definition of the operator before this one does not have: objects that break them may exist. */
export const stricterThanBefore = ({ server }: Vocabulary): ReadonlyArray<Violation> => [
  { breaks: "a long name", name: "a".repeat(64), field: "name", says: "at most 63 characters" },
  { breaks: "a dotted name", name: "main.eu", field: "name", says: "it is the name of a namespace" },
  { breaks: "negative replicas", spec: { compute: { replicas: -1 } }, field: "spec.compute.replicas", says: "replicas must be 0 or more" },
  ...["POD_NAME", "POD_ZONE", "POD_REGION"].map(variable),
  ...[
    "storage",
    "tmp",
    "config",
    "combined-ca-certs",
    "trusted-ca-0",
    "request-signing-private-key-secret",
    "request-signing-private-key-secret-provider",
  ].map(volume),
  ...[
    server.dataPath,
    "/tmp",
    "/config",
    "/signing-key",
    "/combined-certs",
    "/tmp/",
    "//tmp/.",
    "/./tmp",
    "tmp",
    `${server.dataPath}//`,
  ].map(mount),
  ...[server.container, "combine-ca-certs"].map(sidecar),
  {
    breaks: "two variables of one name",
    spec: { compute: { env: [{ name: "A", value: "1" }, { name: "A" }] } },
    field: "spec.compute.env[1]",
    says: "Duplicate value",
  },
  {
    breaks: "two volumes of one name",
    spec: { compute: { extraVolumes: [{ name: "a", emptyDir: {} }, { name: "a" }] } },
    field: "spec.compute.extraVolumes[1]",
    says: "Duplicate value",
  },
  {
    breaks: "two mounts at one path",
    spec: { compute: { extraVolumeMounts: ["a", "b"].map((name) => ({ name, mountPath: "/a" })) } },
    field: "spec.compute.extraVolumeMounts[1]",
    says: "Duplicate value",
  },
  {
    breaks: "two sidecars of one name",
    spec: { compute: { sidecars: ["a:1", "a:2"].map((image) => ({ name: "a", image })) } },
    field: "spec.compute.sidecars[1]",
    says: "Duplicate value",
  },
  {
    breaks: "too many variables",
    spec: { compute: { env: Array.from({ length: 257 }, (_, index) => ({ name: `A${index}` })) } },
    field: "spec.compute.env",
    says: "must have at most 256 items",
  },
  {
    breaks: "a path that Linux does not have",
    spec: { compute: { extraVolumeMounts: [{ name: "a", mountPath: "/a".repeat(2_049) }] } },
    field: "spec.compute.extraVolumeMounts[0].mountPath",
    says: "Too long",
  },
  {
    breaks: "a quantity in words",
    spec: { compute: { resources: { limits: { memory: "plenty" } } } },
    field: "spec.compute.resources.limits.memory",
    says: "should match",
  },
  {
    breaks: "another version of request signing",
    ...signing({ version: "v2", secret }),
    field: `${signingKey}.version`,
    says: "must be v1",
  },
  { breaks: "a signing key from nowhere", ...signing({ version: "v1" }), says: oneSource },
  { breaks: "a signing key from two places", ...signing({ version: "v1", secret, secretProvider: { path: "key.pem" } }), says: oneSource },
]

/** Rules that both definitions have. */
export const strictAsBefore: ReadonlyArray<Violation> = [
  { breaks: "no storage", spec: { storage: null }, field: "spec.storage", says: "Required value" },
  { breaks: "no compute", spec: { compute: null }, field: "spec.compute", says: "Required value" },
  { breaks: "no image", spec: { compute: { image: null } }, field: "spec.compute.image", says: "Required value" },
  {
    breaks: "a volume of nothing",
    spec: { storage: { storageRequestBytes: 0 } },
    field: "spec.storage.storageRequestBytes",
    says: "should be greater than or equal to 1",
  },
  {
    breaks: "a size with a unit",
    spec: { storage: { storageRequestBytes: "1Gi" } },
    field: "spec.storage.storageRequestBytes",
    says: "must be of type integer",
  },
  {
    breaks: "a variable without name",
    spec: { compute: { env: [{ value: "x" }] } },
    field: "spec.compute.env[0].name",
    says: "Required value",
  },
  {
    breaks: "a mount without path",
    spec: { compute: { extraVolumeMounts: [{ name: "data" }] } },
    field: "spec.compute.extraVolumeMounts[0].mountPath",
    says: "Required value",
  },
  {
    breaks: "a word for a peer",
    spec: { security: { networkPeers: { ingress: ["everybody"] } } },
    field: "spec.security.networkPeers.ingress[0]",
    says: "must be of type object",
  },
  { breaks: "a signing key without version", ...signing({ secret }), field: `${signingKey}.version`, says: "Required value" },
  {
    breaks: "a signing key without entry",
    ...signing({ version: "v1", secret: { secretName: "signing" } }),
    field: `${signingKey}.secret.key`,
    says: "Required value",
  },
  {
    breaks: "a secret store without path",
    ...signing({ version: "v1", secretProvider: { provider: "aws" } }),
    field: `${signingKey}.secretProvider.path`,
    says: "Required value",
  },
  {
    breaks: "a certificate without entry",
    spec: { security: { trustedCaCerts: [{ secretName: "ca" }] } },
    field: "spec.security.trustedCaCerts[0].key",
    says: "Required value",
  },
]

function signing(requestSigningPrivateKey: JsonObject): Pick<Violation, "spec" | "field"> {
  return { spec: { security: { requestSigningPrivateKey } }, field: signingKey }
}

function variable(name: string): Violation {
  return {
    breaks: `the variable ${name}`,
    spec: { compute: { env: [{ name: "FINE" }, { name, value: "x" }] } },
    field: "spec.compute.env[1].name",
    says: "POD_NAME, POD_ZONE and POD_REGION come from the pod itself",
  }
}

function volume(name: string): Violation {
  return {
    breaks: `a volume named ${name}`,
    spec: {
      compute: {
        extraVolumes: [
          { name: "fine", emptyDir: {} },
          { name, emptyDir: {} },
        ],
      },
    },
    field: "spec.compute.extraVolumes[1].name",
    says: "the names storage, tmp, config, combined-ca-certs, trusted-ca-*, request-signing-private-key-secret and",
  }
}

function mount(mountPath: string): Violation {
  return {
    breaks: `a mount at ${mountPath}`,
    spec: { compute: { extraVolumeMounts: [{ name: "data", mountPath }] } },
    field: "spec.compute.extraVolumeMounts[0].mountPath",
    says: "/tmp, /config, /signing-key and /combined-certs are for mounts of the operator",
  }
}

function sidecar(name: string): Violation {
  return {
    breaks: `a sidecar named ${name}`,
    spec: { compute: { sidecars: [{ name, image: "proxy:1" }] } },
    field: "spec.compute.sidecars[0].name",
    says: "containers of the operator",
  }
}
