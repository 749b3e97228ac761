/** Who may reach a server. */
import { describe, expect, it } from "vitest"
import { networkPolicies } from "#src/cluster/parts/network-policies.ts"
import { given, type Variation } from "./given.ts"

const policies = (security: object, more: Variation["spec"] = {}) =>
  new Map(networkPolicies(given({ spec: { security, ...more } })).map(({ body, ref }) => [ref.name, body["spec"]]))

const self = {
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "main" } },
  podSelector: { matchLabels: { "app.kubernetes.io/name": "service", "app.kubernetes.io/instance": "main" } },
}
const operator = {
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "operators" } },
  podSelector: { matchLabels: { app: "operator" } },
}
const friend = { podSelector: { matchLabels: { friend: "yes" } } }

describe("the network policies of a server", () => {
  it("are seven without a cloud, eight with its identity agent, none when switched off (scenario 25)", () => {
    expect([...policies({}).keys()]).toEqual([
      "deny-all",
      "allow-egress-to-dns",
      "allow-service-egress-to-public-internet",
      "allow-service-egress",
      "allow-ingress-access",
      "allow-admin-access",
      "allow-metrics-access",
    ])
    expect(policies({ awsPodIdentityAssociationRoleArn: "arn" }).size).toBe(8)
    expect(policies({ disableNetworkPolicies: true }).size).toBe(0)
  })

  it("let nobody in where no peers are named, and everybody by an empty list, in one rule without from (scenario 26)", () => {
    expect(policies({}).get("allow-ingress-access")).not.toHaveProperty("ingress")
    expect(policies({ networkPeers: { ingress: [] } }).get("allow-ingress-access")).toMatchObject({
      ingress: [{ ports: [{ port: 8080 }] }],
    })
    expect(JSON.stringify(policies({ networkPeers: { ingress: [] } }).get("allow-ingress-access"))).not.toContain("from")
  })

  it("let only the operator to the admin API unless peers are named (scenario 27)", () => {
    const admin = (security: object) => policies(security).get("allow-admin-access")
    expect(admin({})).toMatchObject({ ingress: [{ from: [operator], ports: [{ port: 9070 }] }] })
    expect(admin({ networkPeers: { admin: [friend] } })).toMatchObject({ ingress: [{ from: [friend, operator] }] })
    expect(admin({ networkPeers: { admin: [friend] }, allowOperatorAccessToAdmin: false })).toMatchObject({ ingress: [{ from: [friend] }] })
    expect(admin({ allowOperatorAccessToAdmin: false })).not.toHaveProperty("ingress")
  })

  it("never cut the nodes off from each other", () => {
    const node = (security: object, autoProvision = false) => policies(security, { cluster: { autoProvision } }).get("allow-metrics-access")
    expect(node({})).toMatchObject({ ingress: [{ from: [self] }] })
    expect(node({}, true)).toMatchObject({ ingress: [{ from: [self, operator] }] })
    expect(node({ networkPeers: { metrics: [friend] } })).toMatchObject({ ingress: [{ from: [friend, self] }] })
    expect(JSON.stringify(node({ networkPeers: { node: [], metrics: [friend] } }, true))).not.toContain("from")
  })

  it("let the server out to whom the user names first, to itself, and to pods that allow it", () => {
    const rule = { to: [friend], ports: [{ port: 443 }] }
    expect(policies({ networkEgressRules: [rule] }).get("allow-service-egress")).toMatchObject({
      egress: [
        rule,
        { to: [self], ports: [{ port: 5122 }] },
        { to: [{ namespaceSelector: {}, podSelector: { matchLabels: { "allow.durable.dev/main": "true" } } }] },
      ],
    })
  })
})
