import { assert, describe, it } from "@effect/vitest"
import { canonical, unchanged } from "#src/kubernetes/unchanged.ts"
import { quantity } from "#src/formats/quantity.ts"
import type { Desired } from "#src/engine/action.ts"
import type { FieldsV1, Json, KubernetesObject } from "#src/resources/meta.ts"
import { ModelServer } from "./apply-model.ts"
import { type Dice, dice } from "./random.ts"

type Body = Desired["body"]
type Map = { readonly [key: string]: Json | undefined }

const words = ["a", "b", "c"] as const
const strings = (d: Dice): Map => Object.fromEntries(d.some(words).map((key) => [key, d.pick(["1", "2", "1000m"])]))
/** Leaves a field out, or gives it one of its values: empty ones included. */
const maybe = (d: Dice, fields: { readonly [name: string]: () => Json }): Map =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, make]): ReadonlyArray<[string, Json]> => (d.oneIn(2) ? [] : [[name, make()]])))

const nonEmpty = (map: Map): Map =>
  Object.fromEntries(
    Object.entries(map).filter(([, value]) => !(typeof value === "object" && value !== null && Object.keys(value).length === 0)),
  )

/** A wish of any shape that the model knows. Empty structs are left out: `spec: {}` is nothing anybody asks for. */
const wish = (d: Dice): Body =>
  nonEmpty({
    metadata: maybe(d, {
      labels: () => strings(d),
      annotations: () => strings(d),
      finalizers: () => d.some(["x", "y", "z"]),
      ownerReferences: () => d.some(["1", "2"]).map((uid) => ({ uid, name: d.pick(["n", "m"]) })),
    }),
    spec: nonEmpty(
      maybe(d, {
        replicas: () => d.below(3),
        selector: () => ({ app: d.pick(["x", "y"]), ...strings(d) }),
        args: () => ["--first", ...d.some(["1", "2"])],
        ports: () => d.some([1, 2]).map((port) => ({ port, ...(d.oneIn(2) ? { protocol: "TCP" } : {}), name: d.pick(["n", "m"]) })),
        resources: () =>
          nonEmpty({
            requests: Object.fromEntries(d.some(["cpu", "memory"]).map((name) => [name, d.pick(["1", "1000m", "2", "2000m", "1500m"])])),
          }),
      }),
    ),
  })

/** A server on which two managers and a passer-by have been at work. */
const history = (d: Dice): ModelServer => {
  const server = new ModelServer()
  for (let steps = d.below(6); steps >= 0; steps--) {
    if (d.oneIn(4)) server.edit(canonical(wish(d)))
    else server.apply(d.pick(["ours", "theirs"]), canonical(wish(d)))
  }
  return server
}

