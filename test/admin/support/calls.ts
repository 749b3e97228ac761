/** Calls that answer when and as a test says, and a Wake that remembers whom it woke. */
import { Deferred, Effect, Layer } from "effect"
import type { AdminLooks, AdminReader, AdminWriter, DeploymentUsage, Registration } from "#src/admin/admin.ts"
import { AdminCalls, type Calls, type Registered } from "#src/admin/calls.ts"
import { layerOver } from "#src/admin/live.ts"
import type { AdminServer } from "#src/engine/action.ts"
import { type Key, Wake } from "#src/engine/wake.ts"
import { type Rejected, Unavailable } from "#src/errors.ts"

export const main: AdminServer = { key: "cluster/main", base: "http://main:9070" }
export const other: AdminServer = { key: "cluster/other", base: "http://other:9070" }
export const away = new Unavailable({ server: "admin", detail: "connection refused" })

type Failure = Unavailable | Rejected

/** One call on its way. */
interface Pending {
  readonly name: string
  readonly result: Deferred.Deferred<unknown, Failure>
}

export class World {
  readonly woken: Array<Key> = []
  readonly asked: Array<string> = []
  /** Calls without an answer, oldest first. */
  readonly pending: Array<Pending> = []
  /** Answers at once; a name that is missing waits for `answer` or `refuse`. */
  readonly automatic = new Map<string, () => Effect.Effect<unknown, Unavailable>>()

  /** Whom was woken since the last time this was asked. */
  takeWoken(): ReadonlyArray<Key> {
    return this.woken.splice(0).toSorted()
  }

  answer(name: string, value: unknown): Effect.Effect<void> {
    return Effect.suspend(() => Deferred.succeed(this.#take(name).result, value)).pipe(Effect.andThen(settle))
  }

  refuse(name: string, error: Failure = away): Effect.Effect<void> {
    return Effect.suspend(() => Deferred.fail(this.#take(name).result, error)).pipe(Effect.andThen(settle))
  }

  inFlight(name: string): number {
    return this.pending.filter((pending) => pending.name.startsWith(name)).length
  }

  #take(name: string): Pending {
    const index = this.pending.findIndex((pending) => pending.name === name)
    const [taken] = index < 0 ? [] : this.pending.splice(index, 1)
    if (taken === undefined) throw new Error(`${name} is not in flight, only ${this.pending.map((pending) => pending.name).join(", ")}`)
    return taken
  }

  #write<A>(name: string): Effect.Effect<A, Failure> {
    return Effect.gen({ self: this }, function* () {
      this.asked.push(name)
      const automatic = this.automatic.get(name)
      if (automatic !== undefined) return (yield* automatic()) as A
      const pending: Pending = { name, result: yield* Deferred.make<unknown, Failure>() }
      this.pending.push(pending)
      const answer = yield* Deferred.await(pending.result).pipe(
        Effect.onInterrupt(() => Effect.sync(() => this.pending.splice(this.pending.indexOf(pending), 1))),
      )
      return answer as A
    })
  }

  #question<A>(name: string): Effect.Effect<A, Unavailable> {
    return Effect.catchTag(this.#write<A>(name), "Rejected", (error) => Effect.die(error))
  }

  get calls(): Calls {
    return {
      services: (server) => this.#question(`services ${server.key}`),
      deployments: (server) => this.#question(`deployments ${server.key}`),
      service: (_, name) => this.#question(`service ${name}`),
      usage: (server) => this.#question(`usage ${server.key}`),
      register: ({ endpoint }) => this.#write<Registered>(`register ${endpoint}`),
      forget: (_, id) => this.#write<void>(`forget ${id}`),
    }
  }

  /** Reader, looks and writer over this world. */
  get layer(): Layer.Layer<AdminReader | AdminLooks | AdminWriter> {
    return layerOver("test_").pipe(
      Layer.provide(
        Layer.mergeAll(
          Layer.succeed(AdminCalls, this.calls),
          Layer.succeed(Wake, { wake: (key) => Effect.sync(() => void this.woken.push(key)) }),
        ),
      ),
    )
  }
}

/** Lets every fiber that can run, run. */
export const settle: Effect.Effect<void> = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

export const usageOf = (counts: {
  readonly [id: string]: readonly [pinned: number, unpinned: number, latestFor: number]
}): ReadonlyMap<string, DeploymentUsage> =>
  new Map(
    Object.entries(counts).map(([id, [pinned, unpinned, latestFor]]) => [
      id,
      { endpoint: `http://${id}:9080/`, pinned, unpinned, latestFor },
    ]),
  )

export const registrationOf = (name: string, more: Partial<Registration> = {}): Registration => ({
  server: main,
  endpoint: `http://${name}:9080`,
  useHttp11: undefined,
  force: false,
  ...more,
})
