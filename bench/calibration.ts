import { performance } from "node:perf_hooks"
import type { KubernetesClient } from "../sandbox/kubernetes-client.ts"
import { post } from "./durable-work.ts"
import { throwawayPath } from "./endpoint.ts"
import { deploymentOf, fleetPath } from "./fleet.ts"
import { namespace, paths } from "./kinds.ts"
import { inParallel } from "./parallel.ts"

/** Connections over which the API server is driven to its limit. */
const connections = 10
const seconds = 3
const services = 100
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`

/** A server that has just started, and a path in this process that was never taken, are slower than they will be. */
const warmUp = 2

/**
 * Writes a second that this API server takes over 10 connections: merge patches, in turn of the status of a
 * ServiceDeployment and of a ConfigMap, because an operator writes its own objects, whose schema makes them dear, about
 * as often as Kubernetes' own. The objects are removed again; no operator may run meanwhile.
 */
export const writeLimit = async (client: KubernetesClient): Promise<number> => {
  const names = Array.from({ length: connections }, (_, index) => `limit-${index}`)
  await inParallel(names, connections, async (name) => {
    await client.create(fleetPath, deploymentOf(name, "none", 0))
    await client.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { turn: "0" } })
  })
  const drive = async (forSeconds: number): Promise<number> => {
    const begun = performance.now()
    const end = begun + forSeconds * 1000
    let writes = 0
    await inParallel(names, connections, async (name) => {
      while (performance.now() < end) {
        writes += 2
        await client.patch(`${fleetPath}/${name}/status`, { status: { replicas: 1, observedGeneration: writes } })
        await client.patch(`${configMaps}/${name}`, { data: { turn: String(writes) } })
      }
    })
    return writes / ((performance.now() - begun) / 1000)
  }
  await drive(warmUp)
  const rate = await drive(seconds)
  await inParallel(names, connections, async (name) => {
    await client.delete(`${fleetPath}/${name}`)
    await client.delete(`${configMaps}/${name}`)
  })
  return rate
}

/**
 * Services a second that this API server creates over 10 connections. It gives each an address of its own, which makes
 * them dearer than other writes.
 */
export const serviceLimit = async (client: KubernetesClient): Promise<number> => {
  const names = Array.from({ length: services }, (_, index) => `limit-${index}`)
  const begun = performance.now()
  await inParallel(names, connections, (name) =>
    client.create(paths.services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { type: "ClusterIP", selector: { app: name }, ports: [{ name: "service", port: 9080 }] },
    }),
  )
  const rate = services / ((performance.now() - begun) / 1000)
  await inParallel(names, connections, (name) => client.delete(`${paths.services}/${name}`))
  return rate
}

/**
 * Seconds that this server needs to register `count` deployments one after the other, with what it knows already. They
 * are removed again, which is not measured.
 */
export const registrationTime = async (adminUrl: string, endpointPort: number, count: number): Promise<number> => {
  const ids: Array<string> = []
  const begun = performance.now()
  for (let index = 0; index < count; index += 1) {
    const uri = `http://127.0.0.1:${endpointPort}${throwawayPath(index)}`
    const { id }: { readonly id: string } = JSON.parse(await post(`${adminUrl}/deployments`, { uri, force: false }))
    ids.push(id)
  }
  const taken = (performance.now() - begun) / 1000
  for (const id of ids) {
    const response = await fetch(`${adminUrl}/deployments/${id}?force=true`, { method: "DELETE" })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`a throw-away deployment could not be removed: ${response.status}`)
  }
  return taken
}
