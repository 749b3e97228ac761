/** Times as Kubernetes writes them: RFC 3339 in whole seconds. */

/** The second that this moment (epoch milliseconds) is in. */
export const rfc3339 = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z")

/** The first second that is not before this moment: a deadline must never come early. */
export const rfc3339NotBefore = (milliseconds: number): string => rfc3339(Math.ceil(milliseconds / 1000) * 1000)
