import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Ref, Scope } from "effect"
import { TestClock } from "effect/testing"
import { awaitChange } from "#src/engine/plan.ts"
import type { Key } from "#src/engine/wake.ts"
import { fairness, make, type Options, type Pass, type WorkQueue } from "#src/runtime/queue.ts"
import { seconds } from "./support.ts"

type Queue = WorkQueue["Service"]

/** A queue that runs until the test ends, and the keys it has worked on with the second each began at. */
const started = Effect.fnUntraced(function* (pass: Pass, options: Options = {}) {
  const queue = yield* make(options)
  const log: Array<readonly [Key, number]> = []
  const recorded: Pass = (key) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      log.push([key, at / 1000])
      return pass(key)
    })
  return { queue, log, run: queue.run(recorded), keys: () => log.map(([key]) => key), times: () => log.map(([, at]) => at) }
})

const done: Pass = () => Effect.succeed(awaitChange)
const takes =
  (seconds: number): Pass =>
  () =>
    Effect.as(Effect.sleep(seconds * 1000), awaitChange)
describe("queue", () => {
  it.effect("a key that is asked for many times waits once", () =>
    Effect.gen(function* () {
      const { queue, run, keys } = yield* started(done)
      for (let i = 0; i < 5; i++) queue.add("a", "world")
      assert.strictEqual(queue.depth().ready, 1)
      yield* Effect.forkScoped(run)
      yield* seconds(1)
      assert.deepStrictEqual(keys(), ["a"])
    }),
  )

  it.effect("a key is never processed twice at once, and runs again when it was asked for meanwhile", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(takes(10))
      yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(3)
      queue.add("a", "user")
      queue.add("a", "world")
      yield* seconds(3)
      assert.deepStrictEqual(times(), [0])
      yield* seconds(60)
      assert.deepStrictEqual(times(), [0, 10])
    }),
  )

  it.effect("the earliest delay wins", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(done)
      yield* Effect.forkScoped(run)
      queue.add("a", "world", 300_000)
      queue.add("a", "world", 20_000)
      queue.add("a", "world", 60_000)
      yield* seconds(600)
      assert.deepStrictEqual(times(), [20])
    }),
  )

  it.effect("a delay that is asked for while a key is active counts from then", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(takes(10))
      yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(5)
      queue.add("a", "world", 30_000)
      yield* seconds(600)
      assert.deepStrictEqual(times(), [0, 35])
    }),
  )

  it.effect("a change comes at once for a key that waits for its time", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(done)
      yield* Effect.forkScoped(run)
      queue.add("a", "resync", 300_000)
      yield* seconds(10)
      queue.add("a", "user")
      yield* seconds(600)
      assert.deepStrictEqual(times(), [10])
    }),
  )

  it.effect("an edit by a person overtakes the world, and both overtake a resync", () =>
    Effect.gen(function* () {
      const { queue, run, keys } = yield* started(takes(1), { concurrency: 1 })
      queue.add("resync", "resync")
      queue.add("world", "world")
      queue.add("user", "user")
      yield* Effect.forkScoped(run)
      yield* seconds(10)
      assert.deepStrictEqual(keys(), ["user", "world", "resync"])
    }),
  )

  it.effect("a higher priority lifts a key that waits already, and a lower one does not sink it", () =>
    Effect.gen(function* () {
      const { queue, run, keys } = yield* started(takes(1), { concurrency: 1 })
      for (const key of ["a", "b", "c", "d"]) queue.add(key, "resync")
      queue.add("c", "user")
      queue.add("d", "world")
      queue.add("c", "resync")
      assert.strictEqual(queue.depth().ready, 4)
      yield* Effect.forkScoped(run)
      yield* seconds(10)
      assert.deepStrictEqual(keys(), ["c", "d", "a", "b"])
    }),
  )

  it.effect("an edit that waits for its time keeps its priority when a resync brings it forward", () =>
    Effect.gen(function* () {
      const { queue, run, keys } = yield* started(takes(1), { concurrency: 1 })
      queue.add("other", "world")
      queue.add("a", "user", 60_000)
      queue.add("a", "resync")
      yield* Effect.forkScoped(run)
      yield* seconds(10)
      assert.deepStrictEqual(keys(), ["a", "other"])
    }),
  )

  it.effect("a flood of edits does not starve a resync", () =>
    Effect.gen(function* () {
      const { queue, run, keys } = yield* started(takes(1), { concurrency: 1 })
      queue.add("old", "resync")
      yield* seconds(1)
      for (let i = 0; i < 3 * fairness; i++) queue.add(`edit-${i}`, "user")
      yield* Effect.forkScoped(run)
      yield* seconds(100)
      assert.strictEqual(keys().indexOf("old"), fairness - 1)
    }),
  )

  it.effect("no more passes at once than allowed, and a hung one holds one place only", () =>
    Effect.gen(function* () {
      const { queue, run, keys } = yield* started((key) => takes(key === "hung" ? 100 : 1)(key), { concurrency: 2 })
      yield* Effect.forkScoped(run)
      queue.add("hung", "user")
      for (const key of ["a", "b", "c"]) queue.add(key, "world")
      yield* seconds(0)
      assert.deepStrictEqual(queue.depth(), { ready: 2, delayed: 0, active: 2, failing: 0 })
      yield* seconds(3)
      assert.deepStrictEqual(keys(), ["hung", "a", "b", "c"])
      yield* seconds(100)
    }),
  )

  it.effect("a pass that hangs is interrupted in the end, and its key comes back", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(takes(1000), { patience: 60_000 })
      yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(60)
      assert.strictEqual(queue.depth().failing, 1)
      yield* seconds(37)
      assert.strictEqual(times().length, 2)
      yield* seconds(60)
    }),
  )

  it.effect("a defect of one key does not stop the others, and the key comes back in 5 min", () =>
    Effect.gen(function* () {
      const { queue, run, log } = yield* started((key) => {
        if (key === "thrown") throw new Error("thrown")
        return key === "died" ? Effect.die("died") : Effect.succeed(awaitChange)
      })
      yield* Effect.forkScoped(run)
      for (const key of ["thrown", "died", "good"]) queue.add(key, "world")
      yield* seconds(299)
      assert.deepStrictEqual(
        log.map(([key]) => key),
        ["thrown", "died", "good"],
      )
      yield* seconds(1)
      assert.deepStrictEqual(log.slice(3), [
        ["thrown", 300],
        ["died", 300],
      ])
    }),
  )

  it.effect("failures of a key grow from 30 s to 5 min, and a good pass resets them", () =>
    Effect.gen(function* () {
      const failing = yield* Ref.make(true)
      const { queue, run, times } = yield* started(() =>
        Effect.map(Ref.get(failing), (fails) => (fails ? ({ _tag: "Retry", policy: "unavailable" } as const) : awaitChange)),
      )
      yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(3600)
      const waits = times()
        .map((at, i) => at - (times()[i - 1] ?? 0))
        .slice(1)
      const expected = [30, 60, 120, 240, 300, 300]
      assert.isAtLeast(waits.length, expected.length)
      expected.forEach((wait, i) => assert.approximately(waits[i] ?? 0, wait, wait * 0.2 + 0.01, `wait ${i}`))
      yield* Ref.set(failing, false)
      queue.add("a", "world")
      yield* seconds(600)
      assert.strictEqual(queue.depth().failing, 0)
      yield* Ref.set(failing, true)
      const before = times().length
      queue.add("a", "world")
      yield* seconds(37)
      assert.strictEqual(times().length, before + 2)
    }),
  )

  it.effect("failures of passes that something else woke do not make the wait longer", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(() => Effect.succeed({ _tag: "Retry", policy: "unavailable" }))
      yield* Effect.forkScoped(run)
      for (const _ of [1, 2, 3, 4]) {
        queue.add("a", "world")
        yield* seconds(1)
      }
      assert.strictEqual(times().length, 4)
      yield* seconds(33)
      assert.strictEqual(times().length, 5)
    }),
  )

  it.effect("a conflict is tried again at once, once, and then like an unavailable server", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(() => Effect.succeed({ _tag: "Retry", policy: "conflict" }))
      yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(20)
      assert.deepStrictEqual(times(), [0, 0])
      yield* seconds(17)
      assert.strictEqual(times().length, 3)
    }),
  )

  // An API server that has just started answers 403 until it has read its roles: the harness lost 5 minutes to that.
  it.effect("a missing right is asked for again after 5 s, then ever less often", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(() => Effect.succeed({ _tag: "Retry", policy: "forbidden" }))
      yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(3600)
      const waits = times().map((at, i) => at - (times()[i - 1] ?? 0))
      const expected = [0, 5, 10, 20, 40, 80, 160, 300, 300]
      expected.forEach((wait, i) => assert.approximately(waits[i] ?? -1, wait, wait * 0.2 + 0.01, `wait ${i}`))
    }),
  )

  it.effect("a plan's own delay is kept exactly", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(() => Effect.succeed({ _tag: "After", delay: 60_000, why: "notReady" }))
      yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(130)
      assert.deepStrictEqual(times(), [0, 60, 120])
    }),
  )

  it.effect("a delay that is no number is five minutes", () =>
    Effect.gen(function* () {
      const { queue, run, times } = yield* started(done)
      yield* Effect.forkScoped(run)
      queue.add("a", "world", Number.NaN)
      yield* seconds(1000)
      assert.deepStrictEqual(times(), [300])
    }),
  )

  it.effect("stop finishes what is in flight and takes nothing new", () =>
    Effect.gen(function* () {
      const ended: Array<Key> = []
      const { queue, run, keys } = yield* started((key) => Effect.tap(takes(4)(key), () => Effect.sync(() => ended.push(key))), {
        concurrency: 1,
      })
      const fiber = yield* Effect.forkScoped(run)
      queue.add("a", "world")
      queue.add("b", "world")
      yield* seconds(1)
      const stopped = yield* Effect.forkScoped(Fiber.interrupt(fiber))
      yield* seconds(2)
      assert.isUndefined(stopped.pollUnsafe())
      queue.add("c", "user")
      yield* seconds(1)
      assert.isDefined(stopped.pollUnsafe())
      assert.deepStrictEqual([keys(), ended], [["a"], ["a"]])
    }),
  )

  it.effect("stop interrupts what is still in flight after 5 s", () =>
    Effect.gen(function* () {
      const interrupted = yield* Deferred.make<void>()
      const { queue, run } = yield* started(() =>
        Effect.never.pipe(
          Effect.as(awaitChange),
          Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined)),
        ),
      )
      const fiber = yield* Effect.forkScoped(run)
      queue.add("a", "world")
      yield* seconds(1)
      yield* Effect.forkScoped(Fiber.interrupt(fiber))
      yield* TestClock.adjust(4_900)
      assert.isFalse(yield* Deferred.isDone(interrupted))
      yield* TestClock.adjust(100)
      assert.isTrue(yield* Deferred.isDone(interrupted))
    }),
  )

  it.effect("asking early again and again takes the room of one key", () =>
    Effect.gen(function* () {
      const { queue, run } = yield* started(done)
      yield* Effect.forkScoped(run)
      for (let i = 0; i < 200; i++) {
        queue.add("a", "resync", 300_000)
        queue.add("a", "world", 1000)
        yield* seconds(0.1)
        const { ready, delayed } = queue.depth()
        assert.isAtMost(ready + delayed, 1)
      }
    }),
  )
})

