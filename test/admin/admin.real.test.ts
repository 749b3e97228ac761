/** The admin module against the real durable-execution server: what the other tests believe about it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Result, type Scope } from "effect"
import { AdminLooks, AdminReader, AdminWriter, type Registration } from "#src/admin/admin.ts"
import { AdminCalls, layerCalls } from "#src/admin/calls.ts"
import { layer } from "#src/admin/live.ts"
import type { AdminServer } from "#src/engine/action.ts"
import { Wake } from "#src/engine/wake.ts"
import { type DurableServer, startDurableServer } from "../../sandbox/durable-server.ts"
import { Processes } from "../../sandbox/processes.ts"
import { endpoint, Gate, greeter, objectNamed, silentEndpoint } from "./support/endpoints.ts"

const directory = mkdtempSync(join(tmpdir(), "admin-"))
const processes = new Processes(directory)
process.once("exit", () => processes.killAllNow())
let durable: DurableServer
let server: AdminServer

beforeAll(async () => {
  durable = await startDurableServer({ directory, processes })
  server = { key: `url/${durable.adminUrl}`, base: durable.adminUrl }
}, 60_000)

afterAll(async () => {
  await processes.stopAll()
  rmSync(directory, { recursive: true, force: true })
})

const woken: Array<string> = []
const options = { environment: {}, metricsPrefix: "real_" }
const services = Layer.mergeAll(layer(options), layerCalls(options)).pipe(
  Layer.provide(Layer.succeed(Wake, { wake: (key) => Effect.sync(() => void woken.push(key)) })),
)

const real = (name: string, test: () => Effect.Effect<void, unknown, AdminReader | AdminLooks | AdminWriter | AdminCalls | Scope.Scope>) =>
  it.live(name, () => Effect.scoped(Effect.suspend(test)).pipe(Effect.provide(services)), 60_000)

let names = 0
/** A service name of its own for each test, so that they do not see each other. */
const unique = (): string => `Service${(names += 1)}`

const register = Effect.fnUntraced(function* (address: string, more: Partial<Registration> = {}) {
  const writer = yield* AdminWriter
  const answer = yield* writer.register("test", { server, endpoint: address, useHttp11: undefined, force: false, ...more })
  if (answer._tag === "Parked") return yield* Effect.die(new Error("parked"))
  return answer
})

/** As a pass does it: the routing is confirmed before the pass is over. */
const confirm = (id: string, address: string, name: string) =>
  Effect.flatMap(AdminWriter, (writer) => Effect.ensuring(writer.confirm("test", server, id, address, [name]), writer.settled("test")))
const usage = Effect.flatMap(AdminCalls, (calls) => calls.usage(server))

const send = (service: string, handler: string, query = "") =>
  Effect.promise(async () => {
    const answer = await fetch(`${durable.ingressUrl}/${service}/${handler}/send${query}`, { method: "POST" })
    if (!answer.ok) throw new Error(`${handler}: ${answer.status}`)
    await answer.arrayBuffer()
  })

const eventually = <A, R>(look: Effect.Effect<A, unknown, R>, holds: (value: A) => boolean): Effect.Effect<A, unknown, R> =>
  Effect.gen(function* () {
    for (let attempt = 0; ; attempt += 1) {
      const value = yield* look
      if (holds(value) || attempt === 60) return value
      yield* Effect.sleep(100)
    }
  })

