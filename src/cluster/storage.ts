/** Volumes that grow or change their class (operator.md §2.5). A StatefulSet cannot change its claim template, so it is replaced under its pods. */
import type { Action } from "../engine/action.ts"
import type { PersistentVolumeClaim, StatefulSet } from "../resources/kubernetes.ts"
import { quantity } from "../formats/quantity.ts"
import type { Given } from "./given.ts"

/** Claims that ask for less than the spec does, or for another class. A larger one, grown by hand, is left: no claim can shrink. */
export const claimUpdates = ({ cluster, settings }: Given, claims: ReadonlyArray<PersistentVolumeClaim>): ReadonlyArray<Action> => {
  const { storageRequestBytes, volumeAttributesClassName } = cluster.spec.storage
  return claims
    .filter(
      ({ spec }) =>
        billionths(spec.resources?.requests?.storage) < wanted(storageRequestBytes) ||
        // Removing it from the spec leaves the claims as they are.
        (volumeAttributesClassName && spec.volumeAttributesClassName !== volumeAttributesClassName),
    )
    .map(({ metadata: { name, uid } }) => ({
      _tag: "Apply",
      object: {
        ref: { kind: "PersistentVolumeClaim", namespace: cluster.metadata.name, name },
        body: {
          // Of exactly this claim: an apply would make one that is gone, without its volume.
          metadata: { uid },
          spec: {
            resources: { requests: { storage: String(storageRequestBytes) } },
            ...(volumeAttributesClassName ? { volumeAttributesClassName } : {}),
          },
        },
      },
      manager: settings.vocabulary.managers.main,
    }))
}

/** Why the StatefulSet has to be made anew; undefined when its claim template is as the spec says. */
export const outgrown = ({ cluster }: Given, { spec }: StatefulSet): string | undefined => {
  const template = spec.volumeClaimTemplates?.[0]?.spec
  if (template === undefined) return undefined
  const { storageRequestBytes, volumeAttributesClassName } = cluster.spec.storage
  const request = template.resources?.requests?.storage ?? ""
  if (billionths(request) !== wanted(storageRequestBytes)) return `volumes of ${request} become volumes of ${storageRequestBytes}`
  const before = template.volumeAttributesClassName ?? ""
  const after = volumeAttributesClassName ?? ""
  return before === after ? undefined : `the attributes class of volumes changes from "${before}" to "${after}"`
}

/** A quantity, as exactly as the API server keeps it; one that cannot be read is less than anything. */
const billionths = (text: string | undefined): bigint => quantity(text ?? "") ?? -1n

const wanted = (bytes: number): bigint => BigInt(bytes) * 1_000_000_000n
