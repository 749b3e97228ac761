/** KubernetesReader and KubernetesWriter on the real API server. */
import { assert, beforeAll, describe } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { parse as parseYaml } from "yaml"
import type { Desired, Ref } from "#src/engine/action.ts"
import type { Kind } from "#src/kubernetes/access.ts"
import { parseExactly } from "#src/kubernetes/json.ts"
import { KubernetesReader } from "#src/kubernetes/kubernetes.ts"
import type { Json } from "#src/resources/meta.ts"
import { Source } from "#src/runtime/source.ts"
import { connect, kubectl } from "../support/api-server.ts"
import { installed, live, newNamespace, services, synced, until, vocabulary } from "./live.ts"

const { annotations, deploymentId, main, replicas } = vocabulary.managers

const managed = { app: "greeter", "app.kubernetes.io/managed-by": vocabulary.operator, [vocabulary.labels.ownedBy]: "greeter" }

const replicaSet = (namespace: string, metadata: { readonly [field: string]: Json } = {}): Desired => ({
  ref: { kind: "ReplicaSet", namespace, name: "greeter-abc" },
  body: {
    metadata: { labels: managed, annotations: { made: "1" }, ...metadata },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "greeter" } },
      template: { metadata: { labels: { app: "greeter" } }, spec: { containers: [{ name: "a", image: "x" }] } },
    },
  },
})

const service = (namespace: string): Desired => ({
  ref: { kind: "Service", namespace, name: "greeter-abc" },
  body: {
    metadata: { labels: managed },
    spec: { selector: { app: "greeter" }, ports: [{ name: "service", port: 9080, targetPort: 9080 }] },
  },
})

const annotated = (ref: Ref, map: { readonly [key: string]: string | null }): Desired => ({ ref, body: { metadata: { annotations: map } } })

/** An object's own path, past the code under test. */
const deploymentPath = (namespace: string, name = "") => {
  const { group, plural, version } = vocabulary.resources.deployment
  return `/apis/${group}/${version}/namespaces/${namespace}/${plural}${name === "" ? "" : `/${name}`}`
}

const deployment = (name: string, template: object = {}) => ({
  apiVersion: `${vocabulary.group}/${vocabulary.resources.deployment.version}`,
  kind: vocabulary.resources.deployment.kind,
  metadata: { name },
  spec: { template: { spec: { containers: [], ...template } }, restate: { register: { cluster: "main" } } },
})

const client = Effect.acquireRelease(Effect.promise(connect), (client) => Effect.sync(() => client.close()))

/** A copy of the administrator's kubeconfig with another user. */
const kubeconfigAs = (user: object) => async () => {
  const config: { readonly users: ReadonlyArray<{ readonly name: string; readonly user: object }> } = parseYaml(
    readFileSync(inject("kubeconfig"), "utf8"),
  )
  const file = join(mkdtempSync(join(tmpdir(), "kubeconfig-")), "config")
  writeFileSync(
    file,
    JSON.stringify({
      ...config,
      users: config.users.map(({ name, user: admin }) => ({ name, user: "as" in user ? { ...admin, ...user } : user })),
    }),
    { mode: 0o600 },
  )
  return file
}

