import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { parseAllDocuments } from "yaml"
import type { KubernetesClient } from "./kubernetes-client.ts"
import type { KubernetesObject } from "./kubernetes-types.ts"
import { waitFor } from "./wait.ts"

export type Edition = "service" | "restate"

/** What the operator runs as: the names that the generated bundle gives. */
export interface Installed {
  readonly namespace: string
  readonly serviceAccount: string
}

const bundle = join(import.meta.dirname, "..", "dist-manifests")

/**
 * Applies the generated CRDs and install.yaml of one vocabulary, all but the Deployment: in the sandbox the operator is
 * a process of the host, with the ServiceAccount and the role of the bundle and no other right.
 */
export const installBundle = async (client: KubernetesClient, edition: Edition): Promise<Installed> => {
  const folder = join(bundle, edition, "crds")
  for (const file of readdirSync(folder).toSorted()) {
    for (const crd of documents(join(folder, file)).filter(isCrd)) {
      await client.apply(crd)
      // Established comes a moment before the storage is up: only a list that answers says that the kind is served.
      const { group, names, versions } = crd.spec
      await waitFor(`the CRD ${crd.metadata.name}`, () => client.list(`/apis/${group}/${versions[0]?.name ?? ""}/${names.plural}`))
    }
  }
  const objects = documents(join(bundle, edition, "install.yaml"))
  for (const object of objects) if (object.kind !== "Deployment") await client.apply(object)
  const account = objects.find(({ kind }) => kind === "ServiceAccount")?.metadata
  if (account?.namespace === undefined) throw new Error("install.yaml holds no ServiceAccount")
  return { namespace: account.namespace, serviceAccount: account.name }
}

/** The objects of a YAML file. */
export const documents = (file: string): ReadonlyArray<KubernetesObject> => parseManifests(readFileSync(file, "utf8"))

/** The objects of a YAML text; empty documents are skipped. */
export const parseManifests = (text: string): ReadonlyArray<KubernetesObject> =>
  parseAllDocuments(text).flatMap((document) => {
    const value: unknown = document.toJS()
    return isObject(value) ? [value] : []
  })

const isObject = (value: unknown): value is KubernetesObject =>
  typeof value === "object" && value !== null && "kind" in value && "metadata" in value

interface Crd extends KubernetesObject {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: ReadonlyArray<{ readonly name: string }>
  }
}

const isCrd = (object: KubernetesObject): object is Crd => object.kind === "CustomResourceDefinition"
