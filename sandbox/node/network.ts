import { addresses } from "./addresses.ts"
import { attempt, command } from "./command.ts"

/** The firewall table that keeps the node's traffic on the machine. */
const guard = "service_operator_sandbox"

/** The tables of kube-proxy's nftables mode, by family. */
const proxyTables = [
  ["ip", "kube-proxy"],
  ["ip6", "kube-proxy"],
] as const

// Nobody outside reaches the node's addresses, nor the API server, which listens everywhere; no pod reaches the outside.
const guardRules = (apiPort: number): string => `
table inet ${guard} {
  chain input {
    type filter hook input priority -10; policy accept;
    iifname != { "lo", "${addresses.bridge}" } ip daddr { ${addresses.pods}, ${addresses.services} } drop
    iifname != { "lo", "${addresses.bridge}" } tcp dport ${apiPort} drop
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname "${addresses.bridge}" oifname != "${addresses.bridge}" reject
    iifname != "${addresses.bridge}" oifname "${addresses.bridge}" drop
  }
}
`

/** Makes the bridge that pods hang on, with the routes to it and, first of all, the firewall around it. */
export const makeNetwork = async (apiPort: number): Promise<void> => {
  const { bridge, node, pods, services } = addresses
  await refuseOverlap()
  await command("nft", ["-f", "-"], { input: guardRules(apiPort) })
  await command("ip", ["link", "add", bridge, "type", "bridge"])
  await command("ip", ["address", "add", `${node}/${pods.split("/")[1]}`, "dev", bridge])
  await command("ip", ["link", "set", bridge, "up"])
  // Without it a cluster address for which kube-proxy has no rule yet would leave through the default route.
  await command("ip", ["route", "add", services, "dev", bridge, "src", node])
}

/** Removes everything of {@link makeNetwork}, and the rules that kube-proxy leaves behind. */
export const removeNetwork = async (): Promise<void> => {
  // The pods' cables by hand: a namespace, and its cable with it, may outlive its last process. One was seen a minute
  // later, most likely held by a connection that waited for an answer.
  for (const cable of await cables()) await attempt("ip", ["link", "delete", cable])
  // Its routes go with it.
  await attempt("ip", ["link", "delete", addresses.bridge])
  for (const [family, table] of [...proxyTables, ["inet", guard] as const]) {
    await attempt("nft", ["delete", "table", family, table])
  }
}

/** This machine's ends of the pods' cables. */
const cables = async (): Promise<ReadonlyArray<string>> => {
  if (!(await attempt("ip", ["link", "show", addresses.bridge]))) return []
  const links: ReadonlyArray<{ readonly ifname?: unknown }> = JSON.parse(
    await command("ip", ["-json", "link", "show", "master", addresses.bridge]),
  )
  return links.flatMap(({ ifname }) => (typeof ifname === "string" ? [ifname] : []))
}

/** Answers with sentences about what of the network is still there; none after {@link removeNetwork}. */
export const networkLeft = async (): Promise<ReadonlyArray<string>> => {
  const left: string[] = []
  if (await attempt("ip", ["link", "show", addresses.bridge])) left.push(`the bridge ${addresses.bridge}`)
  for (const [family, table] of [...proxyTables, ["inet", guard] as const]) {
    if (await attempt("nft", ["list", "table", family, table])) left.push(`the firewall table ${family} ${table}`)
  }
  return left
}

const refuseOverlap = async (): Promise<void> => {
  const routes: ReadonlyArray<{ readonly dst?: unknown; readonly dev?: unknown }> = JSON.parse(
    await command("ip", ["-json", "-4", "route", "show"]),
  )
  for (const { dst, dev } of routes) {
    if (typeof dst !== "string" || dst === "default") continue
    for (const own of [addresses.pods, addresses.services]) {
      if (overlap(dst, own)) {
        throw new Error(`the real node uses ${own}, but this machine has a route to ${dst} (${String(dev)}); use the stand-in node here`)
      }
    }
  }
}

const range = (network: string): readonly [first: number, last: number] => {
  const [address = "", length = "32"] = network.split("/")
  const first = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
  return [first, first + 2 ** (32 - Number(length)) - 1]
}

const overlap = (left: string, right: string): boolean => {
  const [leftFirst, leftLast] = range(left)
  const [rightFirst, rightLast] = range(right)
  return leftFirst <= rightLast && rightFirst <= leftLast
}
