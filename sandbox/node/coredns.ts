import { writeFileSync } from "node:fs"
import { Resolver } from "node:dns/promises"
import { join } from "node:path"
import type { GoModule } from "../go-programs.ts"
import type { Processes } from "../processes.ts"
import { waitFor } from "../wait.ts"
import { addresses } from "./addresses.ts"
import { hopelessWithout } from "./daemon.ts"
import type { Manifest } from "./manifest.ts"
import { places } from "./places.ts"

/** CoreDNS with the plugins that are used here only. */
export const corednsModule: GoModule = {
  name: "coredns",
  directory: join(import.meta.dirname, "coredns"),
  ldflags: "-s -w",
  programs: { coredns: "." },
}

/** The name that CoreDNS has at the API server. */
export const corednsUser = "sandbox:coredns"

// The second block: nothing outside the cluster exists and nothing is forwarded. Without it the answer would be a
// failure, which resolvers try again, and not a plain no.
const corefile = (kubeconfig: string): string => `
${addresses.domain}:${addresses.dnsPort} in-addr.arpa:${addresses.dnsPort} {
  bind ${addresses.node}
  errors
  kubernetes ${addresses.domain} in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 1
  }
  cache 1
}
.:${addresses.dnsPort} {
  bind ${addresses.node}
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`

const ports = [
  { name: "dns", port: 53, targetPort: addresses.dnsPort, protocol: "UDP" },
  { name: "dns-tcp", port: 53, targetPort: addresses.dnsPort, protocol: "TCP" },
]

/** The Service of the name server, which is a process on the node and no pod, so its endpoint is written by hand. */
export const corednsObjects: ReadonlyArray<Manifest> = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kube-dns", namespace: "kube-system", labels: { "k8s-app": "kube-dns" } },
    spec: { clusterIP: addresses.dns, ports },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "kube-dns-node", namespace: "kube-system", labels: { "kubernetes.io/service-name": "kube-dns" } },
    addressType: "IPv4",
    ports: ports.map(({ name, targetPort, protocol }) => ({ name, port: targetPort, protocol })),
    endpoints: [{ addresses: [addresses.node], conditions: { ready: true } }],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: corednsUser },
    rules: [
      { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: corednsUser },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: corednsUser },
    subjects: [{ kind: "User", name: corednsUser, apiGroup: "rbac.authorization.k8s.io" }],
  },
]

/** Starts the cluster's name server. */
export const startCoredns = async (processes: Processes, binary: string, kubeconfig: string): Promise<void> => {
  const file = join(places.config, "Corefile")
  writeFileSync(file, corefile(kubeconfig))
  await processes.start("coredns", binary, ["-conf", file])
}

/** Waits until a name of the cluster resolves through the name server's Service: CoreDNS and kube-proxy both work. */
export const namesResolve = async (processes: Processes): Promise<void> => {
  const resolver = new Resolver({ timeout: 250, tries: 1 })
  resolver.setServers([addresses.dns])
  await waitFor(
    "the names of the cluster",
    async () => (await resolver.resolve4(`kubernetes.default.svc.${addresses.domain}`)).includes(addresses.kubernetes),
    hopelessWithout(processes, "coredns", "kube-proxy"),
  )
}
