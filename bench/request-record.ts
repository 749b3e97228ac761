/** One request of the operator to the API server, as the proxy between them saw it. */
export interface RequestRecord {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Kubernetes' verb; server-side apply is told apart from other patches. */
  readonly verb: Verb
  /** `replicasets.apps`, `servicedeployments.durable.dev/status`, or the path of what is no resource. */
  readonly resource: string
  /** Name of the object; empty for collections. */
  readonly name: string
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** Milliseconds until the answer began. */
  readonly ms: number
}

/** What a request means to Kubernetes. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "apply" | "delete"

const reading: ReadonlySet<Verb> = new Set(["get", "list", "watch"])

/** Whether a request changes something, or tries to. */
export const isWrite = ({ verb }: Pick<RequestRecord, "verb">): boolean => !reading.has(verb)

/** Lists and watches are the price of a start, not of an object: they are counted apart. */
export const isWatch = ({ verb }: Pick<RequestRecord, "verb">): boolean => verb === "list" || verb === "watch"

/** Reads verb, resource and name off a request line. */
export const classify = (method: string, target: string, contentType = ""): Pick<RequestRecord, "verb" | "resource" | "name"> => {
  const url = new URL(target, "http://api")
  const segments = url.pathname.split("/").filter((segment) => segment !== "")
  const core = segments[0] === "api"
  const rest = segments.slice(core ? 2 : 3)
  if ((!core && segments[0] !== "apis") || rest.length === 0) return { verb: "get", resource: url.pathname, name: "" }
  const [plural = "", name = "", subresource] = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest
  const group = core ? "" : `.${segments[1] ?? ""}`
  const resource = `${plural}${group}${subresource === undefined ? "" : `/${subresource}`}`
  return { verb: verbOf(method, name, url.searchParams, contentType), resource, name }
}

const verbOf = (method: string, name: string, query: URLSearchParams, contentType: string): Verb => {
  switch (method) {
    case "POST":
      return "create"
    case "PUT":
      return "update"
    case "PATCH":
      return contentType.startsWith("application/apply-patch") ? "apply" : "patch"
    case "DELETE":
      return "delete"
    default: {
      const watch = query.get("watch")
      if (watch === "true" || watch === "1") return "watch"
      return name === "" ? "list" : "get"
    }
  }
}
