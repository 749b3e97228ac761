import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Announcer } from "#src/engine/announcer.ts"
import type { Announcement } from "#src/engine/kind.ts"
import { Conflict, Unavailable, type WriteError } from "#src/errors.ts"
import { KubernetesWriter } from "#src/kubernetes/kubernetes.ts"
import { cut, layer, subjectOf } from "#src/runtime/events.ts"
import { object, seconds } from "./support.ts"

interface Call {
  readonly verb: "create" | "patch"
  readonly namespace: string
  readonly name: string
  readonly body: { readonly [field: string]: unknown }
}

const unused = () => Effect.die("events are not written like this")

/** An announcer and what reached the API server. `answers` fails the calls it names. */
const setup = () => {
  const calls: Array<Call> = []
  const server: { error: WriteError | undefined } = { error: undefined }
  const take = (call: Call) =>
    Effect.suspend(() => {
      calls.push(call)
      return server.error === undefined ? Effect.succeed(object(call.name)) : Effect.fail(server.error)
    })
  const writer = KubernetesWriter.of({
    create: unused,
    apply: unused,
    scale: unused,
    merge: unused,
    remove: unused,
    createEvent: (namespace, body) => take({ verb: "create", namespace, name: nameIn(body), body }),
    patchEvent: (namespace, name, body) => take({ verb: "patch", namespace, name, body }),
  })
  const reporter = { controller: "service-operator", instance: "service-operator-5d9c" }
  return { calls, server, layer: layer(reporter).pipe(Layer.provide(Layer.succeed(KubernetesWriter, writer))) }
}

const nameIn = ({ metadata }: { readonly [field: string]: unknown }): string =>
  typeof metadata === "object" && metadata !== null && "name" in metadata ? String(metadata.name) : ""

const news = (reason: string, note: string, type: "Normal" | "Warning" = "Normal"): Announcement => ({
  type,
  reason,
  note,
  action: "Reconcile",
})
const verbs = (calls: ReadonlyArray<Call>) => calls.map(({ verb }) => verb)

const subject = (note: string) => subjectOf(news("Draining", note))
const bytes = (text: string) => new TextEncoder().encode(text).length

