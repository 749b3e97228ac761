import { assert, describe, it } from "@effect/vitest"
import { parseExactly } from "#src/kubernetes/json.ts"
import { SharedFields } from "#src/kubernetes/managed-fields.ts"
import { ObjectReader } from "#src/kubernetes/objects.ts"
import { vocabularies } from "#src/vocabulary.ts"

const vocabulary = vocabularies.service
const metadata = { name: "a", namespace: "n", uid: "1", resourceVersion: "5" }
const entry = (manager: string, fieldsV1: object, more: object = {}) => ({
  manager,
  operation: "Apply",
  apiVersion: "v1",
  time: "2026-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more,
})

describe("objects from the wire", () => {
  it("managedFields are ours only, without times, and shared between objects of one shape", () => {
    const reader = new ObjectReader(vocabulary)
    const service = (uid: string) =>
      reader.read("Service", {
        apiVersion: "v1",
        kind: "Service",
        metadata: {
          ...metadata,
          uid,
          managedFields: [
            entry("kubectl", { "f:spec": {} }),
            entry(vocabulary.managers.main, {
              "f:metadata": { "f:ownerReferences": { [`k:{"uid":"${uid}"}`]: {} } },
              "f:spec": { "f:ports": { "f:a": {} } },
            }),
          ],
        },
        spec: {},
        status: { loadBalancer: {} },
      })
    const [one, two] = [service("1"), service("2")]
    const fields = one?.metadata.managedFields
    assert.deepStrictEqual(
      fields?.map(({ fieldsV1, ...rest }) => ({ ...rest, tree: fieldsV1 !== undefined })),
      [{ manager: vocabulary.managers.main, operation: "Apply", tree: true }],
    )
    assert.strictEqual(fields?.[0]?.fieldsV1?.["f:spec"], two?.metadata.managedFields?.[0]?.fieldsV1?.["f:spec"])
    assert.isFalse(one !== undefined && "status" in one)
  })

  it("of a Secret nothing is kept that tells what is in it", () => {
    const reader = new ObjectReader(vocabulary)
    const secret = (token: string, uid = "1", more: object = {}) =>
      reader.read("Secret", {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { ...metadata, uid, annotations: { copy: token }, labels: { copy: token }, ...more },
        type: "Opaque",
        data: { token, empty: "" },
      })
    const held = secret("cGxhbnRlZA==")
    assert.notInclude(JSON.stringify(held), "cGxhbnRlZA==")
    assert.deepStrictEqual(Object.keys(held?.digests ?? {}), ["token"])
    // The same for an edit beside it; another one for another token, and for the same one in another Secret.
    assert.deepStrictEqual(secret("cGxhbnRlZA==", "1", { resourceVersion: "6" })?.digests, held?.digests)
    assert.notDeepEqual(secret("b3RoZXI=")?.digests, held?.digests)
    assert.notDeepEqual(secret("cGxhbnRlZA==", "2")?.digests, held?.digests)
  })

  it("the table of shared field trees does not grow with the number of objects", () => {
    const shared = new SharedFields()
    let last = shared.share({ "f:spec": { "f:a": {} } })
    for (let i = 0; i < 30_000; i++) last = shared.share({ "f:metadata": { [`k:{"uid":"${i}"}`]: {} }, "f:spec": { "f:a": {} } })
    assert.deepStrictEqual(last, { "f:metadata": { 'k:{"uid":"29999"}': {} }, "f:spec": { "f:a": {} } })
  })

  it("a ReplicaSet is kept without its template, an EndpointSlice without its ports, an object without kubectl's copy of it", () => {
    const reader = new ObjectReader(vocabulary)
    const replicaSet = reader.read("ReplicaSet", {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { ...metadata, annotations: { a: "1", "kubectl.kubernetes.io/last-applied-configuration": "{}" } },
      spec: { replicas: 2, minReadySeconds: 1, selector: { matchLabels: { a: "b" } }, template: { spec: {} } },
      status: { replicas: 1, terminatingReplicas: 0 },
    })
    assert.deepStrictEqual(replicaSet, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { ...metadata, annotations: { a: "1" } },
      spec: { replicas: 2, minReadySeconds: 1, selector: { matchLabels: { a: "b" } } },
      status: { replicas: 1 },
    })
    const slice = reader.read("EndpointSlice", {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, annotations: { at: "now" }, labels: { "kubernetes.io/service-name": "s" } },
      ports: [{ port: 1 }],
      endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true }, nodeName: "n", targetRef: { kind: "Pod" } }],
    })
    assert.deepStrictEqual(slice, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": "s" } },
      endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
    })
  })

  it("what is no object of its kind is none", () => {
    const reader = new ObjectReader(vocabulary)
    for (const value of [
      undefined,
      null,
      1,
      [],
      {},
      { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "a" }, spec: {} },
      { apiVersion: "apps/v1", kind: "ReplicaSet", metadata },
      { metadata, spec: { selector: {} } },
    ])
      assert.isUndefined(reader.read("ReplicaSet", value))
  })

  it("integers beyond 2^53 come back digit for digit; other numbers are numbers", () => {
    for (const text of [
      '{"a":9007199254740993}',
      '{"a":[-9223372036854775808,18446744073709551615]}',
      '{"a":1,"b":"12345678901234567890","c":1.5}',
      '{"a":123456789012345678901234567890}',
    ])
      assert.strictEqual(JSON.stringify(parseExactly(text)), text)
    assert.deepStrictEqual(parseExactly('{"a":1,"b":2.5,"c":9007199254740991,"d":1234567890.1234567}'), {
      a: 1,
      b: 2.5,
      c: 9007199254740991,
      d: 1234567890.1234567,
    })
  })
})
