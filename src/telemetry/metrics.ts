/** What the operator counts. Names come from the vocabulary; a series of an object goes when the object goes. */
import { Context, Effect, Layer, Metric } from "effect"
import type { Name } from "../engine/kind.ts"
import { keyOf } from "../engine/wake.ts"
import type { Vocabulary } from "../vocabulary.ts"

/** Seconds. */
const boundaries = [0.01, 0.1, 0.25, 0.5, 1, 5, 15, 60]

/** Outcomes of a pass that are no errors. */
const fine: ReadonlySet<string> = new Set(["ok", "waiting", "gone"])

export interface Series {
  /** The wire kind. */
  readonly kind: string
  readonly name: Name
}

export class Metrics extends Context.Service<
  Metrics,
  {
    readonly pass: (of: Series, outcome: string, seconds: number) => Effect.Effect<void>
    /** The object is gone: its error series go too. */
    readonly forget: (of: Series) => Effect.Effect<void>
    /** `crd` is `<plural>.<group>`. */
    readonly crdMissing: (crd: string, missing: boolean) => Effect.Effect<void>
    /** A gauge that is read when somebody asks for it. `name` goes behind the operator's prefix. */
    readonly gauge: (
      name: string,
      description: string,
      attributes: { readonly [label: string]: string },
      read: () => number,
    ) => Effect.Effect<void>
  }
>()("service-operator/telemetry/Metrics") {
  static readonly layer = (vocabulary: Vocabulary): Layer.Layer<Metrics> => Layer.sync(Metrics, () => make(vocabulary))
}

const make = ({ metrics }: Vocabulary): Metrics["Service"] => {
  const reconciliations = Metric.counter(metrics.reconciliations, { description: "Passes over objects, all kinds.", incremental: true })
  const durations = new Map<string, Metric.Histogram<number>>()
  const duration = (kind: string) =>
    remembered(durations, kind, () =>
      Metric.histogram(metrics.duration, { description: "Seconds a pass took.", boundaries, attributes: { kind } }),
    )
  /** Object → error → its counter. The namespace is a label, so that objects of one name do not share a series. */
  const errors = new Map<string, Map<string, Metric.Counter<number>>>()
  const crds = new Map<string, Metric.Gauge<number>>()
  return {
    pass: ({ kind, name }, outcome, seconds) =>
      Effect.gen(function* () {
        yield* Metric.update(reconciliations, 1)
        yield* Metric.update(duration(kind), seconds)
        if (fine.has(outcome)) return
        const ofObject = remembered(errors, keyOf(kind, name), () => new Map<string, Metric.Counter<number>>())
        const counter = remembered(ofObject, outcome, () =>
          Metric.counter(metrics.errors, {
            description: "Passes that ended in an error, by object.",
            incremental: true,
            attributes: { kind, namespace: name.namespace ?? "", instance: name.name, error: outcome },
          }),
        )
        yield* Metric.update(counter, 1)
      }),
    forget: ({ kind, name }) =>
      Effect.suspend(() => {
        const gone = [...(errors.get(keyOf(kind, name))?.values() ?? [])]
        errors.delete(keyOf(kind, name))
        return Effect.forEach(gone, (counter) => Metric.remove(counter), { discard: true })
      }),
    crdMissing: (crd, missing) =>
      Effect.suspend(() =>
        Metric.update(
          remembered(crds, crd, () =>
            Metric.gauge(metrics.crdMissing, { description: "1 while the operator waits for this CRD.", attributes: { crd } }),
          ),
          missing ? 1 : 0,
        ),
      ),
    gauge: (name, description, attributes, read) =>
      Effect.contextWith((context) =>
        Effect.sync(() => {
          const hooks = { get: () => ({ value: read() }), update: () => {}, modify: () => {} }
          Metric.registerUnsafe(Metric.gauge(`${metrics.prefix}${name}`, { description, attributes }), context, hooks)
        }),
      ),
  }
}

const remembered = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
