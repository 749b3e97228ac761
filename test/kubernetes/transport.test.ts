import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Metric } from "effect"
import { mkdtempSync, writeFileSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { refusal } from "#src/kubernetes/answers.ts"
import { connect, type Connection } from "#src/kubernetes/credentials.ts"
import { feedOf } from "#src/kubernetes/feed.ts"
import { ObjectReader } from "#src/kubernetes/objects.ts"
import { Transport } from "#src/kubernetes/transport.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { fakeServer, json } from "./fake-server.ts"

const vocabulary = vocabularies.service

const get = { method: "GET", path: "/x?secret=1", verb: "get", resource: "things" } as const

/** A transport to a server of the test. */
const against = Effect.fnUntraced(function* (answer: (request: IncomingMessage, response: ServerResponse, count: number) => void) {
  const server = yield* fakeServer(answer)
  const connection: Connection = {
    server: server.url,
    credentials: Effect.succeed({ headers: { authorization: "Bearer hidden" }, tls: {} }),
    forget: Effect.void,
  }
  const context = yield* Layer.build(Transport.layer(connection, "test_requests_total"))
  return { server, transport: yield* Effect.provide(Transport, context) }
})

const status = (code: number, reason: string, details: object = {}) => ({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  message: "the message",
  reason,
  code,
  details,
})

const kubeconfig = (user: object, server = "https://127.0.0.1:1", cluster: object = {}) => {
  const file = join(mkdtempSync(join(tmpdir(), "kubeconfig-")), "config")
  writeFileSync(
    file,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server, ...cluster } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  )
  return file
}

