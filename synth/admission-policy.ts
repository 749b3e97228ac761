/**
 * Deletions that would go past the finalizer. A foreground deletion makes the garbage collector delete the ReplicaSets of
 * all versions at once, whoever holds the object; an orphaning one leaves them running with nobody to drain them.
 */
import type { Vocabulary } from "#src/vocabulary.ts"

type Manifest = { readonly apiVersion: string; readonly kind: string; readonly [field: string]: unknown }

const apiVersion = "admissionregistration.k8s.io/v1"

/** The policy, and the binding that puts it into force. */
export const admissionPolicy = (
  { operator, resources: { deployment } }: Vocabulary,
  labels: { readonly [key: string]: string },
): ReadonlyArray<Manifest> => {
  const name = `${operator}-deletion`
  const metadata = { name, labels }
  const instead =
    "delete in the background, which is the default: the operator removes the versions itself as soon as they have no unfinished invocations"
  return [
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            { apiGroups: [deployment.group], apiVersions: [deployment.version], operations: ["DELETE"], resources: [deployment.plural] },
          ],
        },
        // Without our finalizer there is nothing to go past.
        matchConditions: [
          { name: "held", expression: `has(oldObject.metadata.finalizers) && "${deployment.finalizer}" in oldObject.metadata.finalizers` },
        ],
        validations: [
          {
            expression: '!has(request.options.propagationPolicy) || request.options.propagationPolicy == "Background"',
            messageExpression: `"propagationPolicy " + string(request.options.propagationPolicy) + " would take the pods from running invocations; ${instead}"`,
            message: `this propagationPolicy would take the pods from running invocations; ${instead}`,
            reason: "Forbidden",
          },
        ],
      },
    },
    { apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata, spec: { policyName: name, validationActions: ["Deny"] } },
  ]
}