/** An object whose fields of `owned` are ours by server-side apply. */
const live = (fields: Body, owned: FieldsV1 | undefined, subresource?: string): KubernetesObject => {
  const { metadata, ...rest } = fields
  return {
    ...rest,
    apiVersion: "v1",
    kind: "Thing",
    metadata: {
      name: "thing",
      uid: "1",
      resourceVersion: "1",
      ...(typeof metadata === "object" && metadata !== null ? metadata : {}),
      ...(owned === undefined
        ? {}
        : {
            managedFields: [
              { manager: "ours", operation: "Apply", fieldsV1: owned, ...(subresource === undefined ? {} : { subresource }) },
            ],
          }),
    },
  }
}
const annotated = (annotations: Map): Body => ({ metadata: { annotations } })
const port = (targetPort: number | string): Body => ({ spec: { ports: [{ port: 80, targetPort }] } })
const list = (...names: ReadonlyArray<string>): Map => ({ list: names.map((name) => ({ name })) })
const env = (extra: Map): Map => ({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name", ...extra } } }] })

const cases = 500

describe("unchanged", () => {
  it("after an apply nothing is left to apply", () => {
    for (let seed = 0; seed < cases; seed++) {
      const d = dice(seed)
      const server = history(d)
      const wanted = wish(d)
      const live = server.apply("ours", canonical(wanted))
      assert.isTrue(unchanged(wanted, live, "ours"), `seed ${seed}: ${JSON.stringify({ wanted, live })}`)
    }
  })

  it("what is unchanged can be applied without moving the resourceVersion", () => {
    let unmoved = 0
    for (let seed = 0; seed < cases; seed++) {
      const d = dice(seed)
      const server = history(d)
      // Half of the wishes are the last one with something changed, or else nearly all would be changes.
      const wanted = d.oneIn(2) ? wish(d) : wish(dice(d.below(40)))
      if (d.oneIn(2)) server.apply("ours", canonical(wanted))
      if (d.oneIn(3)) server.edit(canonical(wish(d)))
      const before = server.live
      if (!unchanged(wanted, before, "ours")) continue
      unmoved += 1
      assert.strictEqual(
        server.apply("ours", canonical(wanted)).metadata.resourceVersion,
        before.metadata.resourceVersion,
        `seed ${seed}: ${JSON.stringify({ wanted, before })}`,
      )
    }
    assert.isAbove(unmoved, cases / 10)
  })

  it("what was applied stays unchanged while others write elsewhere", () => {
    for (let seed = 0; seed < cases; seed++) {
      const d = dice(seed)
      const server = history(d)
      const wanted = wish(d)
      server.apply("ours", canonical(wanted))
      server.edit({ metadata: { annotations: { elsewhere: "1" } } })
      assert.isTrue(unchanged(wanted, server.live, "ours"), `seed ${seed}`)
    }
  })

  it("equal values that the manager does not own are a change: an apply would make it an owner", () => {
    assert.isFalse(unchanged(annotated({ a: "1" }), live(annotated({ a: "1" }), undefined), "ours"))
    assert.isFalse(
      unchanged(
        annotated({ a: "1", b: "1" }),
        live(annotated({ a: "1", b: "1" }), { "f:metadata": { "f:annotations": { "f:a": {} } } }),
        "ours",
      ),
    )
  })

  it("a field that is owned and no longer wanted is a change", () => {
    assert.isFalse(
      unchanged(
        annotated({ a: "1" }),
        live(annotated({ a: "1", b: "1" }), { "f:metadata": { "f:annotations": { "f:a": {}, "f:b": {} } } }),
        "ours",
      ),
    )
  })

  it("giving up everything is unchanged only when nothing is owned", () => {
    for (const nothing of [{}, { metadata: {} }, annotated({}), { metadata: { annotations: null } }]) {
      assert.isTrue(unchanged(nothing, live(annotated({ a: "1" }), undefined), "ours"))
      assert.isFalse(unchanged(nothing, live(annotated({ a: "1" }), { "f:metadata": { "f:annotations": { "f:a": {} } } }), "ours"))
    }
  })

  it("the entry of a subresource is another one than that of the object", () => {
    const status = { status: { replicas: 1 } }
    const owned = { "f:status": { "f:replicas": {} } }
    assert.isTrue(unchanged(status, live(status, owned, "status"), "ours", "status"))
    assert.isFalse(unchanged(status, live(status, owned, "status"), "ours"))
    assert.isFalse(unchanged(status, live(status, owned), "ours", "status"))
  })

  it('text stays text: an annotation of 1000m is not one of 1, and port 80 not port "80"', () => {
    const owned = { "f:metadata": { "f:annotations": { "f:a": {} } } }
    assert.isFalse(unchanged(annotated({ a: "1" }), live(annotated({ a: "1000m" }), owned), "ours"))
    const ports = { "f:spec": { "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {}, "f:targetPort": {} } } } }
    const defaulted = (targetPort: number | string) => live({ spec: { ports: [{ port: 80, protocol: "TCP", targetPort }] } }, ports)
    assert.isTrue(unchanged(port(80), defaulted(80), "ours"))
    assert.isFalse(unchanged(port(80), defaulted("80"), "ours"))
  })

  it("another UID is another object", () => {
    assert.isTrue(unchanged({ metadata: { uid: "1" } }, live({}, undefined), "ours"))
    assert.isFalse(unchanged({ metadata: { uid: "2" } }, live({}, undefined), "ours"))
  })

  it("entries in another order are a change", () => {
    const owned = { "f:list": { 'k:{"name":"a"}': { ".": {}, "f:name": {} }, 'k:{"name":"b"}': { ".": {}, "f:name": {} } } }
    assert.isTrue(unchanged(list("a", "b"), live(list("a", "x", "b"), owned), "ours"))
    assert.isFalse(unchanged(list("b", "a"), live(list("a", "b"), owned), "ours"))
  })

  it("an atomic value may have what the server adds, and nothing else", () => {
    const owned = { "f:env": {} }
    assert.isTrue(unchanged(env({}), live(env({ apiVersion: "v1" }), owned), "ours"))
    assert.isFalse(unchanged(env({}), live(env({ apiVersion: "v2" }), owned), "ours"))
  })
})

describe("quantity", () => {
  it("spellings of one amount are equal", () => {
    for (const [a, b] of [
      ["1", "1000m"],
      ["1.5Gi", "1536Mi"],
      ["2e3", "2k"],
      ["0.1", "100m"],
      ["1E", "1e18"],
      ["-1", "-1000m"],
      [".5", "500m"],
      ["1n", "0.000000001"],
      ["0.1n", "1n"],
    ] as const)
      assert.strictEqual(quantity(a), quantity(b), `${a} ${b}`)
  })

  it("what is no quantity is none", () => {
    for (const text of ["", "m", "1 Gi", "1gi", "one", "1.2.3", "1e", "."]) assert.isUndefined(quantity(text), text)
  })
})
