/** One call of the operator to the admin API of the durable-execution server. */
export interface AdminRecord {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** `GET /services/{name}`: method and path without names, so that calls of one kind count as one. */
  readonly call: string
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** Milliseconds until the answer began. */
  readonly ms: number
}

/** Method and path template of a call. A proxy is asked for a whole URL, a server for a path; both are understood. */
export const callOf = (method: string, target: string): string => {
  const path = new URL(target, "http://admin").pathname
    .replace(/^\/deployments\/.+/, "/deployments/{id}")
    .replace(/^\/services\/.+/, "/services/{name}")
  return `${method} ${path}`
}
