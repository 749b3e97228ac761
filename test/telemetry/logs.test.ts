import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, References } from "effect"
import { json, levelOf } from "#src/telemetry/logs.ts"

/** What a program logs, line by line. */
const logged = Effect.fnUntraced(function* (program: Effect.Effect<unknown>) {
  const lines: Array<string> = []
  yield* program.pipe(
    Effect.provide(Logger.layer([Logger.map(json, (line) => void lines.push(line))])),
    Effect.provideService(References.MinimumLogLevel, "Debug"),
  )
  return lines.map((line) => JSON.parse(line))
})

const time = "1970-01-01T00:00:00.000Z"

describe("logs", () => {
  it.effect("a line is one object: time, level, message, annotations", () =>
    Effect.gen(function* () {
      const lines = yield* logged(
        Effect.annotateLogs(Effect.logInfo("controller started"), { controller: "ServiceDeployment", attempt: 2 }),
      )
      assert.deepStrictEqual(lines, [{ time, level: "info", message: "controller started", controller: "ServiceDeployment", attempt: 2 }])
    }),
  )

  it.effect("fields beside a message are fields, and several words are one message", () =>
    Effect.gen(function* () {
      const lines = yield* logged(Effect.logWarning("pass", "failed", { error: "Unavailable", detail: "away" }, new Error("why")))
      assert.deepStrictEqual(lines, [{ time, level: "warn", message: "pass failed why", error: "Unavailable", detail: "away" }])
    }),
  )

  it.effect("a field never replaces what every line has", () =>
    Effect.gen(function* () {
      const lines = yield* logged(Effect.annotateLogs(Effect.logInfo("m", { message: "theirs" }), { level: 7, time: "noon" }))
      assert.deepStrictEqual(lines, [{ time, level: "info", message: "m", message_: "theirs", level_: 7, time_: "noon" }])
    }),
  )

  it.effect("a cause is text on the same line", () =>
    Effect.gen(function* () {
      const [line] = yield* logged(
        Effect.sandbox(Effect.die(new Error("a bug"))).pipe(Effect.catch((cause) => Effect.logError("a pass failed", cause))),
      )
      assert.strictEqual(line.message, "a pass failed")
      assert.match(line.cause, /^Error: a bug\n/)
    }),
  )

  it.effect("what JSON cannot hold is logged all the same", () =>
    Effect.gen(function* () {
      const loop: { self?: unknown } = {}
      loop.self = loop
      const lines = yield* logged(Effect.logInfo("odd", { loop, big: 1n, nothing: undefined, text: "line\nbreak" }))
      assert.deepStrictEqual(lines, [{ time, level: "info", message: "odd", loop: "[object Object]", big: "1", text: "line\nbreak" }])
    }),
  )

  it("a filter's first level for everything is the level", () => {
    const expected = {
      info: "Info",
      "info,restate=debug": "Info",
      "restate=debug,WARN": "Warn",
      " debug ": "Debug",
      off: "None",
      "restate=debug": undefined,
      "": undefined,
    }
    for (const [filter, level] of Object.entries(expected)) assert.strictEqual(levelOf(filter), level, filter)
  })
})
