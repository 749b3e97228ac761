/** Events, as a real API server takes them: every field valid, series that grow, and what kubectl shows. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { inject } from "vitest"
import { Announcer } from "#src/engine/announcer.ts"
import * as Kubernetes from "#src/kubernetes/live.ts"
import type { KubernetesObject } from "#src/resources/meta.ts"
import * as Events from "#src/runtime/events.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { connect, kubectl } from "../support/api-server.ts"

const warnings: Array<string> = []
const announcer = () =>
  Events.layer({ controller: vocabularies.service.operator, instance: "x".repeat(200) }, { repeated: 0, returned: 0 }).pipe(
    Layer.provide(
      Kubernetes.layer({ vocabulary: vocabularies.service, operatorNamespace: "default", kubeconfig: inject("kubeconfig"), kinds: [] }),
    ),
    Layer.provideMerge(Logger.layer([Logger.make(({ message }) => warnings.push(String(message)))])),
  )

const created = Effect.fnUntraced(function* (path: string, body: object) {
  const client = yield* Effect.promise(connect)
  const object = yield* Effect.promise(() => client.create(path, body as never))
  client.close()
  return object as KubernetesObject
})

interface Shown {
  readonly type: string
  readonly series?: { readonly count: number }
}

const shown = (namespace: string, uid: string) =>
  Effect.promise(async () => {
    const answer = await kubectl("get", "events", "-n", namespace, "-o", "json", "--field-selector", `involvedObject.uid=${uid}`)
    const list: { readonly items: ReadonlyArray<Shown> } = JSON.parse(answer)
    return list.items
  })

describe("events on a real API server", () => {
  it.live("an event is created, its repeats grow the series, and kubectl describe shows it", () =>
    Effect.gen(function* () {
      const namespace = `events-${process.pid}`
      yield* created("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
      const object = yield* created(`/api/v1/namespaces/${namespace}/configmaps`, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "a".repeat(253) },
      })
      const { announce } = yield* Announcer
      const news = { type: "Warning", reason: "NotReady", note: "😀".repeat(400), action: "Reconcile" } as const
      for (let i = 0; i < 3; i++) yield* announce({ ...object, apiVersion: "v1", kind: "ConfigMap" }, news)
      yield* announce({ ...object, apiVersion: "v1", kind: "ConfigMap" }, { ...news, type: "Normal", reason: "Ready", note: "" })
      const events = yield* shown(namespace, object.metadata.uid)
      assert.deepStrictEqual(warnings, [])
      assert.deepStrictEqual(
        events.map(({ type, series }) => [type, series?.count ?? 1] as const).toSorted(([a], [b]) => a.localeCompare(b)),
        [
          ["Normal", 1],
          ["Warning", 3],
        ],
      )
      const described = yield* Effect.promise(() => kubectl("describe", "configmap", object.metadata.name, "-n", namespace))
      assert.match(described.slice(described.indexOf("\nEvents:")), /Warning\s+NotReady.*x3 over/)
    }).pipe(Effect.provide(announcer())),
  )

  it.live("an event on a cluster-scoped object is created in the default namespace", () =>
    Effect.gen(function* () {
      const object = yield* created("/apis/scheduling.k8s.io/v1/priorityclasses", {
        apiVersion: "scheduling.k8s.io/v1",
        kind: "PriorityClass",
        metadata: { name: `events-${process.pid}` },
        value: 1,
      })
      const { announce } = yield* Announcer
      yield* announce(object, { type: "Normal", reason: "Ready", note: "up", action: "WaitForCRD" })
      assert.deepStrictEqual(warnings, [])
      assert.strictEqual((yield* shown("default", object.metadata.uid)).length, 1)
    }).pipe(Effect.provide(announcer())),
  )
})
