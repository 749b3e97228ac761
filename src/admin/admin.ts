/** The durable-execution server's admin API as the operator sees it: two shared looks, three writes. */
import { Context, type Effect } from "effect"
import type { AdminServer } from "../engine/action.ts"
import type { Interest, LookKind, Observed } from "../engine/plan.ts"
import type { Key } from "../engine/wake.ts"
import type { Rejected, Unavailable } from "../errors.ts"

/** Who serves what, from `GET /services` and `GET /deployments`, plus our own confirmed registrations since. */
export interface Routing {
  /** Service name → id of the deployment that new invocations go to. */
  readonly services: ReadonlyMap<string, string>
  /** Deployment id → its endpoint and the services it exposes. */
  readonly deployments: ReadonlyMap<string, { readonly endpoint: string; readonly services: ReadonlyArray<string> }>
}

/** Unfinished work and routing of one deployment, from one SQL statement. */
export interface DeploymentUsage {
  readonly endpoint: string
  /** Unfinished invocations that must finish here: pinned, or running their first attempt here. */
  readonly pinned: number
  /** Unfinished, not pinned, and their service's latest deployment is this one. */
  readonly unpinned: number
  /** Number of services whose latest deployment this is. */
  readonly latestFor: number
  /** Id of one of the pinned invocations. */
  readonly example?: string | undefined
}

/** Deployment id → usage. An id that is missing is unknown to that server. */
export type Usage = ReadonlyMap<string, DeploymentUsage>

export interface Registration {
  readonly server: AdminServer
  readonly endpoint: string
  readonly useHttp11: boolean | undefined
  readonly force: boolean
}

/**
 * The shared looks. One question at a time per server and look, however many keys ask. Answers carry the time they
 * were asked at, and never enter a snapshot half: any failure is Unseen.
 */
export class AdminReader extends Context.Service<
  AdminReader,
  {
    /** The latest answer, without asking. Reading is synchronous in effect: no request is made. */
    readonly routing: (server: AdminServer) => Effect.Effect<Observed<Routing>>
    readonly usage: (server: AdminServer) => Effect.Effect<Observed<Usage>>
    /**
     * When the operator last changed the routing of one of these services, or tried to register one of these hosts, on that
     * server (undefined: of any; so also when it could not know which); `Infinity` while such a write is in flight, 0 when never. A look asked earlier proves nothing about them.
     */
    readonly touchedAt: (server: AdminServer, services: ReadonlyArray<string> | undefined) => Effect.Effect<number>
  }
>()("service-operator/admin/AdminReader") {}

/** Steering of the looks, for the controller: ask now, keep polling. Answers wake keys. */
export class AdminLooks extends Context.Service<
  AdminLooks,
  {
    /** Ask (or join a question asked at or after `since`) and wake the key with the answer, success or not. Returns at once. */
    readonly request: (key: Key, server: AdminServer, look: LookKind, since: number) => Effect.Effect<void>
    /** Replaces the key's standing interests; an empty list ends them. Polls run while anybody is interested. */
    readonly interested: (key: Key, interests: ReadonlyArray<Interest>) => Effect.Effect<void>
  }
>()("service-operator/admin/AdminLooks") {}

export class AdminWriter extends Context.Service<
  AdminWriter,
  {
    /**
     * POST /deployments through the server's lane. `Parked`: not sent, the lane is taken and will wake the key.
     * `settled(key)` must follow every pass, so that a turn that was not used goes to the next key.
     */
    readonly register: (
      key: Key,
      registration: Registration,
    ) => Effect.Effect<
      { readonly _tag: "Parked" } | { readonly _tag: "Registered"; readonly id: string; readonly services: ReadonlyArray<string> },
      Unavailable | Rejected
    >
    readonly settled: (key: Key) => Effect.Effect<void>
    /** Asks, for up to about a second, until every service routes to the id. Returns those that do not. */
    readonly confirm: (
      key: Key,
      server: AdminServer,
      id: string,
      endpoint: string,
      services: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<{ readonly service: string; readonly deploymentId: string }>, Unavailable | Rejected>
    /**
     * DELETE /deployments/{id}?force=true, through the same lane as registrations: it rewrites the same registry, and a
     * hundred at once failed 34 times and took 4 s each. 404 counts as done. `services` are those it was latest for,
     * undefined when not known.
     */
    readonly forget: <E>(
      key: Key,
      server: AdminServer,
      id: string,
      services: ReadonlyArray<string> | undefined,
      /** Asked when the turn has come, right before the call: false withholds it. */
      stillWanted: Effect.Effect<boolean, E>,
    ) => Effect.Effect<{ readonly _tag: "Parked" | "Withheld" | "Forgotten" }, Unavailable | Rejected | E>
  }
>()("service-operator/admin/AdminWriter") {}
