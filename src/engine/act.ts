/** Runs a plan: the only place that writes to either server. A failed action ends its step; the report says what happened. */
import { Clock, Effect } from "effect"
import { AdminWriter } from "../admin/admin.ts"
import { Provisioner } from "../admin/provisioner.ts"
import type { ReadError, WriteError } from "../errors.ts"
import { KubernetesReader, KubernetesWriter, type Objects } from "../kubernetes/kubernetes.ts"
import { isOwnedBy, type KubernetesObject } from "../resources/meta.ts"
import { type Action, isDestructive } from "./action.ts"
import type { Failure, Outcome, Report, Step } from "./plan.ts"
import { freshness, quickTries } from "./policies.ts"
import type { Key } from "./wake.ts"

/** The object a plan is about, as the snapshot saw it. */
export interface Subject {
  readonly key: Key
  readonly kind: keyof Objects
  readonly object: KubernetesObject
}

type Needs = KubernetesReader | KubernetesWriter | AdminWriter | Provisioner

/** Steps run in order. `onFailure: next` goes on with the following step, `stop` leaves the rest undone. Never fails itself. */
export const act = Effect.fnUntraced(function* (subject: Subject, steps: ReadonlyArray<Step>): Effect.fn.Return<Report, never, Needs> {
  const outcomes: Array<Outcome> = []
  const failures: Array<Failure> = []
  // Asked only by plans that destroy, and again when their next destruction comes later: it may be that of another version.
  const begun = yield* Clock.monotonicTimeNanos
  const same = yield* Effect.cachedWithTTL(isUnchanged(yield* KubernetesReader, subject), unchangedFor)
  const unchanged = Effect.flatMap(Clock.monotonicTimeNanos, (now) => (now - begun > planAge ? Effect.succeed(false) : same))
  for (const step of steps) {
    const failure = yield* runStep(subject, step, unchanged, outcomes)
    if (failure === undefined) continue
    failures.push(failure)
    if (step.onFailure === "stop") break
  }
  return { outcomes, failures }
})

/** Milliseconds that the live object counts as read. */
const unchangedFor = 1_000

/** Nanoseconds after which nothing more is destroyed by a plan: the answers it rests on were up to 5 s old when it was made (law 3). */
const planAge = BigInt(freshness) * 1_000_000n

const runStep = Effect.fnUntraced(function* (
  subject: Subject,
  step: Step,
  unchanged: Unchanged,
  outcomes: Array<Outcome>,
): Effect.fn.Return<Failure | undefined, never, Needs> {
  for (const action of step.actions) {
    const result = yield* Effect.result(guarded(subject, action, unchanged))
    if (result._tag === "Failure") return { why: step.why, action, error: result.failure }
    outcomes.push(result.success)
    // What follows in this step rests on what was not done.
    if (result.success._tag === "Withheld" || result.success._tag === "Parked") return undefined
  }
  return undefined
})

/** Nothing is destroyed on behalf of a spec that has changed since: the cache may lag behind a rollback to the very version that is about to go. */
const guarded = (subject: Subject, action: Action, unchanged: Unchanged): Effect.Effect<Outcome, WriteError, Needs> => {
  // Its turn may come much later than this plan: the check is made then.
  if (action._tag === "Forget") return forget(subject, action, unchanged)
  // One try: a server may take 10 s and more to say no, and by then the answer that allows this is too old (law 3).
  if (isDestructive(action) && action._tag !== "Register")
    return Effect.flatMap(unchanged, (same) => (same ? write(action) : Effect.succeed<Outcome>({ _tag: "Withheld", action })))
  return run(subject, action)
}

type Unchanged = Effect.Effect<boolean, ReadError>

const forget = Effect.fnUntraced(function* (
  { key }: Subject,
  action: Extract<Action, { readonly _tag: "Forget" }>,
  unchanged: Unchanged,
): Effect.fn.Return<Outcome, WriteError, Needs> {
  const admin = yield* AdminWriter
  const { _tag } = yield* admin.forget(key, action.server, action.deploymentId, action.services, unchanged)
  return { _tag: _tag === "Forgotten" ? "Done" : _tag, action }
})

