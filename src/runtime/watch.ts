/**
 * The reflector: keeps a copy of all objects of a kind true, for as long as it runs. List, then watch from there; resume
 * after every break; list again when the server has forgotten where we were. Never fails, never ends, never hammers.
 */
import { Clock, Data, Duration, Effect, Random, type Scope } from "effect"
import { type Forbidden, Rejected, type Unavailable } from "../errors.ts"
import type { Objects } from "../kubernetes/kubernetes.ts"
import type { Sink } from "./cache.ts"

/** The server has forgotten this resourceVersion or this page (HTTP 410, or an ERROR event that says so). */
export class Expired extends Data.TaggedError("Expired")<{ readonly detail: string }> {}

/** The server does not serve the kind. */
export class Missing extends Data.TaggedError("Missing")<{ readonly detail: string }> {}

export type FeedError = Unavailable | Rejected | Forbidden | Expired | Missing

export interface Page<T> {
  readonly objects: ReadonlyArray<T>
  /** The state of the world that the whole list is of; the same on every page. */
  readonly resourceVersion: string
  /** Present when there is more. */
  readonly next: string | undefined
}

export type WatchEvent<T> =
  | { readonly _tag: "Upserted" | "Removed"; readonly object: T; readonly resourceVersion: string }
  /** Nothing happened up to here. */
  | { readonly _tag: "Bookmark"; readonly resourceVersion: string }
  /** An object that is none: skipped, but the place is remembered. */
  | { readonly _tag: "Unreadable"; readonly resourceVersion: string | undefined }

/** One kind on the wire. */
export interface Feed<T> {
  /** How people call it: `replicasets.apps`. */
  readonly name: string
  readonly page: (next: string | undefined) => Effect.Effect<Page<T>, FeedError>
  /** Opens a watch after `resourceVersion` that the server ends after `seconds`; undefined: the server has ended it. */
  readonly open: (
    resourceVersion: string,
    seconds: number,
  ) => Effect.Effect<Effect.Effect<ReadonlyArray<WatchEvent<T>> | undefined, FeedError>, FeedError, Scope.Scope>
}

/** Milliseconds unless said otherwise. */
export const timing = {
  /** Seconds. A watch lives this long, a little less for some, so that the watches of all kinds do not break together. */
  watch: { least: 260, most: 300 },
  /** A bookmark comes every 60 s, also when nothing happens (measured on 1.36): longer silence is a dead connection. */
  stall: 100_000,
  /** A watch that ends sooner than this counts as a failure, however politely it ended. */
  short: 5_000,
  /** Delay after a failure: 200 ms, doubled each time, ± 50 %. */
  first: 200,
  /** Few kinds and one operator: asking each 10 s is no load, and an outage is over 10 s after it is over. */
  most: 10_000,
  /** A CRD may come at any time. */
  missing: 10_000,
} as const

/** Breaks in a row, about 13 s, after which the place is given up: whatever is wrong with it, a list mends it. */
const patience = 6

interface Place {
  /** Where the watch goes on; undefined: list first. */
  resourceVersion: string | undefined
  /** Breaks in a row without a watch of decent length. */
  failures: number
  /** Places in a row that were too old. */
  expired: number
  /** True after the first whole list. */
  synced: boolean
}

/** Follows a kind for ever. Interruption ends it. */
export const reflect = <K extends keyof Objects>(feed: Feed<Objects[K]>, sink: Sink<K>): Effect.Effect<never> => {
  const place: Place = { resourceVersion: undefined, failures: 0, expired: 0, synced: false }
  return session(feed, sink, place).pipe(
    Effect.matchEffect({
      onSuccess: (lasted) => ended(sink, place, lasted),
      onFailure: (error) => broken(feed, sink, place, error),
    }),
    // A defect of a listener or of ours must not leave the operator blind: say so, and begin anew.
    Effect.catchDefect((defect) =>
      Effect.flatMap(Effect.logError(`The watch of ${feed.name} had a defect`, defect), () => anew(sink, place)),
    ),
    Effect.flatMap((delay) => Effect.sleep(Duration.millis(delay))),
    Effect.forever,
  )
}

const anew = <K extends keyof Objects>(sink: Sink<K>, place: Place): Effect.Effect<number> => {
  place.resourceVersion = undefined
  sink.enter("reconnecting", "defect")
  return backoff(place)
}

/** One connection, preceded by a list if need be. Succeeds with the milliseconds that the watch lasted when the server ended it. */
const session = Effect.fnUntraced(function* <K extends keyof Objects>(feed: Feed<Objects[K]>, sink: Sink<K>, place: Place) {
  const from = place.resourceVersion ?? (yield* list(feed, sink, place))
  const opened = yield* millis
  yield* Effect.scoped(watch(feed, sink, place, from))
  return (yield* millis) - opened
})

