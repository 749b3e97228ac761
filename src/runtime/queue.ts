/** Which objects are due for a pass, in which order, and how many at a time. Knows keys, not kinds. */
import { Clock, Context, Duration, Effect, Exit, Latch, Layer, Schedule, Scope } from "effect"
import type { Conclusion } from "../engine/kind.ts"
import { delays, policies, type PolicyName } from "../engine/policies.ts"
import { type Key, type Priority, Wake } from "../engine/wake.ts"
import { Heap, type Timed } from "./heap.ts"
import { Line } from "./line.ts"

/** How many keys the queue holds, and in which state. A key that is active and asked for again counts once in each. */
export interface Depth {
  /** Due, and waiting for a free place. */
  readonly ready: number
  readonly delayed: number
  readonly active: number
  /** Keys whose last pass failed. */
  readonly failing: number
}

export interface Options {
  /** Passes at once. Most of a pass is waiting; a hung server holds a few places, not all. */
  readonly concurrency?: number
  /** Milliseconds. No server may hold a key for longer than this: the pass is interrupted and counts as unavailable. */
  readonly patience?: number
}

/** One pass over one object. It has no failures of its own: what went wrong is in what it answers. */
export type Pass = (key: Key) => Effect.Effect<Conclusion["requeue"]>

/** Milliseconds that the passes in flight get to finish when the operator stops. */
export const grace = 5_000

/** One place in this many goes to the key that is overdue for longest, so that edits cannot starve resyncs. */
export const fairness = 16

const ranks = { user: 0, world: 1, resync: 2 } as const satisfies { readonly [P in Priority]: number }

interface Entry extends Timed {
  readonly key: Key
  rank: number
}

interface Backoff {
  readonly step: Effect.Success<ReturnType<typeof Schedule.toStep<unknown, unknown, never, never>>>
  /** When the try comes that was last asked for. */
  due: number
}

/** The keyed work queue: one entry a key, the earliest time and the highest priority win, never two passes of a key at once. */
export class WorkQueue extends Context.Service<
  WorkQueue,
  {
    /** Asks for a pass, `delay` milliseconds from now. Synchronous, for listeners. */
    readonly add: (key: Key, priority: Priority, delay?: number) => void
    readonly depth: () => Depth
    /** Runs passes until it is interrupted; then takes no more, and lets those in flight finish for up to 5 s. */
    readonly run: (pass: Pass) => Effect.Effect<never>
  }
>()("service-operator/runtime/WorkQueue") {
  /** The queue, and the way back into it for sources that are not watches. */
  static readonly layer = (options: Options = {}): Layer.Layer<WorkQueue | Wake> =>
    Layer.effectContext(
      Effect.map(make(options), (queue) =>
        Context.make(WorkQueue, queue).pipe(Context.add(Wake, { wake: (key, priority) => Effect.sync(() => queue.add(key, priority)) })),
      ),
    )
}

