/** The admin API for real: looks, lanes and writes over HTTP. */
import { Clock, Context, Effect, Exit, Layer, Metric, type Scope } from "effect"
import type { AdminServer } from "../engine/action.ts"
import { type Key, Wake } from "../engine/wake.ts"
import { type Rejected, Unavailable } from "../errors.ts"
import { AdminLooks, AdminReader, AdminWriter, type Registration } from "./admin.ts"
import { AdminCalls, type CallsOptions, layerCalls, type Registered } from "./calls.ts"
import { makeLanes, type Speed } from "./lanes.ts"
import { type Looks, makeLooks } from "./looks.ts"
import { isServerFailure } from "./recovery.ts"
import { hostOf } from "./endpoint.ts"
import { endangered, forgotten, registered } from "./routing.ts"

/** Reader, looks and writer for any number of admin servers. Connections and polls end with the layer. */
export const layer = (options: CallsOptions): Layer.Layer<AdminReader | AdminLooks | AdminWriter, never, Wake> =>
  Layer.provide(layerOver(options.metricsPrefix), layerCalls(options))

/** The same over given calls. */
export const layerOver = (metricsPrefix: string): Layer.Layer<AdminReader | AdminLooks | AdminWriter, never, Wake | AdminCalls> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const looks = yield* makeLooks
      const writer = yield* makeWriter(looks, metricsPrefix)
      return Context.make(AdminReader, looks.reader).pipe(Context.add(AdminLooks, looks.steering), Context.add(AdminWriter, writer))
    }),
  )

// Milliseconds between the tries of a confirmation: reads right after a write can be stale for 2–50 ms, and about a
// second is what a pass may take before it judges (operator.md §3.8).
const confirmationWaits = [50, 100, 200, 400] as const

/** Questions of one confirmation in flight at a time; an endpoint with hundreds of services must not open as many connections. */
const confirmationWidth = 8

const makeWriter = (looks: Looks, metricsPrefix: string): Effect.Effect<AdminWriter["Service"], never, Wake | AdminCalls | Scope.Scope> =>
  Effect.gen(function* () {
    const calls = yield* AdminCalls
    const clock = yield* Clock.Clock
    const now = () => clock.currentTimeMillisUnsafe()
    const lanes = yield* makeLanes(now)

    const waiting = Metric.gauge(`${metricsPrefix}admin_registrations_waiting`, {
      description: "Objects that wait for their turn to register.",
    })
    const gauge = (lane: Speed) => Effect.suspend(() => Metric.update(Metric.withAttributes(waiting, { lane }), lanes.depth(lane)))
    const gauges = Effect.andThen(gauge("fast"), gauge("slow"))

    /** The POST, with the services it endangers marked until it is over. */
    const post = (registration: Registration): Effect.Effect<Registered, Unavailable | Rejected> =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const known = endangered(looks.routing(registration.server), registration.endpoint, registration.force)
          const services = known === undefined ? undefined : [...known, hostOf(registration.endpoint)]
          return { services, touch: looks.touches.begin(registration.server.key, services) }
        }),
        () => calls.register(registration),
        // After a failure it may have been done all the same, and then to what it endangered. A success may have taken
        // a service away that the deployment had before.
        ({ services, touch }, exit) =>
          Effect.sync(() =>
            touch.end(now(), Exit.isSuccess(exit) ? [...(services ?? [hostOf(registration.endpoint)]), ...exit.value.services] : services),
          ),
      )

    /** The DELETE, with the services that move to another deployment marked until it is over. */
    const remove = (
      server: AdminServer,
      id: string,
      services: ReadonlyArray<string> | undefined,
    ): Effect.Effect<void, Unavailable | Rejected> =>
      Effect.acquireUseRelease(
        Effect.sync(() => looks.touches.begin(server.key, services)),
        () => calls.forget(server, id),
        (touch) => Effect.sync(() => touch.end(now(), services)),
      ).pipe(Effect.andThen(looks.patch(server, forgotten(id))))

    /** Registrations whose routing nobody has asked about yet. */
    const unconfirmed = new Map<Key, AdminServer>()
    const doubt = (key: Key) =>
      Effect.suspend(() => {
        const server = unconfirmed.get(key)
        unconfirmed.delete(key)
        return server === undefined ? Effect.void : looks.doubt(server)
      })

    return {
      register: (key, registration) =>
        lanes.through(key, registration.server, registration.endpoint, heard(looks, registration.server, key, post(registration))).pipe(
          Effect.tap((passage) => Effect.sync(() => passage._tag === "Through" && unconfirmed.set(key, registration.server))),
          // It may have been done all the same.
          Effect.onError(() => looks.doubt(registration.server)),
          Effect.map((passage) => (passage._tag === "Parked" ? passage : { _tag: "Registered" as const, ...passage.value })),
          Effect.ensuring(gauges),
        ),

      settled: (key) =>
        Effect.andThen(
          doubt(key),
          Effect.suspend(() => (lanes.holds(key) ? Effect.andThen(lanes.settled(key), gauges) : Effect.void)),
        ),

      confirm: Effect.fnUntraced(function* (key, server, id, endpoint, services) {
        const holders = new Map<string, string>()
        const askAll = (names: ReadonlyArray<string>) =>
          Effect.forEach(
            names,
            (name) => Effect.map(heard(looks, server, undefined, calls.service(server, name)), (holder) => holders.set(name, holder)),
            {
              concurrency: confirmationWidth,
              discard: true,
            },
          )
        const misrouted = () => [...new Set(services)].filter((service) => holders.get(service) !== id)
        yield* askAll(misrouted())
        for (const wait of confirmationWaits) {
          if (misrouted().length === 0) break
          yield* Effect.sleep(wait)
          yield* askAll(misrouted())
        }
        yield* looks.patch(server, registered(id, endpoint, holders))
        unconfirmed.delete(key)
        return misrouted()
          .toSorted()
          .map((service) => ({ service, deploymentId: holders.get(service) ?? "" }))
      }),

      forget: (key, server, id, services, stillWanted) =>
        lanes
          .through(
            key,
            server,
            id,
            Effect.flatMap(stillWanted, (wanted) =>
              wanted
                ? Effect.as(heard(looks, server, key, remove(server, id, services)), "Forgotten" as const)
                : Effect.succeed("Withheld" as const),
            ),
          )
          .pipe(
            Effect.map((passage) => ({ _tag: passage._tag === "Parked" ? passage._tag : passage.value })),
            Effect.ensuring(gauges),
          ),
    }
  })

/** Tells the looks how a call went: a server that answers again wakes those who wait for it. */
const heard = <A, E extends Unavailable | Rejected>(
  looks: Looks,
  server: AdminServer,
  key: Key | undefined,
  call: Effect.Effect<A, E>,
): Effect.Effect<A, E> =>
  call.pipe(
    Effect.tap(() => looks.answered(server, key)),
    Effect.tapError((error) =>
      Effect.suspend(() => {
        if (error._tag === "Rejected" || !isServerFailure(error)) return looks.answered(server, key)
        if (key !== undefined) looks.recovery.failed(server.key, [key], "server")
        return Effect.void
      }),
    ),
  )
