/** Between the operator and its two servers: calls take time, get lost, are refused, and kill the operator. */
import { Effect } from "effect"
import type { Usage } from "#src/admin/admin.ts"
import { callTimeout, type Calls } from "#src/admin/calls.ts"
import type { AdminServer } from "#src/engine/action.ts"
import { type Server, Unavailable } from "#src/errors.ts"
import type { Answer, Request, Transport } from "#src/kubernetes/transport.ts"
import type { DurableServer } from "./world-admin.ts"
import { type ApiServer, status, type Understood } from "./world-kubernetes.ts"

/** One call of the operator, as faults are chosen by and as traces show it. */
export interface Call {
  readonly to: Server
  readonly what: string
  readonly write: boolean
}

/**
 * What becomes of a call. `before` and `after`: the operator dies, before the server hears of it or after it was carried
 * out. `error`: not carried out. `lost`: carried out, and the answer never arrives. `conflict`: somebody else wrote first.
 * `twice`: delivered a second time behind the operator's back, which hears the first answer.
 */
export type Fate = "pass" | "before" | "after" | "error" | "lost" | "conflict" | "twice"

/** A write on the point of being carried out. */
export type Write =
  | { readonly _tag: "Kubernetes"; readonly understood: Understood }
  | { readonly _tag: "Register"; readonly endpoint: string; readonly force: boolean }
  | { readonly _tag: "Forget"; readonly id: string }

/** The connections of one life of the operator. */
export interface Link {
  alive: boolean
  /** When the latest good answer about unfinished work was asked for; -Infinity before the first. */
  askedAt: number
}

export interface NetworkOptions {
  readonly api: ApiServer
  readonly admin: DurableServer
  readonly now: () => number
  readonly latency: (to: Server) => number
  readonly fate: (call: Call) => Fate
  readonly onCall: (call: Call, fate: Fate) => void
  readonly onWrite: (write: Write, link: Link) => void
  readonly crash: (link: Link) => void
}

/** Milliseconds until a server that runs into an endpoint without pods gives up. */
const refusedDiscovery = 1_700

