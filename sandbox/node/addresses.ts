/** The addresses of the one node; they are private ones, and a firewall table keeps them on the machine. */
export const addresses = {
  /** An interface's name has at most 15 characters. */
  bridge: "svc-op-sandbox",
  pods: "10.244.0.0/24",
  /** The bridge's own address is the node's: the API server refuses to announce a loopback address. */
  node: "10.244.0.1",
  services: "10.96.0.0/16",
  kubernetes: "10.96.0.1",
  dns: "10.96.0.10",
  dnsPort: 5353,
  domain: "cluster.local",
} as const
