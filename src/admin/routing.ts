/** Who serves what: asked as a whole, and kept true by our own confirmed writes between two questions. */
import { Effect } from "effect"
import type { AdminServer } from "../engine/action.ts"
import { Unavailable } from "../errors.ts"
import type { Routing } from "./admin.ts"
import type { Calls } from "./calls.ts"
import { endpointKey } from "./endpoint.ts"

/**
 * Services first, then deployments: what a service points to at the first question is there at the second, unless it was
 * deregistered in between. Then both are asked again, so that no service points to a deployment nobody knows. The other way
 * round every registration in between did that: in a rollout of 100 objects three tries in a row failed, and cost 30 s.
 */
export const askRouting = Effect.fnUntraced(function* (calls: Calls, server: AdminServer) {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const services = yield* calls.services(server)
    const deployments = yield* calls.deployments(server)
    if ([...services.values()].every((id) => deployments.has(id))) return { services, deployments } satisfies Routing
  }
  return yield* Effect.fail(
    new Unavailable({ server: "admin", detail: "GET /services names deployments that GET /deployments does not list" }),
  )
})

/** What a key that waits for one deployment wants to hear about: is it known, and who holds each of its services. */
export const routingOf = (routing: Routing, id: string): string => {
  const deployment = routing.deployments.get(id)
  return deployment === undefined
    ? ""
    : `${deployment.endpoint} ${deployment.services.map((service) => `${service}=${routing.services.get(service) ?? ""}`).join(" ")}`
}

/** A confirmed write, as it changes the routing. */
export type Patch = (routing: Routing) => Routing

/** After a registration: the deployment exists, and each service points to where the server said a moment ago. */
export const registered =
  (id: string, endpoint: string, services: ReadonlyMap<string, string>): Patch =>
  (routing) => ({
    services: new Map([...routing.services, ...[...services].filter(([, holder]) => holder !== "")]),
    deployments: new Map(routing.deployments).set(id, {
      // As the server spells it: with a slash after the host.
      endpoint: routing.deployments.get(id)?.endpoint ?? (URL.canParse(endpoint) ? new URL(endpoint).href : endpoint),
      services: [...services.keys()].toSorted(),
    }),
  })

/** After a deregistration: nothing points there. What the server falls back to is for the next question. */
export const forgotten =
  (id: string): Patch =>
  (routing) => ({
    services: new Map([...routing.services].filter(([, holder]) => holder !== id)),
    deployments: new Map([...routing.deployments].filter(([known]) => known !== id)),
  })

/**
 * Services whose routing a registration on its way may be changing *towards a deployment that a look knows*. Only that
 * is dangerous to a look: a deployment that loses services is judged too carefully by an older look, but one that gains
 * them may be destroyed by it. A registration makes the deployment of its own endpoint latest and no other, so
 *
 * - a known endpoint: the services of its deployment;
 * - an unknown endpoint, not forced: none, the new deployment has an id that no look has named yet;
 * - otherwise (routing not known, or a promotion of something we have not seen): undefined, which means all.
 *
 * So a thousand first registrations do not hold up each other's clean-up.
 */
export const endangered = (routing: Routing | undefined, endpoint: string, force: boolean): ReadonlyArray<string> | undefined => {
  if (routing === undefined) return undefined
  const key = endpointKey(endpoint)
  for (const deployment of routing.deployments.values()) if (endpointKey(deployment.endpoint) === key) return deployment.services
  return force ? undefined : []
}