describe("the writer", () => {
  beforeAll(installed)

  live(
    "creates once; a taken name is answered with what stands there",
    Effect.gen(function* () {
      const { reader, writer } = yield* services
      yield* synced
      const wanted = replicaSet(yield* newNamespace)
      const made = yield* writer.create(wanted)
      assert.strictEqual(made._tag, "Created")
      assert.strictEqual((yield* reader.get("ReplicaSet", wanted.ref.namespace, wanted.ref.name))?.metadata.uid, made.object.metadata.uid)
      const taken = yield* writer.create(wanted)
      assert.deepStrictEqual([taken._tag, taken.object.metadata.uid], ["Taken", made.object.metadata.uid])
    }),
  )

  live(
    "what it writes is read at once, by name and by index",
    Effect.gen(function* () {
      const { reader, writer } = yield* services
      yield* synced
      const namespace = yield* newNamespace
      const wanted = replicaSet(namespace)
      for (let pass = 0; pass < 10; pass++) {
        const { object } = yield* writer.create(wanted)
        yield* writer.apply(annotated(wanted.ref, { pass: String(pass) }), annotations)
        yield* writer.scale(wanted.ref, pass + 2, replicas)
        const [held] = yield* reader.list("ReplicaSet", "ownedBy", `${namespace}/greeter`)
        assert.deepStrictEqual(
          [held?.metadata.uid, held?.metadata.annotations?.["pass"], held?.spec.replicas],
          [object.metadata.uid, String(pass), pass + 2],
        )
        yield* writer.remove(wanted.ref, object.metadata.uid)
        assert.deepStrictEqual(yield* reader.list("ReplicaSet", "ownedBy", `${namespace}/greeter`), [])
        yield* until(
          Effect.map(writer.create(wanted).pipe(Effect.tap(({ object }) => writer.remove(wanted.ref, object.metadata.uid))), ({ _tag }) =>
            _tag === "Created" ? true : undefined,
          ),
        )
      }
    }),
  )

  live(
    "sends an apply once, and again only when it would change something",
    Effect.gen(function* () {
      const { writer } = yield* services
      yield* synced
      const namespace = yield* newNamespace
      const { ref } = replicaSet(namespace)
      yield* writer.create(replicaSet(namespace))
      for (const [desired, manager] of [
        [service(namespace), main],
        [annotated(ref, { [vocabulary.annotations.deploymentId]: "dp_1" }), deploymentId],
        [annotated(ref, { a: "1", b: "2" }), annotations],
        [annotated(ref, { a: "1" }), annotations],
        [annotated(ref, {}), annotations],
      ] as const) {
        assert.isTrue((yield* writer.apply(desired, manager)).changed)
        assert.isFalse((yield* writer.apply(desired, manager)).changed)
        yield* Effect.sleep(100)
        assert.isFalse((yield* writer.apply(desired, manager)).changed)
      }
      assert.isTrue((yield* writer.scale(ref, 2, replicas)).changed)
      assert.isFalse((yield* writer.scale(ref, 2, replicas)).changed)
    }),
  )

  live(
    "an apply of a part does not make an object that was deleted meanwhile",
    Effect.gen(function* () {
      const { writer } = yield* services
      yield* synced
      const { ref } = replicaSet(yield* newNamespace)
      const { object } = yield* writer.create(replicaSet(ref.namespace ?? ""))
      yield* Effect.promise(async () => kubectl("-n", ref.namespace ?? "", "delete", "replicaset", ref.name, "--now"))
      // The cache may know of the deletion or not: an apply by UID is a conflict, one without is refused as incomplete.
      const error = yield* Effect.flip(
        writer.apply({ ref, body: { metadata: { uid: object.metadata.uid, annotations: { a: "1" } } } }, annotations),
      )
      assert.strictEqual(error._tag, "Conflict")
    }),
  )

  live(
    "a merge patch at an old resourceVersion is a conflict, and so is one of an object that is gone",
    Effect.gen(function* () {
      const { reader, writer } = yield* services
      yield* synced
      const namespace = yield* newNamespace
      const { ref } = replicaSet(namespace)
      const { object } = yield* writer.create(replicaSet(namespace))
      yield* writer.merge(ref, { metadata: { uid: object.metadata.uid, annotations: { made: null } } })
      assert.isUndefined((yield* reader.get("ReplicaSet", namespace, ref.name))?.metadata.annotations)
      const stale = yield* Effect.flip(
        writer.merge(ref, { metadata: { resourceVersion: object.metadata.resourceVersion, annotations: { made: "2" } } }),
      )
      assert.strictEqual(stale._tag, "Conflict")
      const gone = yield* Effect.flip(writer.merge({ ...ref, name: "nobody" }, { metadata: { annotations: { a: "1" } } }))
      assert.strictEqual(gone._tag, "Conflict")
    }),
  )

  live(
    "the finalizer is put and released, and the released object is gone from the cache",
    Effect.gen(function* () {
      const { reader, writer } = yield* services
      const kube = yield* client
      yield* synced
      const namespace = yield* newNamespace
      const ref: Ref = { kind: "deployment", namespace, name: "greeter" }
      yield* Effect.promise(() => kube.create(deploymentPath(namespace), deployment("greeter")))
      const seen = yield* until(reader.get("deployment", namespace, "greeter"))
      const { finalizer } = vocabulary.resources.deployment
      const held = yield* writer.merge(ref, { metadata: { resourceVersion: seen.metadata.resourceVersion, finalizers: [finalizer] } })
      assert.deepStrictEqual((yield* reader.get("deployment", namespace, "greeter"))?.metadata.finalizers, [finalizer])
      yield* Effect.promise(() => kube.delete(deploymentPath(namespace, "greeter")))
      const leaving = yield* until(
        Effect.map(reader.get("deployment", namespace, "greeter"), (object) =>
          object?.metadata.deletionTimestamp === undefined ? undefined : object,
        ),
      )
      assert.isTrue(BigInt(leaving.metadata.resourceVersion) > BigInt(held.metadata.resourceVersion))
      yield* writer.merge(ref, { metadata: { resourceVersion: leaving.metadata.resourceVersion, finalizers: [] } })
      assert.isUndefined(yield* reader.get("deployment", namespace, "greeter"))
      yield* Effect.sleep(300)
      assert.isUndefined(yield* reader.get("deployment", namespace, "greeter"))
      assert.isUndefined(yield* reader.fetch("deployment", namespace, "greeter"))
    }),
  )

  live(
    "removes exactly one UID: another object of that name stays, and one that is gone is done",
    Effect.gen(function* () {
      const { reader, writer } = yield* services
      yield* synced
      const namespace = yield* newNamespace
      const { ref } = replicaSet(namespace)
      const { object } = yield* writer.create(replicaSet(namespace))
      yield* writer.remove(ref, "00000000-0000-0000-0000-000000000000")
      assert.strictEqual((yield* reader.fetch("ReplicaSet", namespace, ref.name))?.metadata.uid, object.metadata.uid)
      assert.strictEqual((yield* reader.get("ReplicaSet", namespace, ref.name))?.metadata.uid, object.metadata.uid)
      yield* writer.remove(ref, object.metadata.uid)
      yield* writer.remove(ref, object.metadata.uid)
    }),
  )

  live(
    "a status with a field that an older CRD does not know is written without it, and once",
    Effect.gen(function* () {
      const { reader, writer } = yield* services
      const kube = yield* client
      yield* synced
      const namespace = yield* newNamespace
      yield* Effect.promise(() => kube.create(deploymentPath(namespace), deployment("old")))
      yield* until(reader.get("deployment", namespace, "old"))
      const ref: Ref = { kind: "deployment", namespace, name: "old" }
      const write = (status: Json) => writer.apply({ ref, body: { status } }, main, "status")
      yield* write({ replicas: 1, collisionCount: 2 })
      yield* write({ replicas: 2, ofTomorrow: { known: "not yet" } })
      const written = yield* Effect.promise(() => kube.get(deploymentPath(namespace, "old")))
      assert.deepStrictEqual(Reflect.get(written, "status"), { replicas: 2 })
      assert.isFalse((yield* write({ replicas: 2, ofTomorrow: { known: "not yet" } })).changed)
    }),
  )

  live(
    "hears nothing of its own writes, and everything of others'",
    Effect.gen(function* () {
      const { source, writer } = yield* services
      const kube = yield* client
      yield* synced
      const namespace = yield* newNamespace
      const { ref } = service(namespace)
      const heard: Array<string> = []
      source.subscribe("Service", ({ after, before }) => {
        if ((after ?? before)?.metadata.namespace === namespace) heard.push(Object.values(after?.metadata.annotations ?? {}).join())
      })
      yield* writer.apply(service(namespace), main)
      for (let pass = 0; pass < 20; pass++) yield* writer.apply(annotated(ref, { ours: String(pass) }), annotations)
      yield* Effect.sleep(500)
      assert.deepStrictEqual(heard, [])
      // Both at once: what the other wrote is heard, whichever comes first.
      for (let pass = 0; pass < 10; pass++) {
        const path = `/api/v1/namespaces/${namespace}/services/${ref.name}`
        yield* Effect.all(
          [
            writer.apply(annotated(ref, { ours: `x${pass}` }), annotations),
            Effect.promise(() => kube.patch(path, { metadata: { annotations: { theirs: `t${pass}` } } })),
          ],
          { concurrency: 2 },
        )
        yield* until(Effect.sync(() => (heard.some((text) => text.includes(`t${pass}`)) ? true : undefined)))
      }
    }),
  )

  live(
    "integers beyond 2^53 pass through a ServiceDeployment digit for digit",
    Effect.gen(function* () {
      const { reader } = yield* services
      const kube = yield* client
      yield* synced
      const namespace = yield* newNamespace
      yield* Effect.promise(() => kube.create(deploymentPath(namespace), deployment("big", { note: parseExactly("9007199254740993") })))
      const held = yield* until(reader.get("deployment", namespace, "big"))
      assert.include(JSON.stringify(held.spec.template), '"note":9007199254740993')
      const [found] = yield* reader
        .list("deployment", "registersWith", "main")
        .pipe(Effect.map((all) => all.filter((one) => one.metadata.namespace === namespace)))
      assert.strictEqual(found?.metadata.name, "big")
    }),
  )
})

