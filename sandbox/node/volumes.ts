import { chmodSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { KubernetesClient } from "../kubernetes-client.ts"
import type { KubernetesObject } from "../kubernetes-types.ts"
import type { Manifest } from "./manifest.ts"
import { nodeName, places } from "./places.ts"

const provisioner = "sandbox/folder"
const className = "folder"
const volumesPath = "/api/v1/persistentvolumes"

const storageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: className, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner,
  volumeBindingMode: "WaitForFirstConsumer",
  reclaimPolicy: "Delete",
  allowVolumeExpansion: true,
}

interface Claim extends KubernetesObject {
  readonly spec: {
    readonly storageClassName?: string
    readonly volumeName?: string
    readonly accessModes: ReadonlyArray<string>
    readonly resources: { readonly requests: { readonly storage: string } }
  }
  readonly status: { readonly phase?: string; readonly capacity?: { readonly storage: string } }
}

interface Volume extends KubernetesObject {
  readonly spec: { readonly storageClassName?: string; readonly hostPath?: { readonly path: string } }
  readonly status: { readonly phase?: string }
}

/**
 * Gives claims of the default storage class a folder of the node each, lets them grow, and deletes what is released.
 * It looks twice a second, because a sandbox has few claims, and in this process: who blocks its event loop (by `execFileSync`,
 * say) waits for a volume in vain. Ends with the signal.
 */
export const startProvisioner = async (client: KubernetesClient, signal: AbortSignal): Promise<void> => {
  await client.apply(storageClass)
  void provision(client, signal)
}

const provision = async (client: KubernetesClient, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    try {
      for (const claim of await client.list<Claim>("/api/v1/persistentvolumeclaims")) {
        if (claim.spec.storageClassName === className) await serve(client, claim)
      }
      for (const volume of await client.list<Volume>(volumesPath)) await reclaim(client, volume)
    } catch {
      // The API server is busy or on its way out; the next look finds the same work.
    }
    await sleep(500, undefined, { signal }).catch(() => {})
  }
}

const serve = async (client: KubernetesClient, claim: Claim): Promise<void> => {
  const { metadata, spec, status } = claim
  const storage = spec.resources.requests.storage
  if (spec.volumeName === undefined) {
    // The scheduler writes it once a pod wants the claim.
    if (metadata.annotations?.["volume.kubernetes.io/selected-node"] === nodeName) await create(client, claim)
  } else if (status.phase === "Bound" && status.capacity?.storage !== storage) {
    await client.patch(`${volumesPath}/${spec.volumeName}`, { spec: { capacity: { storage } } })
    const path = `/api/v1/namespaces/${metadata.namespace}/persistentvolumeclaims/${metadata.name}`
    await client.patch(`${path}/status`, { status: { capacity: { storage } } })
  }
}

const create = async (client: KubernetesClient, { metadata, spec }: Claim): Promise<void> => {
  const path = join(places.volumes, `${metadata.uid}`)
  mkdirSync(path, { recursive: true })
  // Folders of the node do not follow a pod's fsGroup, so everybody may write; the umask must not take that away.
  chmodSync(path, 0o777)
  const { namespace, name, uid } = metadata
  const volume: Manifest = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `pvc-${uid}`, annotations: { "pv.kubernetes.io/provisioned-by": provisioner } },
    spec: {
      capacity: { storage: spec.resources.requests.storage },
      accessModes: spec.accessModes,
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: className,
      hostPath: { path, type: "Directory" },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [nodeName] }] }],
        },
      },
    },
  }
  await client.apply(volume)
}

const reclaim = async (client: KubernetesClient, { metadata, spec, status }: Volume): Promise<void> => {
  if (status.phase !== "Released" || spec.storageClassName !== className || spec.hostPath === undefined) return
  await client.delete(`${volumesPath}/${metadata.name}`)
  // Only ever a folder that was made above.
  if (spec.hostPath.path.startsWith(`${places.volumes}/`)) rmSync(spec.hostPath.path, { recursive: true, force: true })
}
