/** The address of a tunnel inside the Kubernetes cluster (operator.md §5). */
import type { Desired } from "../../engine/action.ts"
import { childMetadata, type Given, tunnelName, tunnelSelector } from "../given.ts"
import { ports } from "./ports.ts"

export const tunnelService = (given: Given): Desired => ({
  ref: { kind: "TunnelService", namespace: given.settings.operatorNamespace, name: tunnelName(given.environment.metadata.name) },
  body: {
    metadata: childMetadata(given),
    spec: {
      type: "ClusterIP",
      selector: tunnelSelector(given),
      ports: ports(given).map(({ h2c, name, number }) => ({
        name,
        port: number,
        protocol: "TCP",
        targetPort: number,
        ...(h2c ? { appProtocol: "kubernetes.io/h2c" } : {}),
      })),
    },
  },
})