const list = Effect.fnUntraced(function* <K extends keyof Objects>(feed: Feed<Objects[K]>, sink: Sink<K>, place: Place) {
  sink.enter("listing", "")
  const objects: Array<Objects[K]> = []
  let page = yield* feed.page(undefined)
  objects.push(...page.objects)
  while (page.next !== undefined) {
    page = yield* feed.page(page.next)
    objects.push(...page.objects)
  }
  // Only now, and at once: nobody ever sees half a list.
  sink.heard()
  sink.replace(objects, page.resourceVersion)
  place.resourceVersion = page.resourceVersion
  place.synced = true
  return page.resourceVersion
})

const watch = Effect.fnUntraced(function* <K extends keyof Objects>(feed: Feed<Objects[K]>, sink: Sink<K>, place: Place, from: string) {
  const seconds = yield* Random.nextIntBetween(timing.watch.least, timing.watch.most)
  const next = yield* feed.open(from, seconds)
  const opened = yield* millis
  sink.heard()
  sink.enter("watching", "")
  for (;;) {
    const events = yield* Effect.timeoutOrElse(next, {
      duration: Duration.millis(timing.stall),
      orElse: () => Effect.succeed("stalled" as const),
    })
    if (events === undefined) return
    if (events === "stalled") {
      yield* Effect.logInfo(`Nothing was heard of ${feed.name} for ${timing.stall / 1000} s, connecting again`)
      return
    }
    sink.heard()
    place.expired = 0
    if (place.failures > 0 && (yield* millis) - opened >= timing.short) place.failures = 0
    for (const event of events) {
      if (event._tag === "Upserted") sink.upsert(event.object)
      else if (event._tag === "Removed") sink.remove(event.object)
      else if (event._tag === "Unreadable") yield* Effect.logWarning(`An object among ${feed.name} cannot be read and is left out`)
      place.resourceVersion = event.resourceVersion ?? place.resourceVersion
    }
  }
})

/** After a polite end: at once if the watch lived, else as after a failure. */
const ended = <K extends keyof Objects>(sink: Sink<K>, place: Place, lasted: number): Effect.Effect<number> => {
  sink.enter("reconnecting", "")
  if (lasted < timing.short) return backoff(place)
  place.failures = 0
  return Random.nextBetween(0, timing.first)
}

/** What a failure means for the next connection, and the milliseconds until then. */
const broken = Effect.fnUntraced(function* <K extends keyof Objects>(
  feed: Feed<Objects[K]>,
  sink: Sink<K>,
  place: Place,
  error: FeedError,
) {
  switch (error._tag) {
    case "Expired":
      // The server is there: list at once, unless it calls what it has just listed too old, again and again.
      place.resourceVersion = undefined
      sink.enter("reconnecting", error.detail)
      return yield* around(growing(place.expired++))
    case "Missing":
      place.resourceVersion = undefined
      place.failures = 0
      sink.enter("missing", error.detail)
      return yield* around(timing.missing)
    case "Forbidden":
    case "Rejected":
      return yield* refused(feed, sink, place, error)
    case "Unavailable":
      // Credentials that never worked need a person; those that worked yesterday may be about to be renewed.
      if (error.status === 401 && !place.synced)
        return yield* refused(
          feed,
          sink,
          place,
          new Rejected({ server: "kubernetes", status: 401, code: "Unauthorized", detail: error.detail }),
        )
      sink.enter("reconnecting", error.detail)
      // The second break in a row is worth a line; one is everyday life.
      if (place.failures === 1) yield* Effect.logWarning(`Lost ${feed.name}: ${error.detail}`)
      if (place.failures >= patience) place.resourceVersion = undefined
      return yield* backoff(place)
  }
})

const refused = Effect.fnUntraced(function* <K extends keyof Objects>(
  feed: Feed<Objects[K]>,
  sink: Sink<K>,
  place: Place,
  error: Forbidden | Rejected,
) {
  place.resourceVersion = undefined
  sink.enter("refused", error.detail, error)
  if (place.failures === 0) yield* Effect.logWarning(`Cannot watch ${feed.name}: ${error.detail}`)
  return yield* backoff(place, timing.missing)
})

const backoff = (place: Place, first: number = timing.first): Effect.Effect<number> => around(growing(place.failures++, first))

const growing = (times: number, first: number = timing.first): number => Math.min(timing.most, first * 2 ** Math.min(times, 16))

/** ± 50 %. */
const around = (delay: number): Effect.Effect<number> => Random.nextBetween(delay / 2, (delay * 3) / 2)

const millis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))
