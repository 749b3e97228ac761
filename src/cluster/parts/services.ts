/** Where clients find a server, and where its nodes find each other (operator.md §2.4). */
import type { Desired } from "../../engine/action.ts"
import { childMetadata, clusterSelector, type Given } from "../given.ts"
import { appProtocol, ports } from "./ports.ts"

const port = (name: string, number: number) => ({ name, port: number, protocol: "TCP", targetPort: number, appProtocol })

export const clientService = (given: Given): Desired => ({
  ref: { kind: "ServerService", namespace: given.cluster.metadata.name, name: given.settings.vocabulary.service },
  body: {
    metadata: childMetadata(given, given.cluster.spec.security?.serviceAnnotations ?? {}),
    spec: {
      type: "ClusterIP",
      selector: clusterSelector(given),
      ports: [port("ingress", ports.ingress), port("admin", ports.admin), port("metrics", ports.node)],
    },
  },
})

/** With addresses that are not ready: nodes must find each other before any of them is. */
export const nodeService = (given: Given): Desired => ({
  ref: { kind: "ServerService", namespace: given.cluster.metadata.name, name: given.settings.vocabulary.server.nodes },
  body: {
    metadata: childMetadata(given),
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: clusterSelector(given),
      ports: [port("node", ports.node)],
    },
  },
})
