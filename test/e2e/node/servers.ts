/** ServiceClusters on the sandbox's real node: how the tests make one, and what they read of it. */
import { vocabularies } from "#src/vocabulary.ts"
import { serverImage } from "../../../sandbox/images/server.ts"
import type { KubernetesObject } from "../../../sandbox/kubernetes-types.ts"
import type { Sandbox } from "../../../sandbox/sandbox.ts"
import { User } from "../../../sandbox/user.ts"
import { waitFor } from "../../../sandbox/wait.ts"

const names = vocabularies.service.resources

export const GiB = 1024 ** 3

interface Cluster extends KubernetesObject {
  readonly status?: {
    readonly provisioned?: boolean
    readonly conditions?: ReadonlyArray<{
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
    }>
  }
}

/** One ServiceCluster of the vocabulary `service`. */
export class Servers {
  readonly #sandbox: Sandbox
  readonly name: string
  readonly path: string

  constructor(sandbox: Sandbox, name: string) {
    this.#sandbox = sandbox
    this.name = name
    this.path = `/apis/${names.cluster.group}/${names.cluster.version}/${names.cluster.plural}/${name}`
  }

  /** Small for one machine with one user; `config` gets the line that leaves provisioning to the operator. */
  async apply(config = "", compute: object = {}): Promise<void> {
    await this.#sandbox.client.apply({
      apiVersion: `${names.cluster.group}/${names.cluster.version}`,
      kind: names.cluster.kind,
      metadata: { name: this.name },
      spec: {
        cluster: { autoProvision: true },
        storage: { storageRequestBytes: GiB },
        compute: {
          image: serverImage(),
          imagePullPolicy: "Never",
          env: [
            { name: "RESTATE_DEFAULT_NUM_PARTITIONS", value: "4" },
            { name: "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", value: "128MiB" },
            { name: "RESTATE_DISABLE_TELEMETRY", value: "true" },
          ],
          terminationGracePeriodSeconds: 10,
          ...compute,
        },
        config: `auto-provision = false\n${config}`,
      },
    })
  }

  get(): Promise<Cluster> {
    return this.#sandbox.client.get<Cluster>(this.path)
  }

  patch(spec: object): Promise<unknown> {
    return this.#sandbox.client.patch(this.path, { spec })
  }

  /** Waits until it is Ready; a failure says what it said last. */
  async ready(timeoutMs: number): Promise<void> {
    await waitFor(
      `${this.name} to be Ready`,
      async () => {
        const ready = (await this.get()).status?.conditions?.find(({ type }) => type === "Ready")
        if (ready?.status !== "True") throw new Error(`${ready?.status} ${ready?.reason}: ${ready?.message}`)
        return true
      },
      { timeoutMs },
    )
  }

  /** Path of an object in its namespace. */
  at(root: string, plural: string, name = ""): string {
    return `${root}/namespaces/${this.name}/${plural}${name === "" ? "" : `/${name}`}`
  }

  async pods(): Promise<ReadonlyArray<{ readonly name: string; readonly uid: string; readonly ready: boolean }>> {
    interface Pod extends KubernetesObject {
      readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }> }
    }
    const pods = await this.#sandbox.client.list<Pod>(this.at("/api/v1", "pods"))
    return pods.map(({ metadata, status }) => ({
      name: metadata.name,
      uid: metadata.uid ?? "",
      ready: status?.conditions?.some(({ status: state, type }) => type === "Ready" && state === "True") === true,
    }))
  }

  /** A user whose service registers with it, and who calls it through its own addresses. */
  async user(): Promise<User> {
    interface Service extends KubernetesObject {
      readonly spec: { readonly clusterIP: string }
    }
    const { spec } = await this.#sandbox.client.get<Service>(this.at("/api/v1", "services", "service"))
    const urls = { adminUrl: `http://${spec.clusterIP}:9070`, ingressUrl: `http://${spec.clusterIP}:8080` }
    const user = new User({ ...this.#sandbox, ...urls }, "service")
    const container = { name: "greeter", image: "greeter:v1", imagePullPolicy: "IfNotPresent", ports: [{ containerPort: 9080 }] }
    await this.#sandbox.client.apply({
      apiVersion: `${names.deployment.group}/${names.deployment.version}`,
      kind: names.deployment.kind,
      metadata: { name: user.name, namespace: user.namespace },
      spec: {
        selector: { matchLabels: { app: "greeter" } },
        template: {
          metadata: { labels: { app: "greeter", [vocabularies.service.labels.allow(this.name)]: "true" } },
          spec: { containers: [container] },
        },
        restate: { register: { cluster: this.name } },
      },
    })
    await user.ready("greeter:v1")
    return user
  }
}
