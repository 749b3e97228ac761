/** The deregistration of a version that has no work, or must go all the same. */
import type { DeploymentUsage } from "../admin/admin.ts"
import { hostOf } from "../admin/endpoint.ts"
import type { Action, AdminServer } from "../engine/action.ts"
import type { Snapshot } from "./snapshot.ts"

/**
 * Names what it changes on the server: the services that fall back to another deployment, and its own address. What was
 * answered before says nothing of either any more. Undefined means all: nobody knows which services those are.
 */
export const forget = (snapshot: Snapshot, server: AdminServer, id: string, { endpoint, latestFor }: DeploymentUsage): Action => {
  const routing = snapshot.admin.get(server.key)?.routing
  const services = latestFor === 0 ? [] : routing?._tag === "Seen" ? routing.value.deployments.get(id)?.services : undefined
  return { _tag: "Forget", server, deploymentId: id, services: services === undefined ? undefined : [...services, hostOf(endpoint)] }
}
