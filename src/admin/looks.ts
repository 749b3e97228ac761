/** The two looks at each server, shared by all keys: what is known, when it is asked again, and who is told. */
import { Clock, Effect, FiberSet, Result, type Scope } from "effect"
import type { AdminServer } from "../engine/action.ts"
import type { Interest, LookKind } from "../engine/plan.ts"
import { routingAge, usagePoll, usagePollSlowest } from "../engine/policies.ts"
import { type Key, Wake } from "../engine/wake.ts"
import type { Unavailable } from "../errors.ts"
import type { AdminLooks, AdminReader, DeploymentUsage, Routing, Usage } from "./admin.ts"
import { AdminCalls } from "./calls.ts"
import { Question, type Standing } from "./question.ts"
import { isServerFailure, Recovery } from "./recovery.ts"
import { askRouting, type Patch, routingOf } from "./routing.ts"
import { settling, Touches } from "./touches.ts"

interface ServerLooks {
  readonly server: AdminServer
  readonly routing: Question<Routing>
  readonly usage: Question<Usage>
  usedAt: number
  /** Our own writes that an answer asked before they settled may not show. */
  patches: ReadonlyArray<{ readonly at: number; readonly patch: Patch }>
}

/** The looks, and what the writer shares with them. */
export interface Looks {
  readonly reader: AdminReader["Service"]
  readonly steering: AdminLooks["Service"]
  readonly touches: Touches
  readonly recovery: Recovery
  /** Corrects the routing by a confirmed write of ours. */
  readonly patch: (server: AdminServer, patch: Patch) => Effect.Effect<void>
  /** A registration may or may not have happened: who serves what has to be asked again before anybody relies on it. */
  readonly doubt: (server: AdminServer) => Effect.Effect<void>
  /** A call other than a look was answered: wakes who waits for this server. */
  readonly answered: (server: AdminServer, by?: Key) => Effect.Effect<void>
  /** The routing as last seen, undefined when it is not known. */
  readonly routing: (server: AdminServer) => Routing | undefined
}

export const makeLooks: Effect.Effect<Looks, never, Wake | AdminCalls | Scope.Scope> = Effect.gen(function* () {
  const calls = yield* AdminCalls
  const { wake } = yield* Wake
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime()
  const run = (effect: Effect.Effect<void>) => fork(effect)
  const touches = new Touches()
  const recovery = new Recovery()
  const servers = new Map<string, ServerLooks>()
  const standing = new Map<Key, ReadonlyArray<Question<Routing> | Question<Usage>>>()

  const onAnswer = (server: AdminServer, look: LookKind) => (result: Result.Result<unknown, Unavailable>, keys: ReadonlySet<Key>) => {
    if (Result.isSuccess(result)) return recovery.answered(server.key, look)
    recovery.failed(server.key, keys, isServerFailure(result.failure) ? "server" : look)
    return []
  }

  /** An address that nobody names any more takes its last answers, which may be megabytes, with it. */
  let swept = 0
  const sweep = (now: number) => {
    if (now - swept < keptFor / 10) return
    swept = now
    for (const [base, { routing, usage, usedAt }] of servers) if (now - usedAt > keptFor && routing.idle && usage.idle) servers.delete(base)
  }

  /**
   * The state of a server as one address with one set of credentials: two objects may name the same server with
   * different ones, and neither may ask with the other's.
   */
  const at = (server: AdminServer): ServerLooks => {
    const now = clock.currentTimeMillisUnsafe()
    sweep(now)
    const known = servers.get(server.base)
    if (known !== undefined) {
      known.usedAt = now
      return known
    }
    const shared = { wake: (key: Key) => wake(key, "world"), clock, run }
    const looks: ServerLooks = {
      server,
      patches: [],
      usedAt: now,
      routing: new Question<Routing>({
        ...shared,
        ask: Effect.suspend(() => askRouting(calls, looks.server)),
        period: routingAge,
        slowest: routingAge,
        about: routingOf,
        correct: (routing, askedAt) => {
          looks.patches = looks.patches.filter((own) => own.at + settling >= askedAt)
          return looks.patches.reduce((value, own) => own.patch(value), routing)
        },
        onAnswer: onAnswer(server, "routing"),
      }),
      usage: new Question<Usage>({
        ...shared,
        ask: Effect.suspend(() => calls.usage(looks.server)),
        period: usagePoll,
        slowest: usagePollSlowest,
        about: (usage, id) => numbers(usage.get(id)),
        correct: (usage) => usage,
        onAnswer: onAnswer(server, "usage"),
      }),
    }
    servers.set(server.base, looks)
    return looks
  }

  const interested = (key: Key, interests: ReadonlyArray<Interest>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const wanted = new Map<Question<Routing> | Question<Usage>, Standing>()
      for (const { server, look, ids, quiet = false } of interests) {
        const question = at(server)[look]
        const before = wanted.get(question)
        wanted.set(question, { ids: [...(before?.ids ?? []), ...ids], quiet: quiet && before?.quiet !== false })
      }
      const gone = (standing.get(key) ?? []).filter((question) => !wanted.has(question))
      if (wanted.size === 0) standing.delete(key)
      else standing.set(key, [...wanted.keys()])
      const changes = [...gone.map((question) => [question, undefined] as const), ...wanted]
      return Effect.forEach(changes, ([question, wish]) => question.interest(key, wish), { discard: true })
    })

  return {
    touches,
    recovery,
    reader: {
      routing: (server) => Effect.sync(() => at(server).routing.answer),
      usage: (server) => Effect.sync(() => at(server).usage.answer),
      touchedAt: (server, services) => Effect.sync(() => touches.at(server.key, services)),
    },
    steering: {
      request: (key, server, look, since) => Effect.suspend(() => at(server)[look].request(key, since)),
      interested,
    },
    patch: (server, patch) =>
      Effect.suspend(() => {
        const looks = at(server)
        const now = clock.currentTimeMillisUnsafe()
        looks.patches = [...looks.patches.filter((own) => own.at + forgottenAfter >= now), { at: now, patch }]
        return looks.routing.patch(patch)
      }),
    doubt: (server) => Effect.sync(() => at(server).routing.doubt()),
    answered: (server, by) =>
      Effect.suspend(() => {
        if (by !== undefined) recovery.forget(server.key, by)
        return Effect.forEach(recovery.answered(server.key), (key) => wake(key, "world"), { discard: true })
      }),
    routing: (server) => {
      const { answer } = at(server).routing
      return answer._tag === "Seen" ? answer.value : undefined
    },
  }
})

/** Milliseconds. Longer than the time between two resyncs, so that only what has really gone is forgotten. */
const keptFor = 600_000

/** Milliseconds. No question is in flight longer: three attempts of two calls of 10 s each. */
const forgottenAfter = 61_000

const numbers = (usage: DeploymentUsage | undefined): string =>
  usage === undefined ? "" : `${usage.pinned} ${usage.unpinned} ${usage.latestFor}`