describe("events", () => {
  it.effect("an event says who, about what, and why, as events.k8s.io/v1 wants it", () => {
    const { calls, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      yield* announce(object("greeter"), news("Registered", "version greeter-5f is the latest"))
      assert.deepStrictEqual(calls[0]?.body, {
        metadata: { name: calls[0]?.name, namespace: "default" },
        eventTime: "1970-01-01T00:00:00.000000Z",
        reportingController: "service-operator",
        reportingInstance: "service-operator-5d9c",
        type: "Normal",
        reason: "Registered",
        note: "version greeter-5f is the latest",
        action: "Reconcile",
        regarding: { apiVersion: "v1", kind: "Thing", name: "greeter", uid: "uid-greeter", namespace: "default" },
      })
      assert.match(calls[0]?.name ?? "", /^greeter\.[0-9a-f]{16}$/)
    }).pipe(Effect.provide(layer))
  })

  it.effect("an event is sent once for the same reason and note", () => {
    const { calls, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      for (let i = 0; i < 100; i++) {
        yield* announce(object("a"), news("NotReady", "waiting for pods"))
        yield* seconds(10)
      }
      assert.deepStrictEqual(verbs(calls), ["create"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("repeats are told at most every half hour, with their number", () => {
    const { calls, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      for (let i = 0; i <= 60; i++) {
        yield* announce(object("a"), news("NotReady", "waiting for pods"))
        yield* seconds(60)
      }
      assert.deepStrictEqual(verbs(calls), ["create", "patch", "patch"])
      assert.strictEqual(calls[1]?.name, calls[0]?.name)
      assert.deepStrictEqual(calls[1]?.body, { series: { count: 31, lastObservedTime: "1970-01-01T00:30:00.000000Z" } })
      assert.deepStrictEqual(calls[2]?.body, { series: { count: 61, lastObservedTime: "1970-01-01T01:00:00.000000Z" } })
    }).pipe(Effect.provide(layer))
  })

  it.effect("another reason, note, type or object is news", () => {
    const { calls, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      yield* announce(object("a"), news("NotReady", "waiting for pods"))
      yield* announce(object("a"), news("NotReady", "waiting for the cluster"))
      yield* announce(object("a"), news("NotReady", "waiting for the cluster", "Warning"))
      yield* announce(object("a"), news("Registered", "waiting for the cluster"))
      yield* announce(object("b"), news("Registered", "waiting for the cluster"))
      yield* announce(object("b", "made anew"), news("Registered", "waiting for the cluster"))
      assert.deepStrictEqual(
        verbs(calls),
        Array.from({ length: 6 }, () => "create"),
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("two conditions that alternate do not send an event for each change", () => {
    const { calls, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      for (let i = 0; i < 60; i++) {
        yield* announce(object("a"), news("NotReady", "no pod is ready"))
        yield* seconds(1)
        yield* announce(object("a"), news("Ready", "pods are ready"))
        yield* seconds(1)
      }
      assert.deepStrictEqual(verbs(calls.slice(0, 2)), ["create", "create"])
      assert.isAtMost(calls.length, 6)
    }).pipe(Effect.provide(layer))
  })

  it.effect("an event that the API server has forgotten is told anew", () => {
    const { calls, server, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      yield* announce(object("a"), news("NotReady", "waiting for pods"))
      yield* seconds(1800)
      server.error = new Conflict({ detail: "not found" })
      yield* announce(object("a"), news("NotReady", "waiting for pods"))
      assert.deepStrictEqual(verbs(calls), ["create", "patch", "create"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("an event that could not be sent fails nobody, and is tried again", () => {
    const { calls, server, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      server.error = new Unavailable({ server: "kubernetes", detail: "away" })
      yield* announce(object("a"), news("NotReady", "waiting for pods"))
      server.error = undefined
      yield* announce(object("a"), news("NotReady", "waiting for pods"))
      yield* announce(object("a"), news("NotReady", "waiting for pods"))
      assert.deepStrictEqual(verbs(calls), ["create", "create"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("events of cluster-scoped objects go to the default namespace", () => {
    const { calls, layer } = setup()
    return Effect.gen(function* () {
      const { announce } = yield* Announcer
      yield* announce(object("main", "uid", ""), news("Ready", "up"))
      assert.strictEqual(calls[0]?.namespace, "default")
      assert.notProperty(calls[0]?.body["regarding"], "namespace")
    }).pipe(Effect.provide(layer))
  })

  it("news that differs in counts only is the same news; names and ids are not counts", () => {
    assert.strictEqual(subject("3 invocations left on greeter-5f"), subject("12 invocations left on greeter-5f"))
    assert.strictEqual(subject("waits (3 pinned)."), subject("waits (4 pinned)."))
    for (const [a, b] of [
      ["greeter-5f is the latest", "greeter-6f is the latest"],
      ["greeter-5 is the latest", "greeter-6 is the latest"],
      ["v1.2 is the latest", "v1.3 is the latest"],
      ["registered at http://a:9080", "registered at http://a:9081"],
    ] as const)
      assert.notStrictEqual(subject(a), subject(b))
  })

  it("a note is cut to 1 KiB of UTF-8, between code points", () => {
    assert.strictEqual(cut("x".repeat(1024)), "x".repeat(1024))
    for (const text of ["x".repeat(2000), "é".repeat(600), "😀".repeat(300), `x${"😀".repeat(300)}`, `xx${"€".repeat(400)}`]) {
      const note = cut(text)
      assert.isTrue(bytes(note) <= 1024 && bytes(note) > 1018, `${bytes(note)} bytes`)
      assert.isTrue(text.startsWith(note.slice(0, -1)) && note.endsWith("…"))
      assert.isTrue(note.isWellFormed())
    }
  })
})
