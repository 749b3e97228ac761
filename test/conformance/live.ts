/** The live layer against the API server of the test run, and what its tests have in common. */
import { it } from "@effect/vitest"
import { Effect, Layer, Logger, type Scope } from "effect"
import { inject } from "vitest"
import { KubernetesReader, KubernetesWriter } from "#src/kubernetes/kubernetes.ts"
import { layer } from "#src/kubernetes/live.ts"
import { Transport } from "#src/kubernetes/transport.ts"
import { Cache } from "#src/runtime/cache.ts"
import { Source } from "#src/runtime/source.ts"
import { type OwnKind, vocabularies } from "#src/vocabulary.ts"
import { committedCrd, connect, install } from "../support/api-server.ts"

export const vocabulary = vocabularies.service

type Services = KubernetesReader | KubernetesWriter | Source | Cache | Transport

/** All services of one connection. */
export const services = Effect.gen(function* () {
  return {
    reader: yield* KubernetesReader,
    writer: yield* KubernetesWriter,
    source: yield* Source,
    cache: yield* Cache,
    transport: yield* Transport,
  }
})

export const kinds = ["deployment", "cluster", "ReplicaSet", "Service", "EndpointSlice"] as const

/** A test with a connection and a cache of its own, as a kubeconfig's user. */
export const live = (
  name: string,
  effect: Effect.Effect<unknown, unknown, Services | Scope.Scope>,
  kubeconfig?: () => Promise<string>,
): void =>
  it.live(name, () =>
    Effect.gen(function* () {
      const file = kubeconfig === undefined ? inject("kubeconfig") : yield* Effect.promise(kubeconfig)
      yield* Effect.provide(
        effect,
        Layer.merge(layer({ vocabulary, operatorNamespace: "default", kubeconfig: file, kinds }), Logger.layer([])),
      )
    }).pipe(Effect.asVoid),
  )

/** Waits until every kind has been listed. */
export const synced = Effect.gen(function* () {
  const source = yield* Source
  for (const kind of kinds) yield* source.synced(kind)
})

let count = 0

/** A new namespace, ready for use; the run throws the whole API server away. */
export const newNamespace = Effect.promise(async () => {
  const client = await connect()
  const name = `live-${process.pid}-${++count}`
  await client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  client.close()
  return name
})

/** Installs the definitions of our own kinds that the tests need. */
export const installed = async (): Promise<void> => {
  const client = await connect()
  for (const role of ["cluster", "deployment"] as const satisfies ReadonlyArray<OwnKind>)
    await install(client, committedCrd(vocabulary, role))
  client.close()
}

/** Repeats a look until it has what is waited for, for at most 20 s. */
export const until = <A, E, R>(look: Effect.Effect<A | undefined, E, R>): Effect.Effect<A, E | Error, R> =>
  Effect.gen(function* () {
    for (let tries = 0; tries < 400; tries++) {
      const found = yield* look
      if (found !== undefined) return found
      yield* Effect.sleep(50)
    }
    return yield* Effect.die(new Error("it did not come within 20 s"))
  })
