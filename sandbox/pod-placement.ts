import type { Pod } from "./kubernetes-types.ts"

/** What the stand-in node says it has. No pod is refused for what others use, only for what it asks itself. */
export const capacity = { cpu: "64", memory: "256Gi", "ephemeral-storage": "1Ti", pods: "1000" } as const

const suffixes: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
}

/** The number behind a Kubernetes quantity such as `100m` or `1Gi`. */
export const quantity = (text: string | number): number => {
  const match = /^([0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)$/.exec(String(text))
  const factor = match?.[2] === "" ? 1 : suffixes[match?.[2] ?? "none"]
  if (match?.[1] === undefined || factor === undefined) throw new Error(`not a quantity: ${text}`)
  return Number(match[1]) * factor
}

/** Why no node takes this pod, in the words of the scheduler; `undefined` when the stand-in node takes it. */
export const unschedulable = (pod: Pod, labels: Readonly<Record<string, string>>): string | undefined => {
  const mismatch = Object.entries(pod.spec.nodeSelector ?? {}).some(([key, value]) => labels[key] !== value)
  if (mismatch) return "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
  const requested = new Map<string, number>()
  for (const container of pod.spec.containers) {
    for (const [resource, amount] of Object.entries(container.resources?.requests ?? {})) {
      requested.set(resource, (requested.get(resource) ?? 0) + quantity(amount))
    }
  }
  const has: Readonly<Record<string, string>> = capacity
  const short = [...requested].filter(([resource, amount]) => amount > quantity(has[resource] ?? "0"))
  if (short.length === 0) return undefined
  return `0/1 nodes are available: ${short.map(([resource]) => `1 Insufficient ${resource}`).join(", ")}.`
}
