/** Who may reach a server, and whom it may reach (operator.md §2.6). All policies select the pods of the server. */
import type { Desired } from "../../engine/action.ts"
import { childMetadata, clusterSelector, type Given } from "../given.ts"
import { ports } from "./ports.ts"

/** JSON as it goes out. */
type Rule = object
type Peers = ReadonlyArray<Rule> | null | undefined

/** Of an operator of before; it is in the way when it is still there. */
const formerly = "allow-egress-to-kube-dns"

/** Kubernetes' own label, which every namespace has. */
const namespaceName = "kubernetes.io/metadata.name"

/** Names of all policies that may have been made for a server, whatever its spec says now. */
export const policyNames = ({ settings }: Given): ReadonlyArray<string> => {
  const { awsIdentity, egress, internet } = settings.vocabulary.server.policies
  return ["deny-all", "allow-egress-to-dns", internet, awsIdentity, egress, ...inbound, formerly]
}

const inbound = ["allow-ingress-access", "allow-admin-access", "allow-metrics-access"] as const

/** Those that the spec asks for; none when they are switched off. */
export const networkPolicies = (given: Given): ReadonlyArray<Desired> => {
  const { cluster, settings } = given
  const { security } = cluster.spec
  if (security?.disableNetworkPolicies === true) return []
  const { awsIdentity, egress, internet } = settings.vocabulary.server.policies
  const peers = security?.networkPeers ?? {}
  const operator = operatorPeer(given)
  const self = selfPeer(given)
  return [
    policy(given, "deny-all", { policyTypes: ["Ingress", "Egress"] }),
    policy(given, "allow-egress-to-dns", outgoing(dns)),
    policy(given, internet, outgoing([{ to: publicInternet }])),
    ...(security?.awsPodIdentityAssociationRoleArn ? [policy(given, awsIdentity, outgoing(awsAgent))] : []),
    policy(
      given,
      egress,
      outgoing([
        ...(security?.networkEgressRules ?? []),
        { to: [self], ports: [tcp(ports.node)] },
        {
          to: [
            { namespaceSelector: {}, podSelector: { matchLabels: { [settings.vocabulary.labels.allow(cluster.metadata.name)]: "true" } } },
          ],
        },
      ]),
    ),
    policy(given, "allow-ingress-access", incoming(ports.ingress, peers.ingress)),
    policy(
      given,
      "allow-admin-access",
      incoming(ports.admin, security?.allowOperatorAccessToAdmin === false ? peers.admin : beside(peers.admin, operator)),
    ),
    // The name is historic: it guards the port on which the nodes talk to each other, and that the operator provisions through.
    policy(
      given,
      "allow-metrics-access",
      incoming(ports.node, beside(peers.node ?? peers.metrics, [self, ...(cluster.spec.cluster?.autoProvision === true ? operator : [])])),
    ),
  ]
}

const policy = (given: Given, name: string, spec: Rule): Desired => ({
  ref: { kind: "NetworkPolicy", namespace: given.cluster.metadata.name, name },
  body: { metadata: childMetadata(given), spec: { podSelector: { matchLabels: clusterSelector(given) }, ...spec } },
})

const tcp = (port: number): Rule => ({ port, protocol: "TCP" })

const outgoing = (egress: ReadonlyArray<Rule>): Rule => ({ policyTypes: ["Egress"], egress })

/**
 * Nobody: no rule. Everybody: one rule without `from`. An empty `from` would mean the same as none to the API server,
 * which drops it, so that what is asked for would never be what is there.
 */
const incoming = (port: number, peers: Peers): Rule => ({
  policyTypes: ["Ingress"],
  ...(peers === undefined || peers === null ? {} : { ingress: [{ ports: [tcp(port)], ...(peers.length === 0 ? {} : { from: peers }) }] }),
})

/** An empty list lets everybody in; a peer beside everybody changes nothing, and must not shut the others out. */
const beside = (peers: Peers, more: ReadonlyArray<Rule>): Peers =>
  peers?.length === 0 || more.length === 0 ? peers : [...(peers ?? []), ...more]

const selfPeer = (given: Given): Rule => ({
  namespaceSelector: { matchLabels: { [namespaceName]: given.cluster.metadata.name } },
  podSelector: { matchLabels: clusterSelector(given) },
})

const operatorPeer = ({ settings: { operatorLabel, operatorNamespace } }: Given): ReadonlyArray<Rule> =>
  operatorLabel === undefined
    ? []
    : [
        {
          namespaceSelector: { matchLabels: { [namespaceName]: operatorNamespace } },
          podSelector: { matchLabels: { [operatorLabel.name]: operatorLabel.value } },
        },
      ]

/** The cluster's DNS pods, and the cache that some clusters run on each node. */
const dns: ReadonlyArray<Rule> = [
  {
    to: [
      {
        namespaceSelector: { matchLabels: { [namespaceName]: "kube-system" } },
        podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
      },
      { ipBlock: { cidr: "169.254.20.10/32" } },
    ],
    ports: [
      { port: 53, protocol: "UDP" },
      { port: 53, protocol: "TCP" },
    ],
  },
]

/** In two halves, because the network plugin of one cloud mishandles 0.0.0.0/0. Private ranges are not public. */
const publicInternet: ReadonlyArray<Rule> = [
  { ipBlock: { cidr: "0.0.0.0/1", except: ["10.0.0.0/8"] } },
  { ipBlock: { cidr: "128.0.0.0/1", except: ["192.168.0.0/16", "172.16.0.0/12", "169.254.0.0/16"] } },
]

const awsAgent: ReadonlyArray<Rule> = [{ to: [{ ipBlock: { cidr: "169.254.170.23/32" } }], ports: [tcp(80)] }]
