/** Where the API server keeps what: request paths, and how people are told about an object. */
import type { Ref } from "../engine/action.ts"
import type { KindAccess } from "./access.ts"

/** `/apis/apps/v1`, or `/api/v1` for the core group. */
const root = ({ group, version }: KindAccess): string => (group === "" ? `/api/${version}` : `/apis/${group}/${version}`)

/** Path of all objects of a kind, in one namespace or in all of them. */
export const collectionPath = (access: KindAccess, namespace?: string): string =>
  namespace === undefined || !access.namespaced
    ? `${root(access)}/${access.plural}`
    : `${root(access)}/namespaces/${encodeURIComponent(namespace)}/${access.plural}`

/** Path of one object, or of one of its subresources. */
export const objectPath = (access: KindAccess, ref: Omit<Ref, "kind">, subresource?: string): string =>
  `${collectionPath(access, ref.namespace)}/${encodeURIComponent(ref.name)}${subresource === undefined ? "" : `/${subresource}`}`

/** `apps/v1`, or `v1` for the core group. */
export const apiVersion = ({ group, version }: KindAccess): string => (group === "" ? version : `${group}/${version}`)

/** `replicasets.apps`; also the value of the metric label, so there are as many as kinds. */
export const resource = ({ group, plural }: KindAccess): string => (group === "" ? plural : `${plural}.${group}`)

/** `replicasets.apps "default/greeter-abc"`, as the API server says it. */
export const subject = (access: KindAccess, ref: Omit<Ref, "kind">): string =>
  `${resource(access)} "${ref.namespace === undefined ? "" : `${ref.namespace}/`}${ref.name}"`

/** Appends a query; undefined values are left out. */
export const withQuery = (path: string, query: { readonly [name: string]: string | undefined }): string => {
  const text = Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join("&")
  return text === "" ? path : `${path}?${text}`
}