export class Network {
  /** The admin server, seen from the operator. */
  admin: "up" | "refusing" | "silent" = "up"
  /** Whether it answers questions about unfinished work. */
  queries = true
  /** Further admin servers by base URL; all other addresses lead to the first. */
  readonly others = new Map<string, DurableServer>()
  /** Base URLs that lead nowhere. */
  readonly gone = new Set<string>()
  /** What comes instead of the answer about unfinished work. */
  forge: (usage: Usage) => Usage = (usage) => usage
  readonly #options: NetworkOptions

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  transport(link: Link): Transport["Service"] {
    const { api, onWrite } = this.#options
    return {
      send: (request) => {
        const understood = api.understand(request)
        return this.#exchange<Answer>(link, nameOf(request, understood), {
          carryOut: () => {
            if (understood !== undefined && understood.verb !== "get") onWrite({ _tag: "Kubernetes", understood }, link)
            return api.answer(request)
          },
          conflict: () => status(409, "Conflict", "the object has been modified", understood?.ref.name),
        })
      },
      // The watches of this world are not on the wire, see world-operator.ts.
      open: () => Effect.never,
    }
  }

  calls(link: Link): Calls {
    const { now, onWrite } = this.#options
    const at = ({ base }: AdminServer): DurableServer => this.others.get(base) ?? this.#options.admin
    const reach = <A, E>({ base }: AdminServer, call: Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> =>
      this.gone.has(base) ? new Unavailable({ server: "admin", detail: `name not found (ENOTFOUND) ${base}` }) : call
    const ask = <A>(server: AdminServer, what: string, read: (durable: DurableServer) => A) =>
      reach(server, this.#bounded(this.#exchange(link, { to: "admin", what, write: false }, { carryOut: () => read(at(server)) })))
    return {
      services: (server) => ask(server, "services", (durable) => durable.routing().services),
      deployments: (server) => ask(server, "deployments", (durable) => durable.routing().deployments),
      service: (server, name) => ask(server, `service ${name}`, (durable) => durable.latest(name) ?? ""),
      usage: (server) =>
        Effect.suspend(() => {
          const askedAt = now()
          return Effect.tap(
            ask(server, "query", (durable) => (this.queries ? this.forge(durable.usage()) : undefined)).pipe(
              Effect.flatMap((usage) =>
                usage === undefined
                  ? new Unavailable({ server: "admin", status: 500, detail: "POST /query answered 500" })
                  : Effect.succeed(usage),
              ),
            ),
            () => Effect.sync(() => (link.askedAt = askedAt)),
          )
        }),
      register: ({ server, endpoint, force }) =>
        Effect.flatMap(
          reach(
            server,
            this.#exchange(
              link,
              { to: "admin", what: `${force ? "promote" : "register"} ${endpoint}`, write: true },
              {
                carryOut: () => {
                  onWrite({ _tag: "Register", endpoint, force }, link)
                  return at(server).register(endpoint, force)
                },
              },
            ),
          ),
          (registered) =>
            registered === undefined
              ? Effect.delay(
                  Effect.fail(
                    new Unavailable({ server: "admin", status: 500, detail: "POST /deployments answered 500: [META0003] unreachable" }),
                  ),
                  refusedDiscovery,
                )
              : Effect.succeed(registered),
        ),
      forget: (server, id) =>
        reach(
          server,
          this.#bounded(
            this.#exchange(
              link,
              { to: "admin", what: `forget ${id}`, write: true },
              {
                carryOut: () => {
                  onWrite({ _tag: "Forget", id }, link)
                  at(server).forget(id)
                },
              },
            ),
          ),
        ),
    }
  }

  /** As src/admin/calls.ts bounds every call but a registration. */
  #bounded<A>(call: Effect.Effect<A, Unavailable>): Effect.Effect<A, Unavailable> {
    return Effect.timeoutOrElse(call, {
      duration: callTimeout,
      orElse: () => new Unavailable({ server: "admin", detail: `no answer within ${callTimeout / 1000} s` }),
    })
  }

  #exchange<A>(
    link: Link,
    call: Call,
    { carryOut, conflict }: { readonly carryOut: () => A; readonly conflict?: () => A },
  ): Effect.Effect<A, Unavailable> {
    const { crash, fate: fateOf, latency, onCall } = this.#options
    const failed = new Unavailable({ server: call.to, detail: `${call.what}: connection reset` })
    // A dead operator hears and does nothing any more.
    const living = <E, X>(effect: () => Effect.Effect<X, E>): Effect.Effect<X, E> =>
      Effect.suspend(() => (link.alive ? effect() : Effect.never))
    const travel = Effect.suspend(() => Effect.sleep(latency(call.to)))
    const die = Effect.suspend(() => {
      crash(link)
      return Effect.never
    })
    return living(() => {
      const fate = fateOf(call)
      onCall(call, fate)
      if (fate === "before") return die
      return travel.pipe(
        Effect.andThen(
          living((): Effect.Effect<A, Unavailable> => {
            if (call.to === "admin" && this.admin !== "up") return this.admin === "silent" ? Effect.never : Effect.fail(failed)
            if (fate === "error") return Effect.fail(failed)
            if (fate === "conflict" && conflict !== undefined) return Effect.sync(conflict)
            const answer = carryOut()
            if (fate === "twice") carryOut()
            return fate === "after" ? die : Effect.as(travel, answer)
          }),
        ),
        Effect.flatMap((answer) => living(() => (fate === "lost" ? Effect.fail(failed) : Effect.succeed(answer)))),
      )
    })
  }
}

const nameOf = (request: Request, understood: Understood | undefined): Call => ({
  to: "kubernetes",
  what:
    understood === undefined
      ? `${request.method} ${request.path}`
      : `${understood.verb} ${understood.ref.kind} ${understood.ref.kind === "Event" ? "" : understood.ref.name}${understood.subresource === undefined ? "" : `/${understood.subresource}`} ${understood.verb === "apply" ? understood.manager.replace(/^.*\//, "as ") : ""}`.trim(),
  write: request.method !== "GET",
})
