/** The operator's calls of one story, so that the same call is found again when the story is played once more. */
import { describeRequest, isWatch, type ProxiedRequest } from "../support/fault-proxy.ts"

/** The n-th of its kind. How many status writes and polls there are varies from run to run, their kinds do not. */
export interface Call {
  readonly to: "kubernetes" | "admin"
  readonly what: string
  readonly nth: number
  readonly write: boolean
}

export class Calls {
  readonly #seen: Array<Call> = []

  /** The next call; `undefined` for lists, watches and events, which no step waits for. */
  count(to: Call["to"], request: ProxiedRequest, write: boolean): Call | undefined {
    const what = describeRequest(request)
    if (isWatch(request) || isList(to, request) || what.endsWith("/events") || what.includes("/events/")) return undefined
    const call = { to, what, nth: this.#seen.filter((before) => before.what === what && before.to === to).length + 1, write }
    this.#seen.push(call)
    return call
  }

  get all(): ReadonlyArray<Call> {
    return this.#seen
  }
}

export const isSame = (one: Call, other: Call): boolean => one.to === other.to && one.what === other.what && one.nth === other.nth

/** `…/replicasets` but not `…/replicasets/name`. */
const isList = (to: Call["to"], { method, url }: ProxiedRequest): boolean =>
  to === "kubernetes" && method === "GET" && /^\/(api|apis\/[^/]+)\/[^/]+(\/namespaces\/[^/]+)?\/[^/]+$/.test(url.split("?")[0] ?? "")
