/** The scale selector: the pods of the latest version, in the string form that the scale subresource wants. */
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { hashLabel, type Wanted } from "./version.ts"

export const labelSelector = (deployment: ServiceDeployment, wanted: Wanted): string => {
  const { selector } = deployment.spec
  const labels = Object.entries({ ...selector?.matchLabels, [hashLabel]: wanted.hash }).map(([key, value]) => `${key}=${value}`)
  const expressions = (selector?.matchExpressions ?? []).map(({ key, operator, values }) => {
    switch (operator) {
      case "Exists":
        return key
      case "DoesNotExist":
        return `!${key}`
      case "NotIn":
        return `${key} notin (${(values ?? []).toSorted().join(",")})`
      default:
        return `${key} in (${(values ?? []).toSorted().join(",")})`
    }
  })
  return [...labels, ...expressions].toSorted().join(",")
}