describe("registration", () => {
  real("of a new endpoint is confirmed, of a known one changes nothing, and force brings it back", () =>
    Effect.gen(function* () {
      const name = unique()
      const gate = new Gate()
      const one = yield* endpoint([greeter(name, "v1", gate)])
      const two = yield* endpoint([greeter(name, "v2", gate)])
      const v1 = yield* register(one)
      assert.deepStrictEqual(v1.services, [name])
      assert.deepStrictEqual(yield* confirm(v1.id, one, name), [])
      const v2 = yield* register(two)
      assert.notStrictEqual(v2.id, v1.id)
      assert.deepStrictEqual(yield* confirm(v2.id, two, name), [])

      assert.strictEqual((yield* register(one)).id, v1.id)
      assert.deepStrictEqual(yield* confirm(v1.id, one, name), [{ service: name, deploymentId: v2.id }])
      assert.strictEqual((yield* register(one, { force: true })).id, v1.id)
      assert.deepStrictEqual(yield* confirm(v1.id, one, name), [])
      assert.deepStrictEqual(yield* confirm(v1.id, one, `${name}Unknown`), [{ service: `${name}Unknown`, deploymentId: "" }])
    }),
  )

  real("that changes the kind of a service is refused for good, and the text names the code", () =>
    Effect.gen(function* () {
      const name = unique()
      yield* register(yield* endpoint([greeter(name, "v1", new Gate())]))
      const error = yield* Effect.flip(register(yield* endpoint([objectNamed(name)])))
      assert.deepInclude(error, { _tag: "Rejected", status: 409, code: "META0006" })
      assert.match(error.detail, /^POST \/deployments answered 409: \[META0006\] /)
    }),
  )

  real("of an endpoint that nobody serves is worth another try (scenario 76)", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(register("http://127.0.0.1:1"))
      assert.deepInclude(error, { _tag: "Unavailable", status: 500 })
      assert.match(error.detail, /META0003/)
    }),
  )

  real("of an HTTP/1.1 endpoint is refused for good, unless asked for (scenario 77)", () =>
    Effect.gen(function* () {
      const name = unique()
      const address = yield* endpoint([greeter(name, "v1", new Gate())], "http1")
      const error = yield* Effect.flip(register(address))
      assert.deepInclude(error, { _tag: "Rejected", status: 500, code: "META0014" })
      assert.deepStrictEqual((yield* register(address, { useHttp11: true })).services, [name])
    }),
  )

  real("of an address that is no URI is refused for good in plain text", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(register("not a uri"))
      assert.strictEqual(error._tag, "Rejected")
      assert.match(error.detail, /^POST \/deployments answered 4\d\d: \S/)
    }),
  )

  real("of an endpoint that hangs keeps the lane for a second, not longer (scenario 78)", () =>
    Effect.gen(function* () {
      const writer = yield* AdminWriter
      const hung = yield* silentEndpoint
      yield* Effect.forkScoped(writer.register("hung", { server, endpoint: hung, useHttp11: undefined, force: false }))
      yield* Effect.sleep(50)
      const address = yield* endpoint([greeter(unique(), "v1", new Gate())])
      const registration: Registration = { server, endpoint: address, useHttp11: undefined, force: false }
      const begun = Date.now()
      assert.strictEqual((yield* writer.register("other", registration))._tag, "Parked")
      yield* writer.settled("other")
      yield* eventually(
        Effect.sync(() => woken.includes("other")),
        (is) => is,
      )
      assert.isAtLeast(Date.now() - begun, 900)
      assert.strictEqual((yield* writer.register("other", registration))._tag, "Registered")
      assert.isBelow(Date.now() - begun, 3_000)
    }),
  )

  real("of fifty objects at once goes one by one without a failure", () =>
    Effect.gen(function* () {
      const writer = yield* AdminWriter
      const gate = new Gate()
      const todo = new Map<string, string>()
      for (let index = 0; index < 50; index += 1) todo.set(`mass${index}`, yield* endpoint([greeter(`Mass${index}`, "v1", gate)]))
      const failures: Array<unknown> = []
      const pass = Effect.fnUntraced(function* (key: string) {
        const address = todo.get(key)
        if (address === undefined) return
        const answer = yield* Effect.result(writer.register(key, { server, endpoint: address, useHttp11: undefined, force: false }))
        if (Result.isFailure(answer)) failures.push(answer.failure)
        else if (answer.success._tag === "Registered") todo.delete(key)
        yield* writer.settled(key)
      })
      yield* Effect.forEach([...todo.keys()], pass, { concurrency: "unbounded", discard: true })
      for (let round = 0; todo.size > 0 && round < 3_000; round += 1) {
        const next = woken.splice(0)
        if (next.length === 0) yield* Effect.sleep(2)
        yield* Effect.forEach(next, pass, { concurrency: "unbounded", discard: true })
      }
      assert.deepStrictEqual([todo.size, failures], [0, []])
    }),
  )
})

