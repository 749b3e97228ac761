/** What the operator says about itself over HTTP: which controllers it still waits for, and when it last did something. */
import { Clock, Context, Effect, Layer } from "effect"

export class Readiness extends Context.Service<
  Readiness,
  {
    /** Names of the controllers that cannot work, in the order of registration; all of them at first. */
    readonly pending: Effect.Effect<ReadonlyArray<string>>
    readonly set: (controller: string, ready: boolean) => Effect.Effect<void>
    /** Epoch milliseconds of the last pass, or of the start. */
    readonly lastPass: Effect.Effect<number>
    readonly passed: Effect.Effect<void>
  }
>()("service-operator/runtime/Readiness") {
  static readonly layer = (controllers: ReadonlyArray<string>): Layer.Layer<Readiness> =>
    Layer.effect(
      Readiness,
      Effect.map(Clock.Clock, (clock) => {
        const ready = new Set<string>()
        let last = clock.currentTimeMillisUnsafe()
        return Readiness.of({
          pending: Effect.sync(() => controllers.filter((controller) => !ready.has(controller))),
          set: (controller, isReady) =>
            Effect.sync(() => {
              if (isReady) ready.add(controller)
              else ready.delete(controller)
            }),
          lastPass: Effect.sync(() => last),
          passed: Effect.sync(() => {
            last = clock.currentTimeMillisUnsafe()
          }),
        })
      }),
    )
}
