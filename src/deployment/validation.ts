/** The admission rules again, for objects that predate them or met an older CRD (operator.md §1.2). */
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import { type Addresses, type Invalid, registerTarget } from "./target.ts"

/** The first field that makes no sense; the register target is judged by {@link registerTarget}. */
export const invalidSpec = (deployment: ServiceDeployment, addresses: Addresses): Invalid | undefined => {
  const { spec } = deployment
  // An older CRD may let anything through, so nothing that the types promise is taken for granted here.
  if (!isObject(spec?.template?.spec)) return invalid("spec.template.spec", "must be a pod spec")
  if (!isObject(spec.restate)) return invalid("spec.restate", "is missing")
  const target = registerTarget(spec.restate.register, addresses)
  if (target._tag === "Invalid") return target
  return rules.map((rule) => rule(deployment)).find((found) => found !== undefined)
}

type Rule = (deployment: ServiceDeployment) => Invalid | undefined

const rules: ReadonlyArray<Rule> = [
  ({ spec }) =>
    spec.deploymentMode === "knative" ? invalid("spec.deploymentMode", "knative is not supported yet; use replicaset") : undefined,
  ({ spec }) => {
    const labels = spec.template.metadata?.labels ?? {}
    const pair = Object.entries(spec.selector?.matchLabels ?? {}).find(([key, value]) => labels[key] !== value)
    return pair === undefined
      ? undefined
      : invalid(
          "spec.selector.matchLabels",
          `${pair[0]}=${pair[1]} is not a label of spec.template.metadata.labels, so no pod would ever match`,
        )
  },
  // `<name>-<hash>` names a Service: 63 characters, beginning with a letter; the hash takes up to 11 with its dash.
  ({ metadata }) =>
    metadata.name.length > 52 || !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(metadata.name)
      ? invalid("metadata.name", "must be at most 52 lowercase letters, digits and dashes, beginning with a letter")
      : undefined,
  ({ spec }) => {
    const path = spec.restate.servicePath ?? ""
    return /[?#\s]|:\/\//.test(path) || path.split("/").includes("..")
      ? invalid("spec.restate.servicePath", "must be a plain path, such as /api")
      : undefined
  },
]

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value)
const invalid = (field: string, message: string): Invalid => ({ _tag: "Invalid", field, message })