describe("unfinished work", () => {
  real("counts for the deployment that it must end on, the first attempt without an entry included", () =>
    Effect.gen(function* () {
      const name = unique()
      const gate = new Gate()
      const v1 = yield* register(yield* endpoint([greeter(name, "v1", gate)]))
      yield* send(name, "fast")
      yield* send(name, "sleepy")
      yield* send(name, "hold")
      yield* send(name, "boom")
      yield* send(name, "sleepy", "?delay=PT1H")
      const first = yield* eventually(usage, (all) => all.get(v1.id)?.pinned === 2 && all.get(v1.id)?.unpinned === 2)
      assert.deepInclude(first.get(v1.id), { pinned: 2, unpinned: 2, latestFor: 1 })

      // What has not begun and what is between two attempts goes over; what is pinned, and what runs, stays.
      const v2 = yield* register(yield* endpoint([greeter(name, "v2", gate)]))
      const second = yield* eventually(usage, (all) => all.get(v2.id)?.unpinned === 2)
      assert.deepInclude(second.get(v1.id), { pinned: 2, unpinned: 0, latestFor: 0 })
      assert.deepInclude(second.get(v2.id), { pinned: 0, unpinned: 2, latestFor: 1 })

      // The gate opens: the entry pins it where it runs.
      gate.open()
      yield* Effect.sleep(500)
      assert.deepInclude((yield* usage).get(v1.id), { pinned: 2, unpinned: 0 })
    }),
  )

  real("is unknown, never zero, while the server is away, and a look that was lost comes back", () =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const reader = yield* AdminReader
      yield* Effect.promise(() => durable.stop())
      yield* looks.request("waits", server, "usage", Date.now())
      const lost = yield* eventually(reader.usage(server), (answer) => answer._tag !== "Unasked")
      assert.deepInclude(lost, { _tag: "Unseen", because: "POST /query: connection refused (ECONNREFUSED)", rejected: false })
      assert.include(woken.splice(0), "waits")
      yield* Effect.promise(() => durable.restart())
      yield* looks.request("asks", server, "usage", Date.now())
      const back = yield* eventually(reader.usage(server), (answer) => answer._tag === "Seen")
      assert.strictEqual(back._tag, "Seen")
      assert.includeMembers(woken.splice(0), ["waits", "asks"])
    }),
  )
})

describe("routing", () => {
  real("is seen whole, follows our writes at once, and forgets what was deregistered", () =>
    Effect.gen(function* () {
      const looks = yield* AdminLooks
      const reader = yield* AdminReader
      const writer = yield* AdminWriter
      const name = unique()
      yield* looks.request("asks", server, "routing", Date.now())
      yield* eventually(reader.routing(server), (answer) => answer._tag !== "Unasked")
      const address = yield* endpoint([greeter(name, "v1", new Gate())])
      const { id } = yield* register(address)
      assert.deepStrictEqual(yield* confirm(id, address, name), [])
      const patched = yield* reader.routing(server)
      assert.strictEqual(patched._tag === "Seen" ? patched.value.services.get(name) : undefined, id)

      const touched = yield* reader.touchedAt(server, [name])
      assert.isFinite(touched)
      yield* looks.request("asks", server, "routing", touched)
      const asked = yield* eventually(reader.routing(server), (answer) => answer._tag === "Seen" && answer.askedAt >= touched)
      assert.deepStrictEqual(asked._tag === "Seen" ? asked.value.deployments.get(id) : undefined, {
        endpoint: `${address}/`,
        services: [name],
      })

      yield* writer.forget("key", server, id, [name], Effect.succeed(true))
      // Gone already is as good.
      yield* writer.forget("key", server, id, [name], Effect.succeed(true))
      assert.isFalse((yield* usage).has(id))
      const after = yield* reader.routing(server)
      assert.isFalse(after._tag === "Seen" && after.value.deployments.has(id))
    }),
  )
})