/** A queue that holds keys from the start, and works on them while it is run. */
export const make = Effect.fnUntraced(function* ({ concurrency = 32, patience = 180_000 }: Options) {
  const clock = yield* Clock.Clock
  // Monotonic: a corrected wall clock neither holds keys back nor releases them all at once.
  const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  const entries = new Map<Key, Entry>()
  const active = new Set<Key>()
  const failures = new Map<Key, Map<PolicyName, Backoff>>()
  const later = new Heap<Entry>()
  const lines = [new Line<Entry>(), new Line<Entry>(), new Line<Entry>()] as const
  const line = (rank: number): Line<Entry> => lines[rank] ?? lines[2]
  const changed = Latch.makeUnsafe(false)
  const idle = Latch.makeUnsafe(true)
  let turns = 0

  /** Puts an entry where its time says. One that is being worked on is seated when its pass has ended. */
  const seat = (entry: Entry): void => {
    if (active.has(entry.key)) return
    if (entry.at > now()) {
      later.place(entry)
    } else {
      later.remove(entry)
      line(entry.rank).join(entry)
    }
    changed.openUnsafe()
  }

  const add = (key: Key, priority: Priority, delay = 0): void => {
    // A delay computed from nonsense (an edited date) must neither spin nor put the key to sleep for good.
    const at = now() + (Number.isNaN(delay) ? delays.resync : Math.max(0, delay))
    const rank = ranks[priority]
    let entry = entries.get(key)
    if (entry === undefined) {
      entry = { key, at, rank, slot: -1 }
      entries.set(key, entry)
    } else {
      if (at >= entry.at && rank >= entry.rank) return
      line(entry.rank).leave(entry)
      entry.at = Math.min(entry.at, at)
      entry.rank = Math.min(entry.rank, rank)
    }
    seat(entry)
  }

  const take = (): Key | undefined => {
    const fair = (turns + 1) % fairness === 0
    let next: Entry | undefined
    for (const each of lines) {
      const head = each.peek()
      if (head !== undefined && (next === undefined || (fair && head.at < next.at))) next = head
    }
    if (next === undefined) return undefined
    turns += 1
    line(next.rank).leave(next)
    entries.delete(next.key)
    return next.key
  }

  /**
   * Milliseconds until the next try, from the policy's own schedule for this key. A pass that something else woke before
   * that try does not make the wait longer when it fails too: three events in the second in which the API server is away
   * would turn 30 s into two minutes.
   */
  const backoff = Effect.fnUntraced(function* (key: Key, policy: PolicyName) {
    const waits = failures.get(key) ?? new Map<PolicyName, Backoff>()
    failures.set(key, waits)
    let wait = waits.get(policy)
    if (wait === undefined) {
      wait = { step: yield* Schedule.toStep<unknown, unknown, never, never>(policies[policy]), due: 0 }
      waits.set(policy, wait)
    }
    if (wait.due <= now()) {
      // Policies have no end; were one to end, the key must still come back.
      const delay = yield* wait.step(now(), undefined).pipe(
        Effect.map(([, next]) => Duration.toMillis(next)),
        Effect.catchCause(() => Effect.succeed(delays.resync)),
      )
      wait.due = now() + delay
    }
    return wait.due - now()
  })

  const settle = Effect.fnUntraced(function* (key: Key, requeue: Conclusion["requeue"]) {
    switch (requeue._tag) {
      case "Retry":
        return add(key, "world", yield* backoff(key, requeue.policy))
      case "After":
        failures.delete(key)
        // At once means: this pass goes on. What it has begun comes before what the world has to say about others.
        return add(key, requeue.delay === 0 ? "user" : "world", requeue.delay)
      case "AwaitChange":
        failures.delete(key)
    }
  })

  const work = (key: Key, pass: Pass): Effect.Effect<void> =>
    Effect.suspend(() => pass(key)).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () =>
          Effect.as(Effect.logWarning("a pass took too long and was interrupted"), { _tag: "Retry", policy: "unavailable" } as const),
      }),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logError("a pass failed where it never should", cause), { _tag: "Retry", policy: "defect" } as const),
      ),
      Effect.flatMap((requeue) => settle(key, requeue)),
      Effect.ensuring(
        Effect.sync(() => {
          active.delete(key)
          if (active.size === 0) idle.openUnsafe()
          const again = entries.get(key)
          if (again !== undefined) seat(again)
          changed.openUnsafe()
        }),
      ),
      Effect.annotateLogs({ key }),
    )

  const dispatch = Effect.fnUntraced(function* (pass: Pass, passes: Scope.Scope): Effect.fn.Return<never> {
    for (;;) {
      const time = now()
      for (let due = later.peek(); due !== undefined && due.at <= time; due = later.peek()) seat(due)
      changed.closeUnsafe()
      while (active.size < concurrency) {
        const key = take()
        if (key === undefined) break
        active.add(key)
        idle.closeUnsafe()
        yield* Effect.forkIn(work(key, pass), passes)
      }
      const next = later.peek()
      yield* next === undefined ? changed.await : Effect.raceFirst(changed.await, Effect.sleep(Math.max(1, next.at - now())))
    }
  })

  const stop = (passes: Scope.Closeable) =>
    idle.await.pipe(
      Effect.timeoutOrElse({
        duration: grace,
        orElse: () => Effect.annotateLogs(Effect.logWarning("stopping with passes in flight"), "keys", [...active].join(" ")),
      }),
      Effect.andThen(Scope.close(passes, Exit.void)),
    )

  return WorkQueue.of({
    add,
    depth: () => ({
      ready: lines.reduce((sum, each) => sum + each.size, 0),
      delayed: later.size,
      active: active.size,
      failing: failures.size,
    }),
    run: (pass) => Effect.acquireUseRelease(Scope.make(), (passes) => dispatch(pass, passes), stop),
  })
})
