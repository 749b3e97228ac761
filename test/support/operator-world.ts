/** A sandbox with an installed bundle and a running operator whose two servers can be taken away, slowed or cut off mid-call. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Edition, type Installed, installBundle, documents } from "../../sandbox/install.ts"
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"
import { type OperatorProcess, startOperator } from "../../sandbox/operator-process.ts"
import { type Sandbox, startSandbox } from "../../sandbox/sandbox.ts"
import { ensureNamespace, nameServer } from "../../sandbox/server-name.ts"
import { User } from "../../sandbox/user.ts"
import { waitFor } from "../../sandbox/wait.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { FaultProxy } from "./fault-proxy.ts"

const example = join(import.meta.dirname, "../../examples/greeter.yaml")

export class OperatorWorld {
  readonly sandbox: Sandbox
  readonly edition: Edition
  /** Before the API server, seen from the operator. */
  readonly api: FaultProxy
  /** Before all admin servers, seen from the operator. */
  readonly admin: FaultProxy
  readonly #installed: Installed
  readonly #kubeconfig: string
  readonly #bundle: string | undefined
  operator: OperatorProcess

  private constructor(
    sandbox: Sandbox,
    edition: Edition,
    api: FaultProxy,
    admin: FaultProxy,
    installed: Installed,
    kubeconfig: string,
    bundle: string | undefined,
    operator: OperatorProcess,
  ) {
    this.sandbox = sandbox
    this.edition = edition
    this.api = api
    this.admin = admin
    this.#installed = installed
    this.#kubeconfig = kubeconfig
    this.#bundle = bundle
    this.operator = operator
  }

  /** `bundle`: an operator other than the one that `make build` leaves. */
  static async start(edition: Edition = "service", progress?: (line: string) => void, bundle?: string): Promise<OperatorWorld> {
    const sandbox = await startSandbox({ node: "stand-in", ...(progress === undefined ? {} : { progress }) })
    const installed = await installBundle(sandbox.client, edition)
    await nameServer(sandbox)
    const own = await sandbox.operatorKubeconfig(installed.namespace, installed.serviceAccount)
    const { server, ca } = clusterOf(readFileSync(own, "utf8"))
    const api = await FaultProxy.start({ url: server, ca })
    const admin = await FaultProxy.start({ url: sandbox.proxyUrl ?? "" })
    const kubeconfig = `${own}.proxied`
    writeFileSync(kubeconfig, throughProxy(readFileSync(own, "utf8"), api.url), { mode: 0o600 })
    const operator = await startOperator(sandbox, {
      edition,
      installed,
      kubeconfig,
      proxyUrl: admin.url,
      ...(bundle === undefined ? {} : { bundle }),
    })
    return new OperatorWorld(sandbox, edition, api, admin, installed, kubeconfig, bundle, operator)
  }

  /** Starts the operator again after it was stopped or killed. */
  async restart(): Promise<void> {
    await this.operator.exited
    this.operator = await startOperator(this.sandbox, {
      edition: this.edition,
      installed: this.#installed,
      kubeconfig: this.#kubeconfig,
      proxyUrl: this.admin.url,
      ...(this.#bundle === undefined ? {} : { bundle: this.#bundle }),
    })
  }

  /** A user of a namespace of their own. */
  async user(namespace = "default", name = "greeter"): Promise<User> {
    await ensureNamespace(this.sandbox.client, namespace)
    return new User(this.sandbox, this.edition, namespace, name)
  }

  /** The example, in this world's vocabulary, for this user, with changes to its spec. */
  async apply(user: User, change: (spec: Spec) => void = () => {}): Promise<void> {
    const { group, version, kind } = vocabularies[this.edition].resources.deployment
    for (const object of documents(example)) {
      const copy: KubernetesObject & { spec: Spec } = { spec: emptySpec, ...structuredClone(object) }
      change(copy.spec)
      await this.sandbox.client.apply({
        ...copy,
        apiVersion: `${group}/${version}`,
        kind,
        metadata: { name: user.name, namespace: user.namespace },
      })
    }
  }

  /** Deletes the object and waits until it and its versions are gone. */
  async remove(user: User, timeoutMs = 60_000): Promise<void> {
    await user.delete()
    await waitFor(`${user.name} to go`, async () => (await user.get()) === undefined, { timeoutMs })
    await waitFor(`the versions of ${user.name} to go`, async () => (await user.versions()).length === 0, { timeoutMs })
  }

  async stop(): Promise<void> {
    await this.sandbox.stop()
    await Promise.all([this.api.stop(), this.admin.stop()])
  }
}

/** As much of the spec as tests change. */
export interface Spec {
  replicas?: number
  revisionHistoryLimit?: number
  selector?: object
  template: { metadata?: object; spec: { [field: string]: unknown } }
  restate: { register: object; drainDelaySeconds?: number; deletePolicy?: string; servicePath?: string; useHttp11?: boolean }
  autoscaling?: object
}

const emptySpec: Spec = { template: { spec: {} }, restate: { register: {} } }

interface Kubeconfig {
  readonly clusters: ReadonlyArray<{ readonly cluster: { readonly server: string; readonly "certificate-authority-data": string } }>
}

const clusterOf = (kubeconfig: string): { readonly server: string; readonly ca: string } => {
  const config: Kubeconfig = JSON.parse(kubeconfig)
  const [first] = config.clusters
  if (first === undefined) throw new Error("the kubeconfig names no cluster")
  return { server: first.cluster.server, ca: Buffer.from(first.cluster["certificate-authority-data"], "base64").toString() }
}

/** The same user at the proxy; client libraries accept plain HTTP only with TLS verification off. */
const throughProxy = (kubeconfig: string, server: string): string => {
  const config: Kubeconfig = JSON.parse(kubeconfig)
  return JSON.stringify({
    ...config,
    clusters: config.clusters.map((entry) => ({ ...entry, cluster: { server, "insecure-skip-tls-verify": true } })),
  })
}
