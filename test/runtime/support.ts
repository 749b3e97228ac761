/** A cluster that the test is the only user of: it says what changes, and reads what the runtime wrote. */
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Forbidden } from "#src/errors.ts"
import type { Kind } from "#src/kubernetes/access.ts"
import type { KubernetesObject } from "#src/resources/meta.ts"
import { type Change, Source } from "#src/runtime/source.ts"

/** Everybody who is due gets a turn; the clock of a test does not wait for fibers that do not sleep. */
export const turns = Effect.repeat(Effect.yieldNow, { times: 30 })

/** Seconds go by. */
export const seconds = (n: number) => turns.pipe(Effect.andThen(TestClock.adjust(n * 1000)), Effect.andThen(turns))

/** An object in the namespace `default`, or in none when it is `""`. */
export const object = (name: string, uid = `uid-${name}`, namespace = "default"): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, uid, resourceVersion: "1", ...(namespace === "" ? {} : { namespace }) },
})

type AnyChange = Change<"Event">

/** What is under a kind, made if need be. */
const of = <V>(map: Map<Kind, V>, kind: Kind, make: () => V): V => {
  const known = map.get(kind) ?? make()
  map.set(kind, known)
  return known
}

/** A Source by hand. Kinds of objects do not matter to the runtime, so every object is a bare one. */
export const makeSource = () => {
  const held = new Map<Kind, Map<string, KubernetesObject>>()
  const listeners = new Map<Kind, Set<(change: AnyChange) => void>>()
  const latches = new Map<Kind, Deferred.Deferred<void, Forbidden>>()
  const missing = new Set<Kind>()
  const objects = (kind: Kind) => of(held, kind, () => new Map())
  const latch = (kind: Kind) => of(latches, kind, () => Deferred.makeUnsafe<void, Forbidden>())
  const subscribe = (kind: Kind, listener: (change: AnyChange) => void) => {
    for (const after of objects(kind).values()) listener({ before: undefined, after, initial: true })
    const all = of(listeners, kind, () => new Set())
    all.add(listener)
    return () => void all.delete(listener)
  }
  return {
    missing,
    listeners: (kind: Kind) => listeners.get(kind)?.size ?? 0,
    synced: (...kinds: ReadonlyArray<Kind>) => Effect.forEach(kinds, (kind) => Deferred.succeed(latch(kind), undefined), { discard: true }),
    refused: (kind: Kind) => Deferred.fail(latch(kind), new Forbidden({ verb: "list", subject: kind, detail: `may not list ${kind}` })),
    put: (kind: Kind, after: KubernetesObject) => {
      const before = objects(kind).get(after.metadata.name)
      objects(kind).set(after.metadata.name, after)
      for (const listener of listeners.get(kind) ?? []) listener({ before, after, initial: false })
    },
    remove: (kind: Kind, name: string) => {
      const before = objects(kind).get(name)
      objects(kind).delete(name)
      for (const listener of listeners.get(kind) ?? []) listener({ before, after: undefined, initial: false })
    },
    service: Source.of({
      // Every kind of this source holds bare objects, whatever the caller believes.
      subscribe: (kind, listener) => subscribe(kind, listener as (change: AnyChange) => void),
      synced: (kind) => Deferred.await(latch(kind)),
      missing: Effect.sync(() => new Set(missing)),
    }),
  }
}
