/** The ports of a server. They are part of its wire protocol and the same in both vocabularies. */

export const ports = { ingress: 8080, admin: 9070, node: 5122 } as const

/** All three speak HTTP/2 without TLS beside HTTP/1.1. */
export const appProtocol = "kubernetes.io/h2c"
