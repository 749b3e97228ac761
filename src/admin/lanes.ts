/** Registrations, one at a time per server, so that the server's schema registry is not fought over (law 1). */
import { Effect, Exit, Fiber, FiberSet, type Scope } from "effect"
import type { AdminServer } from "../engine/action.ts"
import { type Key, Wake } from "../engine/wake.ts"
import { Unavailable } from "../errors.ts"
import { type Flight, Lane } from "./lane.ts"
import { endpointKey } from "./endpoint.ts"

/** Milliseconds. A healthy registration takes 16 ms; one that takes this long waits for an endpoint that hangs. */
export const hungAfter = 1_000

/** Hung registrations that may be in flight at one server beside the lane's own. */
export const hungAtMost = 4

/** Milliseconds. Discovery of a hung endpoint never ends on the server, so it has to end here (operator.md §3.6). */
export const registrationTimeout = 30_000

/** Milliseconds a turn is kept for a key whose pass does not come round, because the queue is long or the object gone. */
export const turnKept = 5_000

/** Milliseconds after its last time-out for which an endpoint is remembered as slow; the pods of most are gone by then. */
const slowFor = 3_600_000

export type Speed = "fast" | "slow"

interface ServerLanes {
  readonly fast: Lane
  readonly slow: Lane
  /** Endpoints that timed out and have not succeeded since, and when they timed out. */
  readonly slowEndpoints: Map<string, number>
  /** Ends the turn of the key that has it. */
  readonly keeping: { fast: Fiber.Fiber<void> | undefined; slow: Fiber.Fiber<void> | undefined }
}

/** Parked: the registration was not run, and its key will be woken. */
export type Passage<A> = { readonly _tag: "Parked" } | { readonly _tag: "Through"; readonly value: A }

export interface Lanes {
  /** Runs the registration if it is the key's turn. One that takes over 30 s is given up: `Unavailable`. */
  readonly through: <A, E>(
    key: Key,
    server: AdminServer,
    endpoint: string,
    registration: Effect.Effect<A, E>,
  ) => Effect.Effect<Passage<A>, Unavailable | E>
  /** A pass of this key is over: a turn it did not use goes to the next key. */
  readonly settled: (key: Key) => Effect.Effect<void>
  /** Whether the key waits for its turn or has it. */
  readonly holds: (key: Key) => boolean
  /** How many keys wait, over all servers. */
  readonly depth: (speed: Speed) => number
}

export const makeLanes = (now: () => number): Effect.Effect<Lanes, never, Wake | Scope.Scope> =>
  Effect.gen(function* () {
    const { wake } = yield* Wake
    const fork = yield* FiberSet.makeRuntime()
    const servers = new Map<string, ServerLanes>()
    /** Where a key waits or has its turn, so that `settled` need not ask every server. */
    const places = new Map<Key, { readonly lanes: ServerLanes; readonly speed: Speed }>()

    const of = (server: AdminServer): ServerLanes => {
      const known = servers.get(server.key)
      if (known !== undefined) return known
      const lanes: ServerLanes = {
        fast: new Lane(hungAtMost),
        slow: new Lane(0),
        slowEndpoints: new Map(),
        keeping: { fast: undefined, slow: undefined },
      }
      servers.set(server.key, lanes)
      return lanes
    }

    /** Hands the free place to the next key. Call after every change of a lane. */
    const advance = (lanes: ServerLanes, speed: Speed): Effect.Effect<void> =>
      Effect.suspend(() => {
        const lane = lanes[speed]
        const before = lane.reserved === undefined ? lanes.keeping[speed] : undefined
        if (before !== undefined) lanes.keeping[speed] = undefined
        const key = lane.grant()
        if (key !== undefined) {
          lanes.keeping[speed] = fork(
            Effect.sleep(turnKept).pipe(
              Effect.flatMap(() => {
                lanes.keeping[speed] = undefined
                lane.drop(key, false)
                places.delete(key)
                return advance(lanes, speed)
              }),
            ),
          )
        }
        return Effect.andThen(
          before === undefined ? Effect.void : Fiber.interrupt(before),
          key === undefined ? Effect.void : wake(key, "world"),
        )
      })

    const enter = (key: Key, lanes: ServerLanes, speed: Speed): Flight | undefined => {
      const place = places.get(key)
      // The object has turned to another server, or its endpoint has become slow or well.
      if (place !== undefined && (place.lanes !== lanes || place.speed !== speed)) {
        place.lanes[place.speed].drop(key, true)
        fork(advance(place.lanes, place.speed))
      }
      const flight = lanes[speed].enter(key)
      if (flight === undefined) places.set(key, { lanes, speed })
      else places.delete(key)
      return flight
    }

    const speedOf = (lanes: ServerLanes, endpoint: string): Speed => {
      for (const [slow, since] of lanes.slowEndpoints) if (now() - since > slowFor) lanes.slowEndpoints.delete(slow)
      return lanes.slowEndpoints.has(endpoint) ? "slow" : "fast"
    }

    return {
      through: <A, E>(key: Key, server: AdminServer, address: string, registration: Effect.Effect<A, E>) =>
        Effect.suspend(() => {
          const lanes = of(server)
          const endpoint = endpointKey(address)
          const speed = speedOf(lanes, endpoint)
          const bounded = registration.pipe(
            Effect.timeoutOrElse({
              duration: registrationTimeout,
              orElse: () => {
                lanes.slowEndpoints.set(endpoint, now())
                return Effect.fail(
                  new Unavailable({
                    server: "admin",
                    detail: `POST /deployments: no answer within ${registrationTimeout / 1000} s; does the endpoint answer its discovery?`,
                  }),
                )
              },
            }),
          )
          return Effect.acquireUseRelease(
            Effect.sync(() => {
              const flight = enter(key, lanes, speed)
              if (flight === undefined) return undefined
              const timer = fork(
                Effect.sleep(hungAfter).pipe(
                  Effect.flatMap(() => {
                    flight.hung = true
                    return advance(lanes, speed)
                  }),
                ),
              )
              return { flight, timer }
            }).pipe(Effect.tap(() => advance(lanes, speed))),
            (place): Effect.Effect<Passage<A>, Unavailable | E> =>
              place === undefined ? Effect.succeed({ _tag: "Parked" }) : Effect.map(bounded, (value) => ({ _tag: "Through", value })),
            (place, exit) => {
              if (place === undefined) return Effect.void
              if (Exit.isSuccess(exit)) lanes.slowEndpoints.delete(endpoint)
              lanes[speed].leave(place.flight)
              return Effect.andThen(Fiber.interrupt(place.timer), advance(lanes, speed))
            },
          )
        }),

      settled: (key) =>
        Effect.suspend(() => {
          const place = places.get(key)
          if (place === undefined) return Effect.void
          const lane = place.lanes[place.speed]
          const had = lane.reserved === key
          lane.settled(key)
          if (had && lane.reserved !== key) places.delete(key)
          return advance(place.lanes, place.speed)
        }),

      holds: (key) => places.has(key),

      depth: (speed) => [...servers.values()].reduce((sum, lanes) => sum + lanes[speed].depth, 0),
    }
  })
