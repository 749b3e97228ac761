/**
 * One question to one server, shared by all who want its answer. At most one is in flight; whoever needs a later one
 * shares the single follow-up. While anybody is interested it is asked again and again.
 */
import { Clock, Effect, Fiber, Result } from "effect"
import type { Observed } from "../engine/plan.ts"
import type { Key } from "../engine/wake.ts"
import { Unavailable } from "../errors.ts"

/** What a key wants to hear about. `quiet`: without polls, and not whether the server answers at all. */
export interface Standing {
  readonly ids: ReadonlyArray<string>
  readonly quiet: boolean
}

export interface QuestionOptions<A> {
  /** Asks the server once. */
  readonly ask: Effect.Effect<A, Unavailable>
  /** Milliseconds from one poll to the next. */
  readonly period: number
  /** Milliseconds that it may grow to: a tenth of the time for which nothing has changed. Work that has run for hours may be seen to end half a minute later. */
  readonly slowest: number
  /** What an answer says about one id; keys interested in the id are woken when it changes. */
  readonly about: (answer: A, id: string) => string
  /** Corrects an answer by what happened on our side after its question was sent. */
  readonly correct: (answer: A, askedAt: number) => A
  /** Called with each answer before anybody is woken. `keys` asked for it. */
  readonly onAnswer: (result: Result.Result<A, Unavailable>, keys: ReadonlySet<Key>) => ReadonlyArray<Key>
  readonly wake: (key: Key) => Effect.Effect<void>
  readonly clock: Clock.Clock
  /** Starts a fiber that ends with the layer. */
  readonly run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

/**
 * Milliseconds. A question for an answer "asked no earlier than" a moment to come waits for it, but no longer than
 * this: a `since` of `Infinity` (a write in flight) asks about once a second instead of as fast as the server answers.
 */
const longestWait = 1_000

export class Question<A> {
  readonly #options: QuestionOptions<A>
  #answer: Observed<A> = { _tag: "Unasked" }
  /** The answer before; a key that registers its interest late may have read that one. */
  #before: Observed<A> = { _tag: "Unasked" }
  #flight: { readonly askedAt: number; readonly keys: Set<Key> } | undefined
  #next: { readonly keys: Set<Key>; since: number } | undefined
  #asking = false
  #lastAsked = -Infinity
  #lastTook = 0
  /** When an answer last had news for anybody who polls, or somebody new began to. */
  #newsAt = -Infinity
  /** Answers asked up to here may or may not show a write of ours, and say nothing. */
  #doubtedAt = -Infinity
  /** The last good answer, also when there was a bad one since. */
  #seen: Observed<A> = { _tag: "Unasked" }
  readonly #interests = new Map<Key, Standing>()
  #poller: Fiber.Fiber<void> | undefined

  constructor(options: QuestionOptions<A>) {
    this.#options = options
  }

  /** Nobody waits for it and nobody is interested. */
  get idle(): boolean {
    return !this.#asking && this.#interests.size === 0
  }

  /** What is known. After the wall clock was set back an answer of "later" has no age; it would pass for fresh for ever. */
  get answer(): Observed<A> {
    const answer = this.#answer
    return answer._tag !== "Unasked" && answer.askedAt > this.#options.clock.currentTimeMillisUnsafe() ? { _tag: "Unasked" } : answer
  }

  /**
   * Wakes the key with an answer asked at or after `since`: one that is there, one on its way, or a new one. A failure
   * that is there already is not handed out again: who asks after it wants to know whether the server is back.
   */
  request(key: Key, since: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { answer } = this
      if (answer._tag === "Seen" && answer.askedAt >= since) return this.#options.wake(key)
      if (this.#flight !== undefined && this.#flight.askedAt >= since) this.#flight.keys.add(key)
      else this.#follow(since, [key])
      return Effect.void
    })
  }

