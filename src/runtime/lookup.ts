/** Wakeups by index: "everything that registers with this cluster". The answer comes from the cache, which may be stale for a while. */
import { Effect, Latch } from "effect"
import type { Wakeup } from "../engine/kind.ts"
import { type Key, keyOf, type Priority } from "../engine/wake.ts"
import type { Kind } from "../kubernetes/access.ts"
import { KubernetesReader } from "../kubernetes/kubernetes.ts"

/** Milliseconds until a cache that could not answer is asked again. */
const again = 5_000

type ByIndex = Extract<Wakeup, { readonly value: string }>

/** Finds the keys behind a wakeup by index and adds them. Asking twice before the answer is asking once, so the memory is bounded by the number of different questions. */
export const make = Effect.gen(function* () {
  const reader = yield* KubernetesReader
  const questions = new Map<string, { readonly kind: Kind; readonly wakeup: ByIndex }>()
  const asked = Latch.makeUnsafe(false)
  return {
    ask: (kind: Kind, wakeup: ByIndex): void => {
      questions.set([kind, wakeup.index, wakeup.value, wakeup.priority].join("|"), { kind, wakeup })
      asked.openUnsafe()
    },
    run: (add: (key: Key, priority: Priority) => void): Effect.Effect<never> =>
      Effect.gen(function* () {
        for (;;) {
          asked.closeUnsafe()
          for (const [id, { kind, wakeup }] of questions) {
            const found = yield* Effect.option(reader.list(kind, wakeup.index, wakeup.value))
            if (found._tag === "None") continue
            questions.delete(id)
            for (const { metadata } of found.value) add(keyOf(kind, metadata), wakeup.priority)
          }
          // What is left could not be answered: the cache had lost its server.
          yield* questions.size === 0 ? asked.await : Effect.sleep(again)
        }
      }),
  }
})
