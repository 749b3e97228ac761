/** The pods of a tunnel (operator.md §5). */
import type { Desired } from "../../engine/action.ts"
import { restrictedContainer, restrictedPod } from "../../resources/pod-security.ts"
import { childMetadata, type Given, marks, tunnelName, tunnelSelector } from "../given.ts"
import { tokenOf } from "../token.ts"
import { health, ports } from "./ports.ts"
import { variables } from "./variables.ts"

/** Name of the volume, and of the file in it. */
const bearerToken = "bearer-token"

/** `digest`: of the token. Mounted by subPath it never changes in a pod that runs, so another one needs other pods. */
export const tunnelDeployment = (given: Given, digest: string): Desired => {
  const { environment, settings } = given
  const { annotations, labels } = marks(given)
  return {
    ref: { kind: "TunnelDeployment", namespace: settings.operatorNamespace, name: tunnelName(environment.metadata.name) },
    body: {
      metadata: childMetadata(given),
      spec: {
        replicas: environment.spec.tunnel?.replicas,
        selector: { matchLabels: tunnelSelector(given) },
        template: {
          metadata: { labels, annotations: { ...annotations, [settings.vocabulary.annotations.bearerToken]: digest } },
          spec: podSpec(given),
        },
      },
    },
  }
}

const podSpec = (given: Given) => {
  const { environment } = given
  const { affinity, dnsConfig, dnsPolicy, nodeSelector, tolerations } = environment.spec.tunnel ?? {}
  const { key, name: secretName } = tokenOf(environment)
  return {
    automountServiceAccountToken: false,
    // The client lets requests that go through it end for five minutes.
    terminationGracePeriodSeconds: 310,
    securityContext: restrictedPod,
    containers: [container(given)],
    affinity,
    dnsConfig,
    dnsPolicy,
    nodeSelector,
    tolerations,
    volumes: [{ name: bearerToken, secret: { secretName, items: [{ key, path: bearerToken }] } }],
  }
}

const standardResources = { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "2Gi" } }

const container = (given: Given) => {
  const { environment, settings } = given
  const { image, imagePullPolicy, resources } = environment.spec.tunnel ?? {}
  return {
    name: settings.vocabulary.tunnel.client,
    image: image || settings.tunnelClientImage,
    imagePullPolicy,
    resources: resources ?? standardResources,
    ports: ports(given).map(({ name, number }) => ({ name, containerPort: number, protocol: "TCP" })),
    env: variables(given),
    readinessProbe: { httpGet: { path: "/health", port: health.number } },
    securityContext: restrictedContainer,
    volumeMounts: [{ name: bearerToken, mountPath: settings.vocabulary.tunnel.tokenPath, subPath: bearerToken, readOnly: true }],
  }
}
