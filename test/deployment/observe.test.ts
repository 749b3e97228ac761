/** What one decision rests on. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AdminReader } from "#src/admin/admin.ts"
import { hostOf } from "#src/admin/endpoint.ts"
import { observe } from "#src/deployment/observe.ts"
import { endpointOf } from "#src/deployment/version.ts"
import { KubernetesReader } from "#src/kubernetes/kubernetes.ts"
import { deployment, server, settings, version } from "../support/given.ts"

const [current, gone] = [version("v1"), "greeter-11111111"]
const cache = {
  get: () => Effect.succeed(deployment("v1", { status: { versions: [{ name: gone, state: "InUse" }] } })),
  list: (kind: string) => Effect.succeed(kind === "ReplicaSet" ? [current] : []),
}

/** `hostOf` is also what the writer marks while a registration of an address is on its way: one key, spelled once. */
it.effect("a registration of any address of ours counts as our own change, also of a version that has just gone", () =>
  Effect.gen(function* () {
    const keys = new Set<string>()
    const admin = AdminReader.of({
      routing: () => Effect.succeed(server({ v1: { id: "dp_1" } }, { Greeter: "dp_1" }, { askedAt: 0 }).routing),
      usage: () => Effect.succeed({ _tag: "Unasked" }),
      touchedAt: (_, services) => Effect.sync(() => (services?.forEach((service) => keys.add(service)), 0)),
    })
    yield* observe(settings)({ namespace: "default", name: "greeter" }).pipe(
      Effect.provide(Layer.merge(Layer.succeed(KubernetesReader, cache as never), Layer.succeed(AdminReader, admin))),
    )
    const hosts = [current.metadata.name, gone].map((name) => hostOf(endpointOf(name, "default", "", settings.addresses)))
    for (const host of hosts) assert.isTrue(keys.has(host), `${host} is not among ${[...keys].join(", ")}`)
  }),
)
