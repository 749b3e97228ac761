import { mkdtempSync, rmSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { KubernetesClient } from "./kubernetes-client.ts"
import type { Sandbox } from "./sandbox.ts"

const required = (name: string): string => {
  const value = process.env[name]
  if (value === undefined || value === "") {
    throw new Error(`CLUSTER=current needs ${name}: the address of the durable-execution server in your cluster as this machine reaches it`)
  }
  return value
}

/** A "sandbox" that is the cluster of the user's kubeconfig: nothing is started, nothing is stopped. */
export const useCurrentCluster = async (server: boolean): Promise<Sandbox> => {
  const configured = (process.env["KUBECONFIG"] ?? "").split(delimiter)[0] ?? ""
  const kubeconfig = configured === "" ? join(homedir(), ".kube", "config") : configured
  const urls = server
    ? { adminUrl: required("SERVICE_ADMIN_URL"), ingressUrl: required("SERVICE_INGRESS_URL") }
    : { adminUrl: "", ingressUrl: "" }
  const client = await KubernetesClient.fromKubeconfig(kubeconfig)
  const directory = mkdtempSync(join(tmpdir(), "service-operator-current-"))
  return {
    directory,
    kubeconfig,
    client,
    ...urls,
    node: { kind: "current", name: "" },
    operatorKubeconfig: (namespace, serviceAccount) =>
      client.writeServiceAccountKubeconfig(join(directory, `${namespace}-${serviceAccount}.kubeconfig`), namespace, serviceAccount),
    restartServer: () => Promise.reject(new Error("the server of CLUSTER=current is not the sandbox's to restart")),
    restartApiServer: () => Promise.reject(new Error("the API server of CLUSTER=current is not the sandbox's to restart")),
    stop: async () => {
      client.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
