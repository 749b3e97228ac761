import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger, Queue, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Forbidden, Unavailable } from "#src/errors.ts"
import type { Objects } from "#src/kubernetes/kubernetes.ts"
import { Cache } from "#src/runtime/cache.ts"
import { Source } from "#src/runtime/source.ts"
import { Expired, type Feed, type FeedError, Missing, type Page, reflect, timing, type WatchEvent } from "#src/runtime/watch.ts"

type Service = Objects["Service"]
type Said = ReadonlyArray<WatchEvent<Service>> | FeedError | "end"
type Connection = Queue.Queue<Said>

const object = (name: string, version: number): Service => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "n", name, uid: name, resourceVersion: String(version) },
  spec: {},
})
const upserted = (name: string, version: number): WatchEvent<Service> => ({
  _tag: "Upserted",
  object: object(name, version),
  resourceVersion: String(version),
})
const removed = (name: string, version: number): WatchEvent<Service> => ({
  _tag: "Removed",
  object: object(name, version),
  resourceVersion: String(version),
})
const bookmark = (version: number): WatchEvent<Service> => ({ _tag: "Bookmark", resourceVersion: String(version) })
const page = (version: number, names: ReadonlyArray<string>, next?: string): Page<Service> => ({
  objects: names.map((name) => object(name, version)),
  resourceVersion: String(version),
  next,
})
const unavailable = new Unavailable({ server: "kubernetes", detail: "away" })

/** A server that answers by script: pages and openings in their order, the last one again and again. */
const started = Effect.fnUntraced(function* (
  script: { readonly pages?: ReadonlyArray<Page<Service> | FeedError>; readonly opens?: ReadonlyArray<FeedError | "ok"> } = {},
) {
  const asked: Array<string> = []
  const connections: Array<Connection> = []
  const { opens = ["ok"], pages = [page(1, ["a"])] } = script
  let lists = 0
  let watches = 0
  const feed: Feed<Service> = {
    name: "services",
    page: (next) =>
      Effect.suspend(() => {
        asked.push(next === undefined ? "list" : `list ${next}`)
        const answer = pages[Math.min(lists++, pages.length - 1)]
        return answer === undefined ? Effect.never : answer instanceof Error ? Effect.fail(answer) : Effect.succeed(answer)
      }),
    open: (resourceVersion, seconds) =>
      Effect.gen(function* () {
        asked.push(`watch ${resourceVersion}`)
        assert.isTrue(seconds >= timing.watch.least && seconds <= timing.watch.most)
        const answer = opens[Math.min(watches++, opens.length - 1)]
        if (answer instanceof Error) return yield* Effect.fail(answer)
        const connection: Connection = yield* Queue.unbounded<Said>()
        connections.push(connection)
        return Effect.flatMap(Queue.take(connection), (said): Effect.Effect<ReadonlyArray<WatchEvent<Service>> | undefined, FeedError> =>
          said === "end" ? Effect.undefined : said instanceof Error ? Effect.fail(said) : Effect.succeed(said),
        )
      }),
  }
  const cache = yield* Cache
  const source = yield* Source
  const heard: Array<string> = []
  source.subscribe(
    "Service",
    ({ after, before, initial }) =>
      void heard.push(`${before?.metadata.resourceVersion ?? "-"} ${after?.metadata.resourceVersion ?? "-"}${initial ? " initial" : ""}`),
  )
  yield* Effect.forkScoped(reflect(feed, cache.sink("Service")))
  yield* TestClock.adjust(0)
  /** Says something on the youngest connection, and lets the reflector hear it. */
  const say = (what: Said) =>
    Effect.gen(function* () {
      const connection = connections.at(-1)
      assert.isDefined(connection)
      yield* Queue.offer(connection, what)
      yield* TestClock.adjust(0)
    })
  const names = Effect.map(Effect.all(["a", "b", "c"].map((name) => cache.get("Service", "n", name))), (found) =>
    found.flatMap((one) => one?.metadata.name ?? []),
  )
  return { asked, heard, say, names, source, state: () => cache.status("Service").state, read: cache.get("Service", "n", "a") }
})

const seconds = (n: number) => TestClock.adjust(n * 1000)

const indexers = {
  deployment: () => [],
  cluster: () => [],
  environment: () => [],
  ReplicaSet: () => [],
  Service: () => [],
  EndpointSlice: () => [],
  HorizontalPodAutoscaler: () => [],
  Namespace: () => [],
  ServiceAccount: () => [],
  ConfigMap: () => [],
  ServerService: () => [],
  PodDisruptionBudget: () => [],
  NetworkPolicy: () => [],
  StatefulSet: () => [],
  PersistentVolumeClaim: () => [],
  TunnelDeployment: () => [],
  TunnelService: () => [],
  Secret: () => [],
  Pod: () => [],
  Event: () => [],
}