describe("the reader", () => {
  live(
    "finds the EndpointSlices of a managed Service: their controller copies its labels",
    Effect.gen(function* () {
      const { reader, writer } = yield* services
      yield* synced
      const namespace = yield* newNamespace
      yield* writer.apply(service(namespace), main)
      const slices = yield* until(
        Effect.map(reader.list("EndpointSlice", "service", `${namespace}/greeter-abc`), (found) => (found.length > 0 ? found : undefined)),
      )
      assert.deepStrictEqual(slices[0]?.endpoints, [])
    }),
  )

  live(
    "a live read says undefined only for an object that is not there",
    Effect.gen(function* () {
      const { reader } = yield* services
      assert.isUndefined(yield* reader.fetch("ReplicaSet", "nowhere", "nobody"))
      assert.isUndefined(yield* reader.fetch("cluster", undefined, "nobody"))
    }),
  )

  live(
    "without a right: Forbidden with verb and subject, and the caches never say that there is nothing",
    Effect.gen(function* () {
      const source = yield* Source
      const reader = yield* KubernetesReader
      const error = yield* Effect.flip(reader.fetch("Service", "default", "kubernetes"))
      assert.deepStrictEqual(
        [error._tag, "verb" in error ? error.verb : "", "subject" in error ? error.subject : ""],
        ["Forbidden", "get", 'services "default/kubernetes"'],
      )
      const refusals: ReadonlyArray<readonly [Kind, string]> = [["Service", "Forbidden"]]
      for (const [kind, tag] of refusals) assert.strictEqual((yield* Effect.flip(source.synced(kind)))._tag, tag)
      assert.strictEqual((yield* Effect.flip(reader.get("Service", "default", "kubernetes")))._tag, "Unavailable")
    }),
    kubeconfigAs({ as: "nobody" }),
  )

  live(
    "credentials that the server does not know are refused at the start",
    Effect.gen(function* () {
      const source = yield* Source
      const error = yield* Effect.flip(source.synced("ReplicaSet"))
      assert.deepStrictEqual([error._tag, "status" in error ? error.status : 0], ["Rejected", 401])
      assert.notInclude(error.detail, "secret-token")
    }),
    kubeconfigAs({ token: "secret-token" }),
  )
})
