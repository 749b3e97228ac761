import { answersQueries } from "../durable-server.ts"
import type { KubernetesClient } from "../kubernetes-client.ts"
import { serverImage } from "../images/server.ts"
import { serverService } from "../server-name.ts"
import { waitFor } from "../wait.ts"
import type { Manifest } from "./manifest.ts"

/** The durable-execution server of the cluster, as the host and as pods reach it. */
export interface ClusterServer {
  /** By cluster address, because the host does not know the cluster's names. */
  readonly adminUrl: string
  readonly ingressUrl: string
  readonly namespace: string
  readonly name: string
  /** Replaces the pod; the data stays. With `kill` the old one gets no time to end in order. */
  restart(options?: { readonly kill?: boolean }): Promise<void>
}

const { namespace, name } = serverService
const labels = { app: name }
const ports = [
  { name: "ingress", port: 8080 },
  { name: "admin", port: 9070 },
  { name: "node", port: 5122 },
]

const defaults = {
  RESTATE_BASE_DIR: "/data",
  RESTATE_NODE_NAME: name,
  // Fewer partitions than the default of 24 and less memory: 100 MiB less for a node with one user.
  RESTATE_DEFAULT_NUM_PARTITIONS: "4",
  RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "128MiB",
  RESTATE_DISABLE_TELEMETRY: "true",
}

const objects = (environment: Readonly<Record<string, string>>): ReadonlyArray<Manifest> => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  service,
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      // Two servers on one folder of data would refuse each other.
      strategy: { type: "Recreate" },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 5,
          containers: [
            {
              name,
              image: serverImage(),
              imagePullPolicy: "Never",
              env: Object.entries({ ...defaults, ...environment }).map(([key, value]) => ({ name: key, value })),
              ports: ports.map((port) => ({ name: port.name, containerPort: port.port })),
              readinessProbe: { httpGet: { path: "/health", port: "admin" }, periodSeconds: 1 },
              volumeMounts: [{ name: "data", mountPath: defaults.RESTATE_BASE_DIR }],
            },
          ],
          volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
        },
      },
    },
  },
]

const service: Manifest = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { selector: labels, ports },
}

/** Runs the server as a pod, behind a Service, and waits until it answers queries, which it does last of all. */
export const startClusterServer = async (
  client: KubernetesClient,
  environment: Readonly<Record<string, string>>,
): Promise<ClusterServer> => {
  for (const object of objects(environment)) await client.apply(object)
  const { spec } = await client.get<{ readonly spec: { readonly clusterIP: string } }>(await client.pathOf(service))
  const adminUrl = `http://${spec.clusterIP}:9070`
  const ready = (): Promise<boolean> =>
    waitFor("the durable-execution server", () => answersQueries(adminUrl), { timeoutMs: 90_000, everyMs: 100 })
  await ready()
  return {
    adminUrl,
    ingressUrl: `http://${spec.clusterIP}:8080`,
    namespace,
    name,
    restart: async (options = {}) => {
      const pods = `/api/v1/namespaces/${namespace}/pods`
      const old = await client.list(`${pods}?labelSelector=app%3D${name}`)
      for (const { metadata } of old) {
        await client.delete(`${pods}/${metadata.name}`, options.kill === true ? { gracePeriodSeconds: 0 } : {})
        await waitFor(`the end of ${metadata.name}`, async () => (await client.find(`${pods}/${metadata.name}`)) === undefined)
      }
      await ready()
    },
  }
}
