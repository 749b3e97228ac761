import type { KubernetesClient } from "./kubernetes-client.ts"
import type { Sandbox } from "./sandbox.ts"

/** Where `register.service` of the examples leads. */
export const serverService = { namespace: "durable", name: "durable-server", port: 9070 } as const

/**
 * Gives the durable-execution server, a process of the host, a name in the cluster: a Service without selector and the
 * EndpointSlice that a controller would write. Pod addresses 10.b.c.d stand for 127.b.c.d, so 10.0.0.1 is this machine.
 */
export const nameServer = async (sandbox: Sandbox, { namespace, name, port } = serverService): Promise<void> => {
  await ensureNamespace(sandbox.client, namespace)
  await sandbox.client.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace },
    spec: { ports: [{ name: "admin", port }] },
  })
  await sandbox.client.apply({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${name}-host`, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "admin", port: Number(new URL(sandbox.adminUrl).port) }],
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
  })
}

export const ensureNamespace = async (client: KubernetesClient, name: string): Promise<void> => {
  await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
}