describe("the transport", () => {
  it.live("asks again and again over two connections at most", () =>
    Effect.gen(function* () {
      const { server, transport } = yield* against((_, response) => json(response, 200, {}))
      for (let i = 0; i < 20; i++) assert.strictEqual((yield* transport.send(get)).status, 200)
      // Two: a socket is free again one tick after its answer has ended.
      assert.strictEqual(server.requests.length, 20)
      assert.isAtMost(server.connections(), 2)
    }),
  )

  it.live("has at most 12 writes on their way, and reads do not wait for them", () =>
    Effect.gen(function* () {
      const { server, transport } = yield* against((request, response) => {
        if (request.method === "GET") json(response, 200, {})
      })
      for (let i = 0; i < 40; i++) yield* Effect.forkScoped(transport.send({ ...get, method: "PATCH", verb: "patch", body: "{}" }))
      yield* Effect.sleep(200)
      assert.strictEqual(server.requests.length, 12)
      assert.strictEqual((yield* transport.send(get)).status, 200)
    }),
  )

  it.live("an interrupted request is taken back from the server", () =>
    Effect.gen(function* () {
      const { server, transport } = yield* against(() => undefined)
      const fiber = yield* Effect.forkChild(transport.send(get))
      yield* Effect.sleep(100)
      yield* Fiber.interrupt(fiber)
      yield* Effect.sleep(100)
      assert.deepStrictEqual([server.requests.length, server.abandoned()], [1, 1])
    }),
  )

  // To destroy a request looks like a socket that its server has closed: a DELETE that was given up after 30 s went out again.
  it.live("an interrupted request on a connection that was used before is not sent again", () =>
    Effect.gen(function* () {
      const { server, transport } = yield* against((_, response, count) => {
        if (count === 1) json(response, 200, {})
      })
      yield* transport.send(get)
      yield* Effect.sleep(50)
      const fiber = yield* Effect.forkChild(transport.send({ ...get, method: "DELETE", verb: "delete" }))
      yield* Effect.sleep(100)
      yield* Fiber.interrupt(fiber)
      yield* Effect.sleep(100)
      assert.deepStrictEqual([server.requests.length, server.abandoned()], [2, 1])
    }),
  )

  it.live("a full server is asked again when it says so", () =>
    Effect.gen(function* () {
      const { server, transport } = yield* against((_, response, count) =>
        count < 3 ? json(response, 429, {}, { "retry-after": "0.1" }) : json(response, 200, {}),
      )
      assert.strictEqual((yield* transport.send(get)).status, 200)
      assert.strictEqual(server.requests.length, 3)
    }),
  )

  it.live("a server that stays full is left alone after four tries", () =>
    Effect.gen(function* () {
      const { server, transport } = yield* against((_, response) => json(response, 429, {}, { "retry-after": "0" }))
      assert.strictEqual((yield* transport.send(get)).status, 429)
      assert.strictEqual(server.requests.length, 4)
    }),
  )

  it.live("a connection that the server has closed meanwhile costs no failure", () =>
    Effect.gen(function* () {
      const { server, transport } = yield* against((request, response, count) => {
        if (count === 2) request.socket.resetAndDestroy()
        else json(response, 200, {})
      })
      yield* transport.send(get)
      yield* Effect.sleep(50)
      assert.strictEqual((yield* transport.send(get)).status, 200)
      assert.deepStrictEqual([server.requests.length, server.connections()], [3, 2])
    }),
  )

  it.live("a server that is not there is Unavailable, and neither query nor credentials are in the message", () =>
    Effect.gen(function* () {
      const connection: Connection = {
        server: new URL("http://127.0.0.1:1"),
        credentials: Effect.succeed({ headers: { authorization: "Bearer hidden" }, tls: {} }),
        forget: Effect.void,
      }
      const error = yield* Effect.flip(
        Effect.scoped(
          Effect.flatMap(Layer.build(Transport.layer(connection, "t")), (context) =>
            Effect.provide(
              Effect.flatMap(Transport, (transport) => transport.send(get)),
              context,
            ),
          ),
        ),
      )
      assert.strictEqual(error._tag, "Unavailable")
      assert.match(error.detail, /^GET \/x: .*ECONNREFUSED/)
      assert.notMatch(error.detail, /secret|hidden/)
    }),
  )

  it.live("counts requests by verb, resource and answer", () =>
    Effect.gen(function* () {
      const { transport } = yield* against((_, response, count) => json(response, count === 1 ? 200 : 404, {}))
      for (let i = 0; i < 3; i++) yield* transport.send(get)
      const counted = (yield* Metric.snapshot)
        .filter(({ id }) => id === "test_requests_total")
        .map(({ attributes, state }) => [attributes?.["code"], "count" in state ? Number(state.count) : 0])
      assert.deepStrictEqual(
        counted.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
        [
          ["200", 1],
          ["404", 2],
        ],
      )
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
  )
})

const line = (type: string, name: string, version: number) =>
  `${JSON.stringify({ type, object: { apiVersion: "v1", kind: "Service", metadata: { name, uid: name, resourceVersion: String(version) }, spec: {} } })}\n`

describe("a watch on the wire", () => {
  const watching = Effect.fnUntraced(function* (respond: (response: ServerResponse) => void) {
    const { server, transport } = yield* against((_, response) => respond(response))
    const feed = feedOf("Service", transport, new ObjectReader(vocabulary), vocabulary)
    return { server, next: yield* feed.open("5", 280) }
  })

  it.live("events arrive whole, however the bytes are cut", () =>
    Effect.gen(function* () {
      const text = line("ADDED", "grün", 6) + line("BOOKMARK", "", 7) + line("DELETED", "b", 8)
      const bytes = Buffer.from(text)
      const { next, server } = yield* watching((response) => {
        response.writeHead(200)
        response.flushHeaders()
        let at = 0
        const more = () => {
          if (at >= bytes.length) return void response.end('{"half":')
          response.write(bytes.subarray(at, at + 7))
          at += 7
          setImmediate(more)
        }
        more()
      })
      const seen: Array<string> = []
      for (let batch = yield* next; batch !== undefined; batch = yield* next)
        for (const event of batch)
          seen.push(`${event._tag} ${event.resourceVersion ?? ""} ${"object" in event ? event.object.metadata.name : ""}`)
      assert.deepStrictEqual(seen, ["Upserted 6 grün", "Bookmark 7 ", "Removed 8 b"])
      assert.deepStrictEqual(server.requests, [
        "GET /api/v1/services?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dservice-operator&watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=280",
      ])
    }),
  )

  it.live("410 is Expired, as an answer and as an event", () =>
    Effect.gen(function* () {
      const answered = yield* Effect.flip(watching((response) => json(response, 410, status(410, "Expired"))))
      assert.strictEqual(answered._tag, "Expired")
      const { next } = yield* watching((response) => {
        response.writeHead(200)
        response.write(`${JSON.stringify({ type: "ERROR", object: status(410, "Expired") })}\n`)
      })
      assert.strictEqual((yield* Effect.flip(next))._tag, "Expired")
    }),
  )

  it.live("a connection that is cut is Unavailable; one that ends is undefined", () =>
    Effect.gen(function* () {
      const cut = yield* watching((response) => {
        response.writeHead(200)
        response.write(line("ADDED", "a", 6))
        setTimeout(() => response.socket?.resetAndDestroy(), 50)
      })
      assert.strictEqual((yield* cut.next)?.length, 1)
      assert.strictEqual((yield* Effect.flip(cut.next))._tag, "Unavailable")
      const ended = yield* watching((response) => void response.writeHead(200).end(line("ADDED", "a", 6)))
      assert.strictEqual((yield* ended.next)?.length, 1)
      assert.isUndefined(yield* ended.next)
    }),
  )

  it.live("a kind that is not served is Missing", () =>
    Effect.gen(function* () {
      const { transport } = yield* against(
        (_, response) => void response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found"),
      )
      const feed = feedOf("deployment", transport, new ObjectReader(vocabulary), vocabulary)
      assert.strictEqual((yield* Effect.flip(feed.page(undefined)))._tag, "Missing")
    }),
  )

  it.live("a watch that nobody reads any more is closed", () =>
    Effect.gen(function* () {
      const server = yield* Effect.scoped(
        Effect.map(
          watching((response) => void response.writeHead(200).write(line("ADDED", "a", 6))),
          ({ server }) => server,
        ),
      )
      yield* Effect.sleep(100)
      assert.strictEqual(server.abandoned(), 1)
    }),
  )
})

const question = { verb: "patch", subject: 'replicasets.apps "default/a"', name: "a" }

/** What a 404 is of. */
const of = (body: string) => {
  const error = refusal(404, body, question)
  return error._tag === "NotFound" ? error.of : ""
}

const tag = (code: number, body: unknown) => refusal(code, typeof body === "string" ? body : JSON.stringify(body), question)._tag

describe("answers", () => {
  it("a status that the installed CRD does not know is no failure of the server, and says what to do", () => {
    const message =
      "failed to create typed patch object (default/greeter; durable.dev/v1beta1, Kind=ServiceDeployment): .status.deletion: field not declared in schema"
    const error = refusal(500, JSON.stringify({ ...status(500, ""), message }), question)
    assert.strictEqual(error._tag, "Rejected")
    assert.match(error._tag === "Rejected" ? error.detail : "", /^the installed CRD is older than this operator.*status\.deletion/)
  })

  it("each answer of the API server is one error", () => {
    assert.deepStrictEqual(
      [
        tag(401, status(401, "Unauthorized")),
        tag(403, status(403, "Forbidden")),
        tag(403, status(403, "Forbidden", { causes: [{ reason: "NamespaceTerminating" }] })),
        tag(404, status(404, "NotFound", { name: "a" })),
        tag(409, status(409, "AlreadyExists")),
        tag(409, status(409, "Conflict")),
        tag(410, status(410, "Gone")),
        tag(422, status(422, "Invalid")),
        tag(422, status(422, "Invalid", { causes: [{ reason: "FieldValueInvalid", field: "metadata.uid" }] })),
        tag(429, "too many"),
        tag(400, status(400, "BadRequest")),
        tag(500, "<html>"),
        tag(504, status(504, "Timeout")),
      ],
      [
        "Unavailable",
        "Forbidden",
        "Conflict",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Expired",
        "Rejected",
        "Conflict",
        "Unavailable",
        "Rejected",
        "Unavailable",
        "Unavailable",
      ],
    )
  })

  it("a missing object is told from a missing kind", () => {
    assert.deepStrictEqual(
      [of(JSON.stringify(status(404, "NotFound", { name: "a" }))), of(JSON.stringify(status(404, "NotFound"))), of("404 page not found")],
      ["object", "kind", "kind"],
    )
  })

  it("the server's words are one line of at most 300 characters", () => {
    const { detail } = refusal(500, `one\n\ttwo ${"x".repeat(10_000)}`, question)
    assert.match(detail, /^patch replicasets\.apps "default\/a": one two x+…$/)
    assert.strictEqual(detail.length, 300)
  })
})

describe("credentials", () => {
  it.live("a kubeconfig that is of no use is one sentence", () =>
    Effect.gen(function* () {
      for (const [file, words] of [
        ["/nowhere/kubeconfig", /cannot be read: .*ENOENT/],
        [kubeconfig({ "client-certificate": "/nowhere/cert" }), /credentials .* cannot be read: .*ENOENT/],
        [kubeconfig({}, "ftp://x"), /not an http or https URL/],
        [kubeconfig({}, "http://x", { "proxy-url": "http://proxy" }), /proxy-url/],
      ] as const) {
        const error = yield* Effect.flip(connect(file))
        assert.strictEqual(error._tag, "Misconfigured")
        assert.match(error.detail, words)
        assert.notInclude(error.detail, "\n")
      }
    }),
  )

  it.live("a token that the server refuses is read again, kubeconfig and all", () =>
    Effect.gen(function* () {
      const file = kubeconfig({ token: "old" })
      const { credentials, forget } = yield* connect(file)
      assert.strictEqual((yield* credentials).headers["authorization"], "Bearer old")
      writeFileSync(
        file,
        JSON.stringify({
          ...JSON.parse(
            JSON.stringify({
              clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
              contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
              "current-context": "x",
            }),
          ),
          users: [{ name: "u", user: { token: "new\n" } }],
        }),
      )
      assert.strictEqual((yield* credentials).headers["authorization"], "Bearer old")
      yield* forget
      assert.strictEqual((yield* credentials).headers["authorization"], "Bearer new")
    }),
  )

  it.live("a 401 makes the next request look at the credentials again", () =>
    Effect.gen(function* () {
      let token = "old"
      const server = yield* fakeServer((request, response) =>
        json(response, request.headers.authorization === "Bearer new" ? 200 : 401, {}),
      )
      const connection: Connection = {
        server: server.url,
        credentials: Effect.sync(() => ({ headers: { authorization: `Bearer ${token}` }, tls: {} })),
        forget: Effect.sync(() => void (token = "new")),
      }
      const context = yield* Layer.build(Transport.layer(connection, "t"))
      const send = Effect.provide(
        Effect.flatMap(Transport, (transport) => transport.send(get)),
        context,
      )
      assert.deepStrictEqual([(yield* send).status, (yield* send).status], [401, 200])
      assert.deepStrictEqual(server.credentials, ["Bearer old", "Bearer new"])
    }).pipe(Effect.provide(Logger.layer([]))),
  )
})