  /** Replaces what the key wants to hear about; undefined ends its interest. Polls go on while anybody is not quiet. */
  interest(key: Key, standing: Standing | undefined): Effect.Effect<void> {
    return Effect.suspend(() => {
      const before = this.#interests.get(key)
      if (standing === undefined) this.#interests.delete(key)
      else this.#interests.set(key, standing)
      const fresh = standing?.ids.filter((id) => before?.ids.includes(id) !== true) ?? []
      if (standing?.quiet === false && (before === undefined || fresh.length > 0))
        this.#newsAt = this.#options.clock.currentTimeMillisUnsafe()
      const polled = [...this.#interests.values()].some(({ quiet }) => !quiet)
      const ended = polled ? undefined : this.#poller
      if (polled) this.#poller ??= this.#options.run(this.#poll)
      else this.#poller = undefined
      // An answer may have come between the reading of the old one and this call. Nobody would tell the key.
      const late = standing !== undefined && fresh.length > 0 && this.#concerns(this.#before, this.#answer, { ...standing, ids: fresh })
      return (ended === undefined ? Effect.void : Fiber.interrupt(ended)).pipe(Effect.andThen(late ? this.#options.wake(key) : Effect.void))
    })
  }

  /** Corrects the answer that is there by a write of our own, and wakes those it concerns. The time of asking stays. */
  patch(change: (answer: A) => A): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#answer._tag === "Seen" ? this.#replace({ ...this.#answer, value: change(this.#answer.value) }, new Set()) : Effect.void,
    )
  }

  /** A write of ours failed and may have happened all the same: what is known, or on its way, says nothing any more. */
  doubt(): void {
    this.#doubtedAt = this.#options.clock.currentTimeMillisUnsafe()
    this.#before = { _tag: "Unasked" }
    this.#answer = { _tag: "Unasked" }
  }

  /** Adds keys to those who get the answer to the next question; starts asking when nobody does. */
  #follow(since: number, keys: ReadonlyArray<Key>): void {
    this.#next ??= { keys: new Set(), since }
    this.#next.since = Math.max(this.#next.since, since)
    for (const key of keys) this.#next.keys.add(key)
    if (this.#asking) return
    this.#asking = true
    this.#options.run(this.#askAll)
  }

  /** Asks as long as there is somebody to ask for. */
  readonly #askAll = Effect.whileLoop({
    while: () => (this.#asking = this.#next !== undefined),
    body: () => Effect.suspend(() => this.#askOnce()),
    step: () => {},
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        this.#asking = false
        this.#flight = undefined
      }),
    ),
  )

  /** Milliseconds until the next question may be sent. */
  #wait(): number {
    const now = this.#options.clock.currentTimeMillisUnsafe()
    // Whoever asks again at once after each failure gets one answer a second, not a loop as fast as a refused connection.
    const calm = this.#answer._tag === "Unseen" ? this.#lastAsked + longestWait : 0
    // A server that takes seconds to answer gets a second's rest in between.
    const rested = this.#lastTook > longestWait ? this.#lastAsked + this.#lastTook + longestWait : 0
    return Math.min(longestWait, Math.max(this.#next?.since ?? 0, calm, rested) - now)
  }

  #askOnce(): Effect.Effect<void> {
    const { clock, correct, onAnswer } = this.#options
    const wait = this.#wait()
    const ask = this.#options.ask.pipe(
      // Those who wait must be woken whatever happens; the cause is not lost, and says nothing to people.
      Effect.catchDefect((defect) =>
        Effect.logError("a look failed by a defect", defect).pipe(
          Effect.andThen(Effect.fail(new Unavailable({ server: "admin", detail: "the question failed in the operator" }))),
        ),
      ),
    )
    return (wait > 0 ? Effect.sleep(wait) : Effect.void).pipe(
      Effect.flatMap(() => {
        const askedAt = clock.currentTimeMillisUnsafe()
        const flight = { askedAt, keys: this.#next?.keys ?? new Set<Key>() }
        this.#flight = flight
        this.#next = undefined
        this.#lastAsked = askedAt
        return ask.pipe(
          Effect.result,
          Effect.flatMap((result) => {
            this.#flight = undefined
            this.#lastTook = clock.currentTimeMillisUnsafe() - askedAt
            if (askedAt <= this.#doubtedAt) {
              this.#follow(this.#doubtedAt + 1, [...flight.keys])
              return Effect.void
            }
            const recovered = onAnswer(result, flight.keys)
            const answer: Observed<A> = Result.isSuccess(result)
              ? { _tag: "Seen", value: correct(result.success, askedAt), askedAt, took: this.#lastTook }
              : {
                  _tag: "Unseen",
                  because: result.failure.detail,
                  askedAt,
                  rejected: isRefusal(result.failure),
                  since: this.#answer._tag === "Unseen" ? this.#answer.since : askedAt,
                }
            return this.#replace(answer, new Set([...flight.keys, ...recovered]))
          }),
        )
      }),
    )
  }

  /** Takes a new answer and wakes these keys and those for which something has changed, each once. */
  #replace(answer: Observed<A>, keys: Set<Key>): Effect.Effect<void> {
    const seen = this.#seen
    this.#before = this.#answer
    this.#answer = answer
    if (answer._tag === "Seen") this.#seen = answer
    for (const [key, standing] of this.#interests) {
      if (!this.#concerns(standing.quiet ? seen : this.#before, answer, standing)) continue
      keys.add(key)
      if (!standing.quiet) this.#newsAt = this.#options.clock.currentTimeMillisUnsafe()
    }
    return Effect.forEach(keys, this.#options.wake, { discard: true })
  }

  #concerns(before: Observed<A>, after: Observed<A>, { ids, quiet }: Standing): boolean {
    if (before._tag !== "Seen" || after._tag !== "Seen") return !quiet && before._tag !== after._tag
    return ids.some((id) => this.#options.about(before.value, id) !== this.#options.about(after.value, id))
  }

  /** A server that does not answer is asked at the full pace: everybody waits for it. */
  #period(): number {
    const { period, slowest } = this.#options
    return this.#answer._tag === "Seen" ? Math.min(slowest, Math.max(period, Math.round((this.#lastAsked - this.#newsAt) / 10))) : period
  }

  readonly #poll = Effect.forever(
    Effect.suspend(() => {
      const now = this.#options.clock.currentTimeMillisUnsafe()
      const period = this.#period()
      const wait = this.#lastAsked + period - now
      // More than a period: the wall clock was set back, which must not end the polls.
      if (wait > 0 && wait <= period) return Effect.sleep(Math.min(wait, this.#options.period))
      this.#follow(0, [])
      // The question may wait for its moment, a second at most.
      return Effect.sleep(longestWait)
    }),
  )
}

/** The server answered, but not with a success. */
const isRefusal = (error: Unavailable): boolean => error.status !== undefined && (error.status < 200 || error.status >= 300)