const law = (name: string, effect: Effect.Effect<unknown, unknown, Cache | Source | Scope.Scope>) =>
  it.effect(name, () => Effect.asVoid(Effect.scoped(Effect.provide(effect, Layer.merge(Cache.layer(indexers), Logger.layer([]))))))

describe("the reflector", () => {
  law(
    "lists all pages, shows them at once when the last is there, and watches from the list's resourceVersion",
    Effect.gen(function* () {
      const { asked, heard, names } = yield* started({ pages: [page(7, ["a"], "more"), page(7, ["b"])] })
      assert.deepStrictEqual(asked, ["list", "list more", "watch 7"])
      assert.deepStrictEqual(yield* names, ["a", "b"])
      assert.deepStrictEqual(heard, ["- 7 initial", "- 7 initial"])
    }),
  )

  law(
    "a list that breaks off half-way shows nothing",
    Effect.gen(function* () {
      const { heard, names, source } = yield* started({ pages: [page(7, ["a"], "more"), unavailable, page(8, ["a"], "more"), unavailable] })
      yield* seconds(1)
      assert.deepStrictEqual(heard, [])
      assert.strictEqual((yield* Effect.flip(names))._tag, "Unavailable")
      const waiting = yield* Effect.forkChild(source.synced("Service"))
      assert.isUndefined(waiting.pollUnsafe())
    }),
  )

  law(
    "goes on where it was after a break, a polite end and a bookmark",
    Effect.gen(function* () {
      const { asked, say } = yield* started()
      yield* seconds(10)
      yield* say([upserted("a", 2)])
      yield* say(unavailable)
      yield* seconds(10)
      yield* say([bookmark(9)])
      yield* seconds(10)
      yield* say("end")
      yield* seconds(1)
      assert.deepStrictEqual(asked, ["list", "watch 1", "watch 2", "watch 9"])
    }),
  )

  for (const [form, script] of [
    ["an event", undefined],
    ["the answer to a watch", { opens: ["ok", new Expired({ detail: "" }), "ok"] }],
  ] as const)
    law(
      `lists again when its place is too old (410 as ${form}), and tells what changed meanwhile`,
      Effect.gen(function* () {
        const { asked, heard, say } = yield* started({ pages: [page(1, ["a", "b"]), page(20, ["b", "c"])], ...script })
        yield* seconds(10)
        yield* say(script === undefined ? new Expired({ detail: "too old" }) : "end")
        yield* seconds(2)
        assert.deepStrictEqual(asked.slice(2), script === undefined ? ["list", "watch 20"] : ["watch 1", "list", "watch 20"])
        assert.deepStrictEqual(heard.slice(2), ["1 20", "- 20", "1 -"])
      }),
    )

  law(
    "a page that is too old makes a new list",
    Effect.gen(function* () {
      const { asked, names } = yield* started({ pages: [page(7, ["a"], "more"), new Expired({ detail: "" }), page(8, ["b"])] })
      yield* seconds(2)
      assert.deepStrictEqual(asked, ["list", "list more", "list", "watch 8"])
      assert.deepStrictEqual(yield* names, ["b"])
    }),
  )

  law(
    "a connection without a line for 100 s is given up; a bookmark a minute keeps it",
    Effect.gen(function* () {
      const { asked, say, state } = yield* started()
      for (let minute = 0; minute < 5; minute++) {
        yield* seconds(60)
        yield* say([bookmark(minute + 2)])
      }
      assert.deepStrictEqual(asked, ["list", "watch 1"])
      yield* seconds(timing.stall / 1000 + 1)
      assert.deepStrictEqual(asked, ["list", "watch 1", "watch 6"])
      assert.strictEqual(state(), "watching")
    }),
  )

  law(
    "a server that ends each watch at once is asked ever more slowly, at most once in 5 s",
    Effect.gen(function* () {
      const { asked, say } = yield* started()
      for (let i = 0; i < 600; i++) {
        if (asked.length > 1) yield* say("end")
        yield* seconds(1)
      }
      // Ten minutes: about 6 while the delay grows, then one each 5 to 15 s.
      assert.isBelow(asked.filter((line) => line.startsWith("watch")).length, 6 + 600 / 5)
    }),
  )

  law(
    "a server that is away is asked ever more slowly, and the kind is read for a minute more",
    Effect.gen(function* () {
      const { asked, read, say, state } = yield* started({ pages: [page(1, ["a"]), unavailable], opens: ["ok", unavailable] })
      yield* seconds(10)
      yield* say([upserted("a", 2)])
      yield* say(unavailable)
      yield* seconds(55)
      assert.strictEqual((yield* read)?.metadata.resourceVersion, "2")
      assert.strictEqual(state(), "reconnecting")
      yield* seconds(10)
      assert.strictEqual((yield* Effect.flip(read))._tag, "Unavailable")
      yield* seconds(600)
      assert.isBelow(asked.length, 2 + 6 + 665 / 5)
    }),
  )

  law(
    "six failures in a row are answered with a list: a place from the future, after a restored backup, mends itself",
    Effect.gen(function* () {
      const { asked, read, say } = yield* started({
        pages: [page(100, ["a"]), page(50, ["a"])],
        opens: ["ok", ...Array.from({ length: 7 }, () => unavailable), "ok"],
      })
      yield* seconds(10)
      yield* say("end")
      yield* seconds(60)
      assert.deepStrictEqual(asked.slice(-2), ["list", "watch 50"])
      assert.strictEqual((yield* read)?.metadata.resourceVersion, "50")
    }),
  )

  law(
    "a server that calls each fresh list too old is listed ever more slowly",
    Effect.gen(function* () {
      const { asked, say } = yield* started()
      for (let i = 0; i < 120; i++) {
        if (asked.at(-1)?.startsWith("watch") === true) yield* say(new Expired({ detail: "" }))
        yield* seconds(1)
      }
      assert.isBelow(asked.filter((line) => line === "list").length, 6 + 120 / 5)
    }),
  )

  law(
    "after an outage a place that is too old costs no further wait",
    Effect.gen(function* () {
      const away = Array.from({ length: 5 }, () => unavailable)
      const { asked, say } = yield* started({
        pages: [page(1, ["a"]), page(9, ["a"])],
        opens: ["ok", ...away, new Expired({ detail: "" }), "ok"],
      })
      yield* seconds(10)
      yield* say(unavailable)
      for (let second = 0; asked.length < 8 && second < 60; second++) yield* seconds(1)
      yield* seconds(1)
      assert.deepStrictEqual(asked.slice(-3), ["watch 1", "list", "watch 9"])
    }),
  )

  law(
    "a missing kind is asked for about every 10 s, is said to be missing, and comes when it comes",
    Effect.gen(function* () {
      const { asked, read, source, state } = yield* started({
        pages: [new Missing({ detail: "no CRD" }), new Missing({ detail: "no CRD" }), page(3, ["a"])],
      })
      assert.deepStrictEqual([state(), [...(yield* source.missing)]], ["missing", ["Service"]])
      assert.strictEqual((yield* Effect.flip(read))._tag, "Unavailable")
      const waiting = yield* Effect.forkChild(source.synced("Service"))
      yield* seconds(35)
      assert.deepStrictEqual([state(), [...(yield* source.missing)], asked.length], ["watching", [], 4])
      assert.isDefined(waiting.pollUnsafe())
    }),
  )

  law(
    "a kind whose CRD is removed is missing again, and cannot be read",
    Effect.gen(function* () {
      const { read, say, source } = yield* started({
        opens: ["ok", new Missing({ detail: "gone" })],
        pages: [page(1, ["a"]), new Missing({ detail: "gone" })],
      })
      yield* seconds(10)
      yield* say([removed("a", 2)])
      yield* say("end")
      yield* seconds(1)
      assert.deepStrictEqual([...(yield* source.missing)], ["Service"])
      assert.strictEqual((yield* Effect.flip(read))._tag, "Unavailable")
    }),
  )

  law(
    "a refusal is what synced fails with, and a right given later is used",
    Effect.gen(function* () {
      const forbidden = new Forbidden({ verb: "list", subject: "services", detail: "no" })
      const { names, source, state } = yield* started({ pages: [forbidden, page(3, ["a"])] })
      assert.strictEqual(state(), "refused")
      assert.strictEqual((yield* Effect.flip(source.synced("Service")))._tag, "Forbidden")
      yield* seconds(20)
      assert.deepStrictEqual(yield* names, ["a"])
      yield* source.synced("Service")
    }),
  )

  law(
    "a listener that throws does not end the watch",
    Effect.gen(function* () {
      const { asked, read, say, source } = yield* started({ pages: [page(1, ["a"]), page(5, ["a"])] })
      let thrown = 0
      const end = source.subscribe("Service", ({ after }) => {
        if (after?.metadata.resourceVersion === "2" && thrown++ === 0) throw new Error("a defect")
      })
      yield* say([upserted("a", 2)])
      yield* seconds(5)
      end()
      assert.deepStrictEqual(asked.slice(2, 4), ["list", "watch 5"])
      assert.strictEqual((yield* read)?.metadata.resourceVersion, "5")
    }),
  )

  law(
    "who subscribes late hears of what is there",
    Effect.gen(function* () {
      const { source } = yield* started({ pages: [page(1, ["a", "b"])] })
      const late = yield* Deferred.make<number>()
      let count = 0
      source.subscribe("Service", ({ initial }) => void (initial && ++count === 2 && Deferred.doneUnsafe(late, Effect.succeed(count))))
      assert.strictEqual(yield* Deferred.await(late), 2)
    }),
  )
})
