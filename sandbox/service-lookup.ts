import { isIP } from "node:net"
import type { KubernetesClient } from "./kubernetes-client.ts"
import type { EndpointSlice, Service } from "./kubernetes-types.ts"
import { loopbackOf } from "./pod-addresses.ts"
import { Reflector } from "./reflector.ts"

/** Where a connection goes. */
export interface Target {
  readonly host: string
  readonly port: number
}

/** The answer for an authority: a target, or why there is none. */
export type Lookup = { readonly target: Target } | { readonly refused: string }

const serviceName = /^(?<name>[a-z0-9-]+)\.(?<namespace>[a-z0-9-]+)(?:\.svc(?:\.cluster\.local\.?)?)?$/

/** Does what cluster DNS and kube-proxy do together: from the name of a Service to one of its ready endpoints. */
export class ServiceLookup {
  readonly #services: Reflector<Service>
  readonly #slices: Reflector<EndpointSlice>
  #turn = 0

  private constructor(services: Reflector<Service>, slices: Reflector<EndpointSlice>) {
    this.#services = services
    this.#slices = slices
  }

  /** Follows the Services and EndpointSlices of the API server. */
  static async start(client: KubernetesClient): Promise<ServiceLookup> {
    const [services, slices] = await Promise.all([
      Reflector.start<Service>(client, "/api/v1/services"),
      Reflector.start<EndpointSlice>(client, "/apis/discovery.k8s.io/v1/endpointslices"),
    ])
    return new ServiceLookup(services, slices)
  }

  /** Looks an authority (`name:port`, port 80 when absent) up; ready endpoints take turns. */
  resolve(authority: string): Lookup {
    const colon = authority.lastIndexOf(":")
    const host = colon < 0 ? authority : authority.slice(0, colon)
    const port = colon < 0 ? 80 : Number(authority.slice(colon + 1))
    // Programs of the host that were registered by address, and pods by their own.
    if (host === "localhost" || isIP(host) !== 0) return { target: { host: loopbackOf(host), port } }

    const { name, namespace } = serviceName.exec(host)?.groups ?? {}
    if (name === undefined || namespace === undefined) return { refused: `${host} is not the name of a Service` }
    const service = this.#services.find(namespace, name)
    if (service === undefined) return { refused: `there is no Service ${namespace}/${name}` }
    const servicePort = service.spec.ports?.find((candidate) => candidate.port === port)
    if (servicePort === undefined) return { refused: `Service ${namespace}/${name} has no port ${port}` }

    const targets: Target[] = []
    for (const slice of this.#slices.values()) {
      if (slice.metadata.namespace !== namespace || slice.metadata.labels?.["kubernetes.io/service-name"] !== name) continue
      // Slice and Service call the same port by the same name; the only port needs none.
      const target = slice.ports?.find((candidate) => (candidate.name ?? "") === (servicePort.name ?? ""))?.port
      if (target === undefined) continue
      for (const endpoint of slice.endpoints ?? []) {
        const [address] = endpoint.addresses
        if (address !== undefined && endpoint.conditions?.ready !== false) targets.push({ host: loopbackOf(address), port: target })
      }
    }
    this.#turn += 1
    const target = targets[this.#turn % targets.length]
    return target === undefined ? { refused: `Service ${namespace}/${name} has no ready endpoint` } : { target }
  }

  /** Stops following. */
  async close(): Promise<void> {
    await Promise.all([this.#services.close(), this.#slices.close()])
  }
}
