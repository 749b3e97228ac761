/** One pass over one object: observe, decide, act, conclude. The same for every kind. */
import { Effect } from "effect"
import { AdminLooks, AdminWriter } from "../admin/admin.ts"
import type { WriteError } from "../errors.ts"
import { KubernetesWriter } from "../kubernetes/kubernetes.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { act } from "./act.ts"
import { Announcer } from "./announcer.ts"
import type { KindController, Name, Passed } from "./kind.ts"
import { lines, type Plan } from "./plan.ts"
import { policyOf } from "./policies.ts"
import { type Key, keyOf } from "./wake.ts"

/** Never fails: whatever goes wrong is a requeue by the policy of its error. Status, events and looks are seen to here. */
export const reconcile = <Snapshot, Verdict>(kind: KindController<Snapshot, Verdict>, vocabulary: Vocabulary) =>
  Effect.fnUntraced(function* (name: Name) {
    const key = keyOf(kind.kind, name)
    const looks = yield* AdminLooks
    const writer = yield* AdminWriter
    return yield* pass(kind, name, key, vocabulary).pipe(
      Effect.catch((error) => failed(error)),
      Effect.ensuring(writer.settled(key)),
      Effect.onError(() => looks.interested(key, [])),
    )
  })

const pass = Effect.fnUntraced(function* <Snapshot, Verdict>(
  kind: KindController<Snapshot, Verdict>,
  name: Name,
  key: Key,
  vocabulary: Vocabulary,
) {
  const looks = yield* AdminLooks
  const snapshot = yield* kind.observe(name)
  if (snapshot === undefined) {
    yield* looks.interested(key, [])
    return { requeue: { _tag: "AwaitChange" }, outcome: "gone" } satisfies Passed
  }
  const plan = kind.decide(snapshot)
  yield* Effect.forEach(lines(plan), (line) => Effect.logDebug(line), { discard: true })
  return yield* carryOut(kind, key, snapshot, plan, vocabulary)
})

const carryOut = Effect.fnUntraced(function* <Snapshot, Verdict>(
  kind: KindController<Snapshot, Verdict>,
  key: Key,
  snapshot: Snapshot,
  plan: Plan<Verdict>,
  vocabulary: Vocabulary,
) {
  const looks = yield* AdminLooks
  const kubernetes = yield* KubernetesWriter
  const announcer = yield* Announcer
  const object = kind.object(snapshot)
  const report = yield* act({ key, kind: kind.kind, object }, plan.steps)
  const conclusion = kind.conclude(snapshot, plan, report)
  yield* looks.interested(key, plan.interests)
  yield* Effect.forEach(report.failures, ({ why, error }) => Effect.logWarning(why, { error: error._tag, detail: error.detail }), {
    discard: true,
  })
  // Events first: those that are sent once because the status says so would be lost with a crash in between.
  yield* Effect.forEach(conclusion.announcements, (announcement) => announcer.announce(object, announcement), { discard: true })
  // Before the status: an answer can only queue the key, and a status that is refused each time must not stop the clean-up.
  yield* Effect.forEach(plan.needs, ({ server, look, since }) => looks.request(key, server, look, since), { discard: true })
  if (conclusion.status !== undefined) {
    const { namespace, name } = object.metadata
    const ref = { kind: kind.kind, name, ...(namespace === undefined ? {} : { namespace }) }
    yield* kubernetes.apply({ ref, body: { status: conclusion.status } }, vocabulary.managers.main, "status")
  }
  return { requeue: conclusion.requeue, outcome: conclusion.outcome } satisfies Passed
})

/** A failed Kubernetes read, or a status that could not be written. */
const failed = (error: WriteError): Effect.Effect<Passed> =>
  Effect.as(Effect.logWarning("pass failed", { error: error._tag, detail: error.detail }), {
    requeue: { _tag: "Retry", policy: policyOf(error) },
    outcome: "KubeError",
  })
