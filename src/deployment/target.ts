/** Which admin server a ServiceDeployment, or one of its versions, belongs to (operator.md §3.6, §3.14). */
import type { AdminServer } from "../engine/action.ts"
import type { Register } from "../resources/generated/service-deployment.ts"

/** A field of the spec that makes no sense, and what to do about it. */
export interface Invalid {
  readonly _tag: "Invalid"
  readonly field: string
  readonly message: string
}

export interface Target {
  readonly _tag: "Target"
  readonly server: AdminServer
  /** Name of the ServiceCluster, when `register.cluster` is used: its readiness is a gate, its absence ends a deletion. */
  readonly cluster: string | undefined
}

/** What turns names into addresses. */
export interface Addresses {
  /** Suffix of in-cluster names, `cluster.local`. */
  readonly clusterDns: string
  /** Name of a cluster's client Service. */
  readonly clusterService: string
}

const field = "spec.restate.register"
const choices = ["cluster", "cloud", "service", "url"] as const
const adminPort = 9070

/** The server to register with, or the field that is wrong. Explicit null counts as absent. */
export const registerTarget = (register: Register | null | undefined, addresses: Addresses): Target | Invalid => {
  const given = choices.filter((choice) => register?.[choice] !== undefined && register[choice] !== null)
  if (given.length !== 1) {
    return invalid(
      field,
      `exactly one of ${choices.join(", ")} must be set, but ${given.length === 0 ? "none is" : `${given.join(" and ")} are`}`,
    )
  }
  if (register?.cluster) return target(`cluster/${register.cluster}`, addresses, register.cluster)
  if (register?.service) {
    const { namespace, name, port, path } = register.service
    return target(`service/${namespace}/${name}:${port ?? adminPort}${withSlash(path ?? "")}`, addresses)
  }
  if (register?.url !== undefined && register.url !== "") return urlTarget(register.url)
  return invalid(`${field}.${given[0]}`, given[0] === "cloud" ? "hosted environments are not supported yet" : "must not be empty")
}

/** The server that a registered-with annotation names; undefined when it was edited to nonsense. */
export const serverOf = (key: string, addresses: Addresses): AdminServer | undefined => {
  const base = baseOf(key, addresses)
  return base === undefined ? undefined : { key, base }
}

const baseOf = (key: string, addresses: Addresses): string | undefined => {
  const cluster = /^cluster\/([a-z0-9.-]+)$/.exec(key)?.[1]
  if (cluster !== undefined) return `http://${addresses.clusterService}.${cluster}.svc.${addresses.clusterDns}:${adminPort}`
  const service = /^service\/([a-z0-9-]+)\/([a-z0-9-]+):(\d{1,5})(\/.*)?$/.exec(key)
  if (service !== null) return `http://${service[2]}.${service[1]}.svc.${addresses.clusterDns}:${service[3]}${service[4] ?? ""}`
  const url = /^url\/(.+)$/.exec(key)?.[1]
  return url !== undefined && parseUrl(url) !== undefined ? url : undefined
}

const target = (key: string, addresses: Addresses, cluster?: string): Target | Invalid => {
  const server = serverOf(key, addresses)
  return server === undefined ? invalid(`${field}.${key.split("/")[0]}`, "is not a valid name") : { _tag: "Target", server, cluster }
}

const urlTarget = (text: string): Target | Invalid => {
  const url = parseUrl(text)
  if (url === undefined) return invalid(`${field}.url`, "must be an http or https URL, such as http://admin.example.com:9070")
  // The key goes into an annotation and into messages: no user, no password.
  const key = `url/${url.protocol}//${url.host}${withoutSlash(url.pathname)}`
  return { _tag: "Target", server: { key, base: withoutSlash(text) }, cluster: undefined }
}

const parseUrl = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined
}

const withSlash = (path: string): string => (path === "" || path.startsWith("/") ? withoutSlash(path) : `/${withoutSlash(path)}`)
const withoutSlash = (path: string): string => path.replace(/\/+$/, "")
const invalid = (where: string, message: string): Invalid => ({ _tag: "Invalid", field: where, message })