const isUnchanged = (reader: KubernetesReader["Service"], { kind, object: { metadata } }: Subject): Unchanged =>
  Effect.map(
    reader.fetch(kind, metadata.namespace, metadata.name),
    (live: KubernetesObject | undefined) =>
      live !== undefined &&
      live.metadata.uid === metadata.uid &&
      live.metadata.generation === metadata.generation &&
      live.metadata.deletionTimestamp === metadata.deletionTimestamp,
  )

const run = (subject: Subject, action: Exclude<Action, { readonly _tag: "Forget" }>): Effect.Effect<Outcome, WriteError, Needs> =>
  // A registration waits in its lane, not here.
  action._tag === "Register" ? register(subject, action) : again(write(action))

/** Three quick tries of a server that does not answer. */
const again = <A, R>(effect: Effect.Effect<A, WriteError, R>): Effect.Effect<A, WriteError, R> =>
  Effect.retry(effect, { schedule: quickTries, while: ({ _tag }) => _tag === "Unavailable" })

type Simple = Exclude<Action, { readonly _tag: "Register" | "Forget" }>

const write = Effect.fnUntraced(function* (action: Simple): Effect.fn.Return<Outcome, WriteError, Needs> {
  const kubernetes = yield* KubernetesWriter
  switch (action._tag) {
    case "Create": {
      const { _tag, object } = yield* kubernetes.create(action.object)
      if (_tag === "Created") return { _tag: "Applied", action, changed: true, object }
      const { metadata } = object
      const lost = Object.entries(action.labels).some(([key, value]) => metadata.labels?.[key] !== value)
      if (!lost || !isOwnedBy(object, action.owner)) return { _tag, action, object }
      // Ours, but out of sight of our watch: without its labels it would be neither used nor drained.
      const patch = { metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion, labels: action.labels } }
      return { _tag: "Applied", action, changed: true, object: yield* kubernetes.merge(action.object.ref, patch) }
    }
    case "Apply":
      return { _tag: "Applied", action, ...(yield* kubernetes.apply(action.object, action.manager)) }
    case "Scale":
      return { _tag: "Applied", action, ...(yield* kubernetes.scale(action.ref, action.replicas, action.manager)) }
    case "Drop": {
      const annotations = Object.fromEntries(action.annotations.map((key) => [key, null]))
      const { uid, resourceVersion } = action
      return {
        _tag: "Applied",
        action,
        changed: true,
        object: yield* kubernetes.merge(action.ref, { metadata: { uid, resourceVersion, annotations } }),
      }
    }
    case "Hold":
    case "Release": {
      const { resourceVersion, finalizers } = action
      return {
        _tag: "Applied",
        action,
        changed: true,
        object: yield* kubernetes.merge(action.ref, { metadata: { resourceVersion, finalizers } }),
      }
    }
    case "Delete":
      yield* kubernetes.remove(action.ref, action.uid, action.orphan === true ? "Orphan" : "Background")
      return { _tag: "Done", action }
    case "Provision":
      yield* (yield* Provisioner).provision(action.address)
      return { _tag: "Done", action }
  }
})

/** The id is recorded before the routing is confirmed; a crash between repeats a registration, which the server takes as the same. */
const register = Effect.fnUntraced(function* (
  { key }: Subject,
  action: Extract<Action, { readonly _tag: "Register" }>,
): Effect.fn.Return<Outcome, WriteError, KubernetesWriter | AdminWriter> {
  const kubernetes = yield* KubernetesWriter
  const admin = yield* AdminWriter
  const { server, endpoint, record } = action
  const answer = yield* admin.register(key, action)
  if (answer._tag === "Parked") return { _tag: "Parked", action }
  const { id, services } = answer
  const annotations = { [record.idAnnotation]: id, [record.serverAnnotation]: server.key }
  yield* Effect.retry(kubernetes.apply({ ref: record.ref, body: { metadata: { annotations } } }, record.manager), {
    schedule: quickTries,
    while: ({ _tag }) => _tag === "Unavailable",
  })
  return { _tag: "Registered", action, id, services, misrouted: yield* admin.confirm(key, server, id, endpoint, services) }
})
