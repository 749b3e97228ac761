import { describe, expect, it } from "vitest"
import { templateJson, versionHash } from "../../src/deployment/hash.ts"

const spec = { containers: [{ image: "greeter:1", name: "app" }] }
const template = templateJson({ spec })

describe("the version hash", () => {
  it.each([
    ["the template alone", { template }, "df6cbb66f6"],
    ["with a cluster", { template, cluster: "main" }, "974bdd967"],
    ["with a cluster, a path and HTTP/1.1", { template, cluster: "main", servicePath: "/api", useHttp11: true }, "447d9fff75"],
    ["after one collision", { template, cluster: "main", collisionCount: 1 }, "469fd8c5f7"],
    ["in-process", { template, inProcess: { environmentId: "env_123", region: "us", signingPublicKey: "publickeyv1_abc" } }, "99c559c847"],
    ["with template labels", { template: templateJson({ metadata: { labels: { app: "greeter" } }, spec }), cluster: "main" }, "76f884db85"],
  ])("gives the golden name for %s", (_, input, hash) => {
    expect(versionHash(input)).toBe(hash)
  })

  it("does not depend on the order of keys", () => {
    expect(templateJson({ spec: { containers: [{ name: "app", image: "greeter:1" }] } })).toBe(template)
  })

  it("sorts keys by UTF-8 bytes, not by UTF-16 units", () => {
    // U+FF5E is one unit above the surrogates, but its bytes (EF…) sort before those of U+1F600 (F0…).
    expect(templateJson({ spec: { "\u{1F600}": 1, "\uFF5E": 2 } })).toBe('{"metadata":null,"spec":{"\uFF5E":2,"\u{1F600}":1}}')
  })

  it("keeps annotations before labels and leaves absent ones out", () => {
    expect(templateJson({ metadata: { labels: { b: "2", a: "1" }, annotations: { c: "3" } }, spec: {} })).toBe(
      '{"metadata":{"annotations":{"c":"3"},"labels":{"a":"1","b":"2"}},"spec":{}}',
    )
    expect(templateJson({ metadata: {}, spec: {} })).toBe('{"metadata":{},"spec":{}}')
    expect(templateJson({ metadata: null, spec: {} })).toBe('{"metadata":null,"spec":{}}')
  })

  it("never gives an empty name", () => {
    expect(versionHash({ template: "" })).not.toBe("")
  })
})
