/** The ports of a tunnel client; the same in both vocabularies. */
import type { Given } from "../given.ts"

export interface Port {
  readonly name: string
  readonly number: number
  /** Speaks HTTP/2 without TLS beside HTTP/1.1. */
  readonly h2c: boolean
}

export const health: Port = { name: "health", number: 9090, h2c: false }

/** Whoever reaches these speaks with the environment without a token: only if they are asked for. */
export const ports = ({ environment }: Given): ReadonlyArray<Port> => [
  ...(remoteProxy(environment)
    ? [
        { name: "ingress", number: 8080, h2c: true },
        { name: "admin", number: 9070, h2c: true },
      ]
    : []),
  health,
]

export const remoteProxy = ({ spec }: Given["environment"]): boolean => spec.tunnel?.remoteProxy === true
