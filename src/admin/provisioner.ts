/** The one call that a server's nodes take from the operator: to lay out the data of a new cluster. */
import { Context, type Effect } from "effect"
import type { Rejected, Unavailable } from "../errors.ts"

export class Provisioner extends Context.Service<
  Provisioner,
  {
    /** Base URL of one node. Succeeds also when it has been done before. Partitions, replication and logs are the server's own configuration. */
    readonly provision: (address: string) => Effect.Effect<void, Unavailable | Rejected>
  }
>()("service-operator/admin/Provisioner") {}
