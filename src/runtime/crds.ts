/** Custom resource definitions that are not there yet: a gauge for each, and an event on the operator's own pod. */
import { Effect, Option } from "effect"
import { Announcer } from "../engine/announcer.ts"
import type { Kind, KindAccess } from "../kubernetes/access.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { Source } from "./source.ts"

/** Milliseconds between two looks, and between two reminders. */
export const interval = 10_000

/**
 * Tells for as long as the operator runs which of the CRDs it waits for. `pod` is the operator's own, where events go;
 * without it there is the gauge and the log.
 */
export const report = Effect.fnUntraced(function* (
  kinds: ReadonlyArray<Kind>,
  access: { readonly [K in Kind]: Pick<KindAccess, "plural" | "group"> },
  pod: Option.Option<KubernetesObject>,
): Effect.fn.Return<never, never, Source | Metrics | Announcer> {
  const source = yield* Source
  const metrics = yield* Metrics
  const announcer = yield* Announcer
  const nameOf = (kind: Kind) => `${access[kind].plural}.${access[kind].group}`
  yield* Effect.forEach(kinds, (kind) => metrics.crdMissing(nameOf(kind), true), { discard: true })

  const synced = new Set<Kind>()
  const look = Effect.gen(function* () {
    const missing = yield* source.missing
    const awaited = kinds.filter((kind) => missing.has(kind) || !synced.has(kind))
    yield* Effect.forEach(kinds, (kind) => metrics.crdMissing(nameOf(kind), awaited.includes(kind)), { discard: true })
    return awaited.filter((kind) => missing.has(kind)).map(nameOf)
  })
  const sync = (kind: Kind) =>
    source.synced(kind).pipe(
      Effect.andThen(Effect.sync(() => synced.add(kind))),
      Effect.andThen(look),
      // The controller that needs it fails with the same error, and says so.
      Effect.ignore,
      Effect.andThen(Effect.never),
    )

  const announce = (type: "Normal" | "Warning", reason: string, note: string) =>
    Option.match(pod, {
      onNone: () => Effect.void,
      onSome: (object) => announcer.announce(object, { type, reason, note, action: "WaitForCRD" }),
    })

  const remind = Effect.gen(function* () {
    let waiting = ""
    for (;;) {
      yield* Effect.sleep(interval)
      const awaited = (yield* look).join(", ")
      if (awaited !== "") {
        yield* announce("Warning", "WaitingForCRD", `waiting for ${awaited}`)
        if (awaited !== waiting) yield* Effect.annotateLogs(Effect.logWarning("waiting for custom resource definitions"), { crds: awaited })
      } else if (waiting !== "") {
        yield* announce("Normal", "CRDsAvailable", "all custom resource definitions are there")
        yield* Effect.logInfo("all custom resource definitions are there")
      }
      waiting = awaited
    }
  })
  return yield* Effect.raceAllFirst([remind, ...kinds.map(sync)])
})
