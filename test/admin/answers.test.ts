/** What the operator makes of answers, above all of those no admin API should give. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Metric, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { AdminCalls, layerCalls } from "#src/admin/calls.ts"
import { excerpt, refusal } from "#src/admin/answer.ts"
import type { AdminServer } from "#src/engine/action.ts"
import { always, fakeServer } from "./support/admin-server.ts"

const calls = layerCalls({ environment: {}, metricsPrefix: "test_" })
const usageFailure = (server: AdminServer) => Effect.flip(Effect.flatMap(AdminCalls, (api) => api.usage(server)))
const servicesFailure = (server: AdminServer) => Effect.flip(Effect.flatMap(AdminCalls, (api) => api.services(server)))
const registration = (server: AdminServer) => ({ server, endpoint: "http://greeter:9080", force: false, useHttp11: undefined })
const live = (name: string, test: Effect.Effect<void, unknown, AdminCalls | Scope.Scope>) =>
  it.live(name, () => Effect.scoped(test).pipe(Effect.provide(calls)))

describe("an answer that cannot be used is a failure with a short text", () => {
  const bad: ReadonlyArray<readonly [string, Parameters<typeof fakeServer>[0], RegExp]> = [
    [
      "HTML",
      always(200, "<!DOCTYPE html>\n<html><body>Sign in</body></html>", { "content-type": "text/html" }),
      /^POST \/query answered 200, but not with JSON: <!DOCTYPE html>$/,
    ],
    ["nothing", always(200, ""), /answered 200, but without a body$/],
    ["truncated JSON", always(200, `{"rows":[{"id":"dp_1","pinned":0`), /but not with JSON: /],
    ["JSON of another form", always(200, `{"services":[]}`), /in an unknown form: Missing key/],
    ["a list", always(200, "[]"), /in an unknown form/],
    ["null", always(200, "null"), /in an unknown form/],
    [
      "numbers as strings",
      always(200, `{"rows":[{"id":"dp_1","endpoint":"e","pinned":"0","unpinned":0,"latest_for":0}]}`),
      /in an unknown form: Expected/,
    ],
    [
      "a missing count",
      always(200, `{"rows":[{"id":"dp_1","endpoint":"e","unpinned":0,"latest_for":0}]}`),
      /in an unknown form: Missing key/,
    ],
    [
      "a redirect",
      always(307, "", { location: "https://user:secret@login.example.com/path?token=t" }),
      /^POST \/query answered 307, a redirect to https:\/\/login\.example\.com, which is not followed$/,
    ],
    ["204", always(204, ""), /^POST \/query answered 204$/],
    [
      "500 with JSON",
      always(500, `{"message":"partition 3 is not ready\\nmore","restate_code":null}`),
      /^POST \/query answered 500: partition 3 is not ready$/,
    ],
    ["400 with text", always(400, "bad\u0007 query", { "content-type": "text/plain" }), /^POST \/query answered 400: bad  query$/],
    ["503 with a page", always(503, `\n\n  ${"x".repeat(5000)}`, { "content-type": "text/html" }), /^POST \/query answered 503: x{199}…$/],
    ["a broken connection", (_, response) => response.socket?.destroy(), /^POST \/query: connection reset/],
    [
      "half an answer",
      (_, response) => {
        response.writeHead(200, { "content-length": "1000" })
        response.write(`{"rows":[`)
        setTimeout(() => response.socket?.destroy(), 20)
      },
      /broke off in the middle/,
    ],
  ]
  for (const [name, answer, text] of bad) {
    live(
      name,
      Effect.gen(function* () {
        const { server } = yield* fakeServer(answer)
        const error = yield* usageFailure(server)
        assert.strictEqual(error._tag, "Unavailable")
        assert.match(error.detail, text)
        assert.isBelow(error.detail.length, 260)
      }),
    )
  }

  live(
    "a gigabyte is not read",
    Effect.gen(function* () {
      let written = 0
      const { server } = yield* fakeServer((_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": String(1024 ** 3) })
        const chunk = Buffer.alloc(1024 * 1024, 0x20)
        const more = (): void => {
          while (written < 1024 && !response.destroyed) {
            written += 1
            if (!response.write(chunk)) return void response.once("drain", more)
          }
        }
        more()
      })
      const error = yield* servicesFailure(server)
      assert.match(error.detail, /larger than 8 MiB/)
      assert.isBelow(written, 64)
    }),
  )

  it.effect("silence, after ten seconds, and the connection is closed", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const arrived = yield* Deferred.make<void>()
      const { server } = yield* fakeServer((_, response) => {
        response.on("close", () => Effect.runFork(Deferred.succeed(closed, undefined)))
        Effect.runFork(Deferred.succeed(arrived, undefined))
      })
      const fiber = yield* Effect.forkChild(usageFailure(server))
      yield* Deferred.await(arrived)
      yield* TestClock.adjust(10_000)
      assert.strictEqual((yield* Fiber.join(fiber)).detail, "POST /query: no answer within 10 s")
      yield* Deferred.await(closed)
    }).pipe(Effect.scoped, Effect.provide(calls)),
  )

  live(
    "nobody listens",
    Effect.gen(function* () {
      const error = yield* servicesFailure({ key: "k", base: "http://user:secret@127.0.0.1:1/admin" })
      assert.strictEqual(error.detail, "GET /services: connection refused (ECONNREFUSED)")
      assert.isUndefined(error.status)
    }),
  )

  live(
    "an address that is not a URL",
    Effect.gen(function* () {
      assert.match((yield* servicesFailure({ key: "k", base: "ftp://x" })).detail, /not an http or https URL/)
      assert.match((yield* servicesFailure({ key: "k", base: "nonsense" })).detail, /not an http or https URL/)
      assert.strictEqual(
        (yield* servicesFailure({ key: "k", base: "http://us%er:secret@127.0.0.1:1" })).detail,
        "GET /services: the server's address cannot be used",
      )
    }),
  )
})

describe("counts", () => {
  live(
    "negative ones are 0, duplicate ids merge by the larger number, a missing endpoint is empty",
    Effect.gen(function* () {
      const rows = [
        { id: "a", endpoint: "http://a/", pinned: -3, unpinned: 2, latest_for: 1 },
        { id: "a", pinned: 4, unpinned: 1, latest_for: 0, example: "inv_1" },
        { id: "b", pinned: 0, unpinned: -1, latest_for: 0 },
      ]
      const { server, seen } = yield* fakeServer(always(200, JSON.stringify({ rows })))
      const usage = yield* (yield* AdminCalls).usage(server)
      assert.deepStrictEqual(
        [...usage],
        [
          ["a", { endpoint: "http://a/", pinned: 4, unpinned: 2, latestFor: 1, example: "inv_1" }],
          ["b", { endpoint: "", pinned: 0, unpinned: 0, latestFor: 0, example: undefined }],
        ],
      )
      assert.strictEqual(seen[0]?.headers.accept, "application/json")
    }),
  )
})

describe("a refusal of a write is final or not by code, then by status", () => {
  const cases: ReadonlyArray<readonly [number, string, "Rejected" | "Unavailable"]> = [
    [409, "META0006", "Rejected"],
    [400, "META0005", "Rejected"],
    [409, "META0004", "Rejected"],
    [500, "META0012", "Rejected"],
    [500, "META0014", "Rejected"],
    [500, "META0015", "Rejected"],
    [500, "META0003", "Unavailable"],
    [400, "META0003", "Unavailable"],
    [500, "META0013", "Unavailable"],
    [401, "", "Unavailable"],
    [403, "", "Unavailable"],
    [408, "", "Unavailable"],
    [429, "", "Unavailable"],
    [404, "", "Rejected"],
    [422, "", "Rejected"],
    [500, "", "Unavailable"],
    [501, "", "Unavailable"],
    [503, "", "Unavailable"],
    [302, "", "Unavailable"],
  ]
  for (const [status, code, tag] of cases) {
    it(`${status} ${code} is ${tag}`, () => {
      const error = refusal("POST /deployments", {
        status,
        text: JSON.stringify({ message: "no", restate_code: code === "" ? null : code }),
        location: undefined,
      })
      assert.strictEqual(error._tag, tag)
      assert.strictEqual(error.status, status)
      if (error._tag === "Rejected") assert.strictEqual(error.code, code)
    })
  }

  it("an exhausted retry of the schema registry is worth another try", () => {
    const text = JSON.stringify({ message: "retries for operation on key 'schema_registry' exhausted", restate_code: null })
    assert.strictEqual(refusal("POST /deployments", { status: 500, text, location: undefined })._tag, "Unavailable")
  })

  it("a page of some proxy is no refusal of the server's", () => {
    const page = { text: "default backend - 404", location: undefined }
    for (const status of [404, 405, 410]) assert.strictEqual(refusal("POST /deployments", { status, ...page })._tag, "Unavailable")
    const own = { status: 404, text: `{"message":"no such thing","restate_code":null}`, location: undefined }
    assert.strictEqual(refusal("POST /deployments", own)._tag, "Rejected")
  })

  it("a password with an @ goes whole", () => {
    assert.strictEqual(excerpt("cannot reach http://user:p@ss@host:9080/"), "cannot reach http://host:9080/")
  })

  it("texts lose credentials and control characters", () => {
    assert.strictEqual(
      excerpt("\u001b[31mcannot reach http://user:secret@greeter:9080/\u0000\r\nsecond"),
      "[31mcannot reach http://greeter:9080/",
    )
  })
})

describe("requests", () => {
  live(
    "paths are appended to the base path, force is explicit, use_http_11 is sent only when given (scenario 83)",
    Effect.gen(function* () {
      const { server, seen } = yield* fakeServer(
        always(200, JSON.stringify({ id: "dp_1", services: [{ name: "B", handlers: [] }, { name: "A" }] })),
        "/admin/",
      )
      const api = yield* AdminCalls
      assert.deepStrictEqual(yield* api.register(registration(server)), { id: "dp_1", services: ["A", "B"] })
      yield* api.register({ ...registration(server), useHttp11: false, force: true })
      yield* api.forget(server, "dp/1 ?x")
      assert.deepStrictEqual(
        seen.map(({ method, url, body }) => [method, url, body === "" ? undefined : JSON.parse(body)]),
        [
          ["POST", "/admin/deployments", { uri: "http://greeter:9080", force: false }],
          ["POST", "/admin/deployments", { uri: "http://greeter:9080", force: true, use_http_11: false }],
          ["DELETE", "/admin/deployments/dp%2F1%20%3Fx?force=true", undefined],
        ],
      )
      assert.strictEqual(seen[0]?.headers["content-type"], "application/json")
    }),
  )

  live(
    "user and password of the base go into a header, and into no message",
    Effect.gen(function* () {
      const { server, seen, port } = yield* fakeServer(always(401, "who are you"))
      const error = yield* servicesFailure({ ...server, base: `http://user:secret@127.0.0.1:${port}` })
      assert.strictEqual(seen[0]?.headers.authorization, `Basic ${Buffer.from("user:secret").toString("base64")}`)
      assert.strictEqual(error.detail, "GET /services answered 401: who are you")
    }),
  )

  live(
    "an answer that echoes our credentials is cleaned before anybody can quote it",
    Effect.gen(function* () {
      const basic = Buffer.from("user:s3 cret").toString("base64")
      const { server, port } = yield* fakeServer(always(500, JSON.stringify({ message: `denied: Basic ${basic} (s3 cret, s3%20cret)` })))
      const error = yield* servicesFailure({ ...server, base: `http://user:s3%20cret@127.0.0.1:${port}` })
      assert.include(error.detail, "denied: Basic ***")
      for (const secret of [basic, "s3 cret", "s3%20cret"]) assert.notInclude(error.detail, secret)
    }),
  )

  live(
    "an answer 404 to a deregistration is done, to a service it is nobody (scenario 92)",
    Effect.gen(function* () {
      const { server } = yield* fakeServer(always(404, `{"message":"gone","restate_code":null}`))
      const api = yield* AdminCalls
      yield* api.forget(server, "dp_1")
      assert.strictEqual(yield* api.service(server, "Greeter"), "")
    }),
  )

  live(
    "one connection serves one request after the other, and a kept one that was closed is replaced without a failure",
    Effect.gen(function* () {
      const sockets = new Set<unknown>()
      let count = 0
      const { server } = yield* fakeServer((_, response) => {
        sockets.add(response.socket)
        count += 1
        always(200, `{"services":[]}`)(_, response)
        // Announces nothing and hangs up some time after the answer.
        if (count === 5) setTimeout(() => response.socket?.destroy(), 1)
      })
      const api = yield* AdminCalls
      for (let request = 0; request < 5; request += 1) yield* api.services(server)
      assert.strictEqual(sockets.size, 1)
      for (let request = 0; request < 5; request += 1) yield* api.services(server)
    }),
  )

  live(
    "an http request goes through the proxy of the environment in absolute form",
    Effect.gen(function* () {
      const proxy = yield* fakeServer(always(200, `{"services":[{"name":"Greeter","deployment_id":"dp_1"}]}`))
      const base = "http://service.main.svc.cluster.local:9070/x"
      const services = yield* Effect.flatMap(AdminCalls, (api) => api.services({ key: "cluster/main", base })).pipe(
        Effect.provide(layerCalls({ environment: { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }, metricsPrefix: "test_" })),
      )
      assert.deepStrictEqual([...services], [["Greeter", "dp_1"]])
      assert.strictEqual(proxy.seen[0]?.url, `${base}/services`)
      assert.strictEqual(proxy.seen[0]?.headers.host, "service.main.svc.cluster.local:9070")
    }),
  )

  live(
    "a proxy that refuses a tunnel is a failure, not silence",
    Effect.gen(function* () {
      const proxy = createServer()
      proxy.on("connect", (_, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"))
      yield* Effect.promise(() => new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve)))
      const { port } = proxy.address() as AddressInfo
      const error = yield* servicesFailure({ key: "k", base: "https://admin.example.com" }).pipe(
        Effect.provide(layerCalls({ environment: { https_proxy: `http://127.0.0.1:${port}` }, metricsPrefix: "test_" })),
      )
      proxy.close()
      assert.strictEqual(error._tag, "Unavailable")
    }),
  )

  live(
    "calls are counted by method, path template and status",
    Effect.gen(function* () {
      const { server } = yield* fakeServer(always(404, ""))
      yield* Effect.gen(function* () {
        const api = yield* AdminCalls
        yield* api.service(server, "A")
        yield* api.service(server, "B")
        const snapshot = yield* Metric.snapshot
        const found = snapshot.find(({ id }) => id === "counted_admin_requests_total")
        assert.deepInclude(found?.attributes, { method: "GET", path: "/services/{name}", code: "404" })
        assert.deepInclude(found?.state, { count: 2 })
      }).pipe(Effect.provide(Layer.fresh(layerCalls({ environment: {}, metricsPrefix: "counted_" }))))
    }),
  )
})
