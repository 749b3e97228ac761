/**
 * The guard against writing for ever. After an apply, `unchanged` must hold on the response. Where it does not, our idea
 * of how the server merges is wrong for that object, and without a guard every pass would send the same write again.
 */
import { Effect, Metric } from "effect"
import { createHash } from "node:crypto"
import { type Desired, path, type Ref } from "../engine/action.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import type { Vocabulary } from "../vocabulary.ts"

/** Objects remembered; there should be none. */
const capacity = 1_000

export class Settling {
  /** Object and manager → what was sent in vain, and for which generation of the object. */
  readonly #useless = new Map<string, string>()
  readonly #warned = new Set<string>()
  readonly #count: Metric.Metric<number, Metric.CounterState<number>>

  constructor(count: Metric.Metric<number, Metric.CounterState<number>>) {
    this.#count = count
  }

  static make(vocabulary: Vocabulary): Effect.Effect<Settling> {
    const description = "Server-side applies after which the object was still not as asked for; a defect of the operator if not 0"
    return Effect.sync(
      () => new Settling(Metric.counter(`${vocabulary.metrics.prefix}unsettled_applies_total`, { description, incremental: true })),
    )
  }

  /** True when this very write was sent for this generation of the object, and did not settle. */
  isUseless(ref: Ref, live: KubernetesObject, body: Desired["body"], manager: string, subresource: string | undefined): boolean {
    // Digests cost more than a look into a map that is empty unless something is wrong.
    const known = this.#useless.get(placeOf(ref, manager, subresource))
    return known !== undefined && known === digest(live, body)
  }

  /** An apply did not settle: count it, say it once, and do not send it again. */
  unsettled(
    ref: Ref,
    live: KubernetesObject,
    body: Desired["body"],
    manager: string,
    subresource: string | undefined,
  ): Effect.Effect<void> {
    const place = placeOf(ref, manager, subresource)
    return Effect.suspend(() => {
      if (this.#useless.size >= capacity) this.#useless.clear()
      this.#useless.set(place, digest(live, body))
      const counted = Metric.update(this.#count, 1)
      if (this.#warned.has(place) || this.#warned.size >= capacity) return counted
      this.#warned.add(place)
      return Effect.andThen(
        counted,
        Effect.logWarning(`${path(ref)} is not as ${manager} applied it, even in the answer; the same fields are not sent again`),
      )
    })
  }
}

const placeOf = (ref: Ref, manager: string, subresource: string | undefined): string => `${path(ref)} ${manager} ${subresource ?? ""}`

/** One digest of one wish for one generation of one object; a new generation is worth a new try. */
const digest = ({ metadata }: KubernetesObject, body: Desired["body"]): string =>
  createHash("sha256")
    .update(`${metadata.uid} ${metadata.generation ?? 0} ${JSON.stringify(body)}`)
    .digest("base64")
