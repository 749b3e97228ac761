/** Random histories: what people do to their objects, and what goes wrong meanwhile. The same seed is the same history. */
import { dice } from "../kubernetes/random.ts"
import type { Objects } from "#src/kubernetes/kubernetes.ts"
import type { Fate } from "../support/world-network.ts"

export type Event =
  | { readonly _tag: "Image"; readonly object: string; readonly variant: string }
  | { readonly _tag: "Scale"; readonly object: string; readonly replicas: number }
  | { readonly _tag: "Delay"; readonly object: string; readonly seconds: number }
  | { readonly _tag: "Limit"; readonly object: string; readonly limit: number }
  /** Invocations of an object's service, of one length in milliseconds. */
  | { readonly _tag: "Start"; readonly object: string; readonly count: number; readonly work: number; readonly attempt: number }
  /** `force`: with deletePolicy force, which takes work away from people. */
  | { readonly _tag: "Delete"; readonly object: string; readonly force: boolean }
  | { readonly _tag: "Autoscale"; readonly object: string; readonly on: boolean }
  /** The operator is told to leave the object alone for a while. */
  | { readonly _tag: "Suspend"; readonly object: string; readonly milliseconds: number }
  /** Somebody else takes the name that a version would get. */
  | { readonly _tag: "Occupy"; readonly object: string; readonly variant: string }
  | { readonly _tag: "Create"; readonly object: string }
  /** The operator is killed, at any moment. */
  | { readonly _tag: "Crash" }
  /** Something happens to one of the next calls, or to the next registration. */
  | { readonly _tag: "Fault"; readonly fate: Fate; readonly skip: number; readonly of: "calls" | "writes" | "registrations" }
  | { readonly _tag: "Outage"; readonly mode: "refusing" | "silent"; readonly milliseconds: number }
  | { readonly _tag: "Unanswered"; readonly milliseconds: number }
  | { readonly _tag: "Lag"; readonly kind: keyof Objects; readonly by: number; readonly milliseconds: number }

/** An event, and the milliseconds that pass before it. */
export interface Moment {
  readonly gap: number
  readonly event: Event
}

export interface History {
  readonly seed: number
  readonly objects: ReadonlyArray<string>
  readonly moments: ReadonlyArray<Moment>
  /** Without faults everything has to happen promptly. */
  readonly faulty: boolean
}

const delays = [0, 1, 5, 30, 60] as const
const lengths = [500, 3_000, 20_000, 90_000, 240_000] as const

export const historyOf = (seed: number): History => {
  const die = dice(seed)
  const objects = die.oneIn(4) ? ["greeter", "mailer"] : ["greeter"]
  const faulty = !die.oneIn(4)
  const one = (): string => objects[die.below(objects.length)] ?? "greeter"
  const variants = ["v1", "v2", "v3"] as const
  const deleted = new Set<string>()

  const edit = (): Event => {
    const object = one()
    if (deleted.has(object)) {
      if (die.oneIn(3)) return start(object)
      deleted.delete(object)
      return { _tag: "Create", object }
    }
    const n = die.below(19)
    if (n >= 18) return { _tag: "Suspend", object, milliseconds: die.pick([2_000, 30_000]) }
    if (n >= 16) return { _tag: "Autoscale", object, on: die.oneIn(2) }
    if (n < 7) return { _tag: "Image", object, variant: die.oneIn(9) ? "bad" : die.pick(variants) }
    if (n < 8) return { _tag: "Scale", object, replicas: 1 + die.below(3) }
    if (n < 9) return { _tag: "Delay", object, seconds: die.pick(delays) }
    if (n < 10) return { _tag: "Limit", object, limit: die.below(3) }
    if (n < 11) {
      deleted.add(object)
      return { _tag: "Delete", object, force: die.oneIn(3) }
    }
    return start(object)
  }
  const start = (object: string): Event => ({
    _tag: "Start",
    object,
    count: 1 + die.below(3),
    work: die.pick(lengths),
    attempt: die.pick([0, 100, 2_000, 15_000]),
  })
  const fault = (): Event => {
    const n = die.below(10)
    if (n < 1) return { _tag: "Crash" }
    if (n < 7)
      return {
        _tag: "Fault",
        fate: die.pick(["before", "after", "error", "lost", "conflict"]),
        skip: die.below(6),
        of: die.oneIn(4) ? "calls" : "writes",
      }
    if (n < 8) return { _tag: "Outage", mode: die.pick(["refusing", "silent"]), milliseconds: die.pick([2_000, 20_000, 120_000]) }
    if (n < 9) return { _tag: "Unanswered", milliseconds: die.pick([2_000, 40_000]) }
    return {
      _tag: "Lag",
      kind: die.pick(["deployment", "ReplicaSet", "EndpointSlice", "Service"]),
      by: die.pick([500, 4_000, 25_000]),
      milliseconds: 30_000,
    }
  }

  const gap = (): number => die.pick([0, 40, 400, 3_000, 12_000, 45_000]) + die.below(50)
  // First it stands, with work on it; then things happen, often a fault just before an edit; some are deleted in the end.
  const moments: Array<Moment> = objects.flatMap((object) => [
    { gap: die.below(500), event: { _tag: "Create", object } as const },
    { gap: 8_000, event: start(object) },
  ])
  /** What is rare by itself: each is worth more than its share. */
  const twist = (): ReadonlyArray<Moment> => {
    const object = one()
    const roll = (variant: string, after: number): Moment => ({ gap: after, event: { _tag: "Image", object, variant } })
    switch (die.below(4)) {
      case 0:
        // The old version is stamped by now; its time comes while nobody answers.
        return [
          { gap: gap(), event: { _tag: "Delay", object, seconds: 30 } },
          roll(die.pick(["v1", "v2", "v3"]), 0),
          { gap: 12_000 + die.below(8_000), event: { _tag: "Outage", mode: die.pick(["refusing", "silent"]), milliseconds: 120_000 } },
        ]
      case 1:
        return [
          { gap: gap(), event: { _tag: "Fault", fate: "after", skip: 0, of: "registrations" } },
          roll(die.pick(["v1", "v2", "v3"]), 0),
        ]
      case 2: {
        const variant = die.pick(variants)
        return [{ gap: gap(), event: { _tag: "Occupy", object, variant } }, roll(variant, 0)]
      }
      default:
        // v2 keeps the service that v1 and v3 do not have, and is taken back.
        return [roll("v2", gap()), roll(die.pick(["v1", "v3"]), 9_000), roll("v2", 6_000 + die.below(9_000))]
    }
  }
  if (faulty) moments.push(...twist())
  for (let n = 4 + die.below(9); n > 0; n -= 1) {
    if (faulty && die.oneIn(3)) moments.push({ gap: gap(), event: fault() })
    moments.push({ gap: gap(), event: edit() })
  }
  if (die.oneIn(3)) moments.push({ gap: gap(), event: { _tag: "Delete", object: one(), force: die.oneIn(3) } })
  return { seed, objects, moments, faulty }
}
