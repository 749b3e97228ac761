/** What the pod security standard "restricted" asks of every pod that the operator makes (operator.md §8.4). */

/** Of the pod. */
export const restrictedPod = {
  runAsNonRoot: true,
  runAsUser: 1000,
  runAsGroup: 3000,
  fsGroup: 2000,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
} as const

/** Of each container. */
export const restrictedContainer = {
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
} as const
