/** Certificates that a server trusts beside those of its image (operator.md §2.7). */
import { sha256 } from "../../formats/sha256.ts"
import type { Given } from "../given.ts"

type Part = { readonly [field: string]: unknown }

const mount = "/combined-certs"
const file = "ca-certificates.crt"
const system = `/etc/ssl/certs/${file}`
const combined = "combined-ca-certs"

export const combineContainer = "combine-ca-certs"

const certificates = ({ cluster }: Given) => cluster.spec.security?.trustedCaCerts ?? []

/** The bundle inside the container; undefined when the image's own is enough. */
export const bundleFile = (given: Given): string | undefined => (certificates(given).length === 0 ? undefined : `${mount}/${file}`)

export const caVolumes = (given: Given): ReadonlyArray<Part & { readonly name: string }> =>
  certificates(given).length === 0
    ? []
    : [
        ...certificates(given).map(({ key, secretName }, index) => ({
          name: `trusted-ca-${index}`,
          secret: { secretName, defaultMode: 0o444, items: [{ key, path: "ca.pem", mode: 0o444 }] },
        })),
        { name: combined, emptyDir: {} },
      ]

export const caMounts = (given: Given): ReadonlyArray<Part & { readonly name: string; readonly mountPath: string }> =>
  certificates(given).length === 0 ? [] : [{ name: combined, mountPath: mount, readOnly: true }]

/** Before all others, the system's certificates first. */
export const combine = (given: Given): ReadonlyArray<Part & { readonly name: string }> => {
  const all = certificates(given)
  if (all.length === 0) return []
  const files = [system, ...all.map((_, index) => `/trusted-ca-${index}/ca.pem`)]
  return [
    {
      name: combineContainer,
      image: given.settings.canaryImage,
      command: ["sh", "-c", `cat ${files.join(" ")} > ${mount}/${file}`],
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      volumeMounts: [
        ...all.map((_, index) => ({ name: `trusted-ca-${index}`, mountPath: `/trusted-ca-${index}`, readOnly: true })),
        { name: combined, mountPath: mount },
      ],
    },
  ]
}

/** Which certificates, not what is in them: a renewed Secret does not roll the pods. */
export const caAnnotation = (given: Given): { readonly [key: string]: string } => {
  const all = certificates(given)
  if (all.length === 0) return {}
  const text = all.map(({ key, secretName }) => `${secretName}:${key},`).join("")
  return { [given.settings.vocabulary.annotations.trustedCaCerts]: sha256(text).toString("hex") }
}
