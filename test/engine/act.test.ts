/** How a plan is carried out: in order, each failure in its own step, nothing destroyed for a spec that has changed. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { AdminWriter } from "../../src/admin/admin.ts"
import { act } from "../../src/engine/act.ts"
import { type Action, line } from "../../src/engine/action.ts"
import type { Step } from "../../src/engine/plan.ts"
import { Unavailable } from "../../src/errors.ts"
import { Provisioner } from "../../src/admin/provisioner.ts"
import { KubernetesReader, KubernetesWriter } from "../../src/kubernetes/kubernetes.ts"
import type { ServiceDeployment } from "../../src/resources/generated/service-deployment.ts"
import { deployment } from "../support/given.ts"

const unprovisioned = Layer.succeed(Provisioner, { provision: () => Effect.die(new Error("nothing is to be provisioned here")) })
const server = { key: "url/http://admin:9070", base: "http://admin:9070" }
const ref = { kind: "ReplicaSet", namespace: "default", name: "greeter-a" } as const
const forget: Action = { _tag: "Forget", server, deploymentId: "dp_1", services: [] }
const remove: Action = { _tag: "Delete", ref, uid: "u" }
const scaleUp: Action = { _tag: "Scale", ref, replicas: 2, manager: "m" }
const object = deployment("v1")
const step = (onFailure: Step["onFailure"], ...actions: ReadonlyArray<Action>): Step => ({ why: "test", actions, onFailure })

interface World {
  readonly live?: ServiceDeployment | undefined
  readonly forget?: "Forgotten" | "Parked" | "fails"
}

/** Runs the steps and gives what reached the servers, the outcomes and the failures. */
const run = (steps: ReadonlyArray<Step>, world: World) =>
  Effect.gen(function* () {
    const done: Array<string> = []
    const unused = Effect.die(new Error("this plan has no business with that"))
    const note = (action: Action) => Effect.sync(() => void done.push(line(action)))
    const kubernetes = KubernetesWriter.of({
      create: () => unused,
      apply: () => unused,
      scale: () => Effect.as(note(scaleUp), { changed: true, object }),
      merge: () => unused,
      remove: () => note(remove),
      createEvent: () => unused,
      patchEvent: () => unused,
    })
    const admin = AdminWriter.of({
      register: () => unused,
      settled: () => Effect.void,
      confirm: () => unused,
      forget: (_key, _server, _id, _services, stillWanted) => {
        const answer = world.forget ?? "Forgotten"
        return Effect.flatMap(stillWanted, (wanted): Effect.Effect<{ readonly _tag: "Forgotten" | "Parked" | "Withheld" }, Unavailable> => {
          if (!wanted) return Effect.succeed({ _tag: "Withheld" as const })
          const called = note(forget)
          return answer === "fails"
            ? Effect.andThen(called, Effect.fail(new Unavailable({ server: "admin", status: 500, detail: "no" })))
            : Effect.as(called, { _tag: answer })
        })
      },
    })
    const reader = { get: () => unused, list: () => unused, fetch: () => Effect.succeed("live" in world ? world.live : object) }
    const layer = Layer.mergeAll(
      Layer.succeed(KubernetesWriter, kubernetes),
      Layer.succeed(AdminWriter, admin),
      Layer.succeed(KubernetesReader, reader as never),
      unprovisioned,
    )
    const fiber = yield* Effect.forkChild(Effect.provide(act({ key: "k", kind: "deployment", object }, steps), layer))
    yield* TestClock.adjust("10 seconds")
    const report = yield* Fiber.join(fiber)
    return { done, outcomes: report.outcomes.map(({ _tag }) => _tag), failures: report.failures.map(({ error }) => error._tag) }
  })

it.effect("a version is not deleted when its deregistration waits for its turn", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* run([step("next", forget, remove)], { forget: "Parked" }), {
      done: [line(forget)],
      outcomes: ["Parked"],
      failures: [],
    })
  }),
)

it.effect("a version is not deleted when its deregistration fails, and the next step goes on", () =>
  Effect.gen(function* () {
    const { done, failures } = yield* run([step("next", forget, remove), step("next", scaleUp)], { forget: "fails" })
    // Once: a server may take 10 s to fail, and what it would be asked to destroy then rests on an answer that is too old.
    assert.deepStrictEqual(done, [line(forget), line(scaleUp)])
    assert.deepStrictEqual(failures, ["Unavailable"])
  }),
)

it.effect("a failure of a step that must not fail ends the plan", () =>
  Effect.gen(function* () {
    const { done } = yield* run([step("stop", forget), step("next", scaleUp)], { forget: "fails" })
    assert.notInclude(done, line(scaleUp))
  }),
)

for (const [what, live] of [
  ["has another generation", { ...object, metadata: { ...object.metadata, generation: 2 } }],
  ["is another object of that name", { ...object, metadata: { ...object.metadata, uid: "other" } }],
  ["is being deleted", { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }],
  ["is gone", undefined],
] as const)
  it.effect(`nothing is destroyed when the object ${what} by now`, () =>
    Effect.gen(function* () {
      const { done, outcomes } = yield* run([step("next", forget, remove), step("next", scaleUp)], { live })
      assert.deepStrictEqual(done, [line(scaleUp)])
      assert.deepStrictEqual(outcomes, ["Withheld", "Applied"])
    }),
  )

it.effect("an id is recorded before its routing is confirmed: the answer may never come, and the id is true either way", () =>
  Effect.gen(function* () {
    const order: Array<string> = []
    const unused = Effect.die(new Error("this plan has no business with that"))
    const kubernetes = KubernetesWriter.of({
      create: () => unused,
      apply: () => Effect.sync(() => void order.push("record")).pipe(Effect.as({ changed: true, object })),
      scale: () => unused,
      merge: () => unused,
      remove: () => unused,
      createEvent: () => unused,
      patchEvent: () => unused,
    })
    const admin = AdminWriter.of({
      register: () => Effect.succeed({ _tag: "Registered", id: "dp_1", services: ["Greeter"] }),
      settled: () => Effect.void,
      confirm: () => Effect.sync(() => void order.push("confirm")).pipe(Effect.as([])),
      forget: () => unused,
    })
    const register: Action = {
      _tag: "Register",
      server,
      endpoint: "http://greeter-a:9080/",
      useHttp11: undefined,
      force: false,
      record: { ref, manager: "m", idAnnotation: "id", serverAnnotation: "server" },
      supersedes: undefined,
    }
    const reader = KubernetesReader.of({ get: () => unused, list: () => unused, fetch: () => unused, search: () => unused })
    yield* act({ key: "deployment/default/greeter", kind: "deployment", object }, [step("stop", register)]).pipe(
      Effect.provide(
        Layer.mergeAll(
          Layer.succeed(KubernetesWriter, kubernetes),
          Layer.succeed(AdminWriter, admin),
          Layer.succeed(KubernetesReader, reader),
          unprovisioned,
        ),
      ),
    )
    assert.deepStrictEqual(order, ["record", "confirm"])
  }),
)