/** A random day of a queue, told as one ask a line. */
interface Ask {
  readonly after: number
  readonly key: Key
  readonly priority: "user" | "world" | "resync"
  readonly delay: number
}

/** Small and seeded, so that a failure names the seed that shows it again. */
const random = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

const day = (seed: number): ReadonlyArray<Ask> => {
  const pick = random(seed)
  return Array.from({ length: 60 }, () => ({
    after: pick(400),
    key: `k${pick(6)}`,
    priority: (["user", "world", "resync"] as const)[pick(3)] ?? "world",
    delay: pick(2) === 0 ? 0 : pick(3000),
  }))
}

describe("queue, over random schedules", () => {
  it.effect.each(Array.from({ length: 40 }, (_, seed) => seed))(
    "no ask is lost, none is late, no key runs twice at once (seed %d)",
    (seed) =>
      Effect.gen(function* () {
        const concurrency = 1 + (seed % 4)
        const began = new Map<Key, Array<number>>()
        const running = new Set<Key>()
        let most = 0
        const queue: Queue = yield* make({ concurrency })
        const scope = yield* Scope.make()
        yield* Effect.forkIn(
          queue.run((key) =>
            Effect.gen(function* () {
              assert.isFalse(running.has(key), `${key} runs twice at once`)
              running.add(key)
              most = Math.max(most, running.size)
              began.set(key, [...(began.get(key) ?? []), yield* Clock.currentTimeMillis])
              yield* Effect.sleep(50)
              running.delete(key)
              return awaitChange
            }),
          ),
          scope,
        )
        const asks: Array<{ readonly key: Key; readonly due: number; readonly asked: number }> = []
        for (const { after, key, priority, delay } of day(seed)) {
          yield* TestClock.adjust(after)
          const now = yield* Clock.currentTimeMillis
          asks.push({ key, due: now + delay, asked: now })
          queue.add(key, priority, delay)
          const { ready, delayed, active } = queue.depth()
          assert.isAtMost(ready + delayed, 6)
          assert.isAtMost(active, concurrency)
        }
        yield* TestClock.adjust(10_000)
        // Six keys of 50 ms each: with one place at a time nobody waits for longer than the five others and a pass of its own.
        for (const { key, due, asked } of asks) {
          const served = (began.get(key) ?? []).some((at) => at >= asked && at <= due + 6 * 50)
          assert.isTrue(served, `${key}, asked at ${asked} and due at ${due}, began at ${began.get(key)?.join(", ")}`)
        }
        // And never for nothing: every pass was due by then for some ask that no earlier pass had served.
        for (const [key, times] of began) {
          times.forEach((at, i) => {
            const previous = times[i - 1] ?? -1
            assert.isTrue(
              asks.some((ask) => ask.key === key && ask.due <= at && ask.due > previous - 1),
              `${key} at ${at} was asked for by nobody`,
            )
          })
        }
        assert.isAtMost(most, concurrency)
        assert.deepStrictEqual(queue.depth(), { ready: 0, delayed: 0, active: 0, failing: 0 })
        yield* Scope.close(scope, Exit.void)
      }),
  )
})
