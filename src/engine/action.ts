/** Everything the operator can do to the world. Closed: a new verb is a new line here, and the compiler asks act.ts for it. */
import type { Kind } from "../kubernetes/access.ts"

/** Where an object lives. Cluster-scoped kinds have no namespace. */
export interface Ref {
  readonly kind: Kind
  readonly namespace?: string
  readonly name: string
}

/** An object as the operator wants it; apiVersion, kind and name are added from the ref. */
export interface Desired {
  readonly ref: Ref
  /** JSON as it goes out; pod templates pass through unseen, so their type says nothing. */
  readonly body: { readonly [field: string]: unknown }
}

/** An admin API, as `register` names it. Two targets with equal keys are one server. */
export interface AdminServer {
  /** Canonical target without credentials; also the value of the registered-with annotation. */
  readonly key: string
  /** Base URL; the API's paths are appended to its path. */
  readonly base: string
}

/** Where a registration's id is written down, before its routing is confirmed: the id is true either way. */
export interface RecordOn {
  readonly ref: Ref
  readonly manager: string
  readonly idAnnotation: string
  /** Annotation for the key of the server that gave the id. */
  readonly serverAnnotation: string
}

export type Action =
  /** POST, so that a name that is taken is noticed. */
  | {
      readonly _tag: "Create"
      readonly object: Desired
      /** UID of the owner, and the labels by which we find our own: an object of that owner that lost them gets them back. */
      readonly owner: string
      readonly labels: { readonly [key: string]: string }
    }
  /** Server-side apply by one manager; nothing is sent when nothing would change. */
  | { readonly _tag: "Apply"; readonly object: Desired; readonly manager: string }
  /** The scale subresource. */
  | { readonly _tag: "Scale"; readonly ref: Ref; readonly replicas: number; readonly manager: string }
  /** Merge patch with nulls, for keys made by POST that server-side apply would not drop. */
  | {
      readonly _tag: "Drop"
      readonly ref: Ref
      readonly uid: string
      readonly resourceVersion: string
      readonly annotations: ReadonlyArray<string>
    }
  /** `orphan`: what it owns stays, and is taken over by whatever selects it next. */
  | { readonly _tag: "Delete"; readonly ref: Ref; readonly uid: string; readonly orphan?: true }
  /** Tells the node at that address to lay out the data of a new cluster; done if it has been done. */
  | { readonly _tag: "Provision"; readonly address: string }
  /** Register an endpoint and record its id on an object before its routing is confirmed. */
  | {
      readonly _tag: "Register"
      readonly server: AdminServer
      readonly endpoint: string
      readonly useHttp11: boolean | undefined
      /** True re-discovers a known endpoint and makes it the latest: a promotion. */
      readonly force: boolean
      readonly record: RecordOn
      /** The promoted deployment supersedes this one; absent for a first registration. */
      readonly supersedes: string | undefined
    }
  /** Deregister. The server makes no in-use check: only ever planned from a fresh look. */
  | {
      readonly _tag: "Forget"
      readonly server: AdminServer
      readonly deploymentId: string
      readonly services: ReadonlyArray<string> | undefined
    }
  /** Add or remove the finalizer: a merge patch of the whole list at a resourceVersion. */
  | { readonly _tag: "Hold" | "Release"; readonly ref: Ref; readonly resourceVersion: string; readonly finalizers: ReadonlyArray<string> }

/**
 * Actions that take something away for good, or stop pods that may be working. act checks the live object before the
 * first of them. Release is not one: its resourceVersion is check enough.
 */
export const isDestructive = (action: Action): boolean =>
  action._tag === "Delete" || action._tag === "Forget" || (action._tag === "Scale" && action.replicas === 0)

/** One line for logs, tests and people. */
export const line = (action: Action): string => {
  switch (action._tag) {
    case "Create":
      return `create ${path(action.object.ref)}`
    case "Apply":
      return `apply ${path(action.object.ref)} as ${action.manager}`
    case "Scale":
      return `scale ${path(action.ref)} to ${action.replicas}`
    case "Drop":
      return `drop ${action.annotations.join(", ")} from ${path(action.ref)}`
    case "Delete":
      return `delete ${path(action.ref)}${action.orphan === true ? " and leave its pods" : ""}`
    case "Provision":
      return `provision ${action.address}`
    case "Register":
      return `${action.force ? "promote" : "register"} ${action.endpoint}`
    case "Forget":
      return `forget ${action.deploymentId}`
    case "Hold":
      return `hold ${path(action.ref)}`
    case "Release":
      return `release ${path(action.ref)}`
  }
}

/** `ReplicaSet default/greeter-abc` */
export const path = (ref: Ref): string => `${ref.kind} ${ref.namespace === undefined ? "" : `${ref.namespace}/`}${ref.name}`
