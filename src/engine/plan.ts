/** A plan is data: what to do, in which order, why, and when to look again. decide makes it, act runs it, conclude reports it. */
import type { WriteError } from "../errors.ts"
import type { KubernetesObject } from "../resources/meta.ts"
import { type Action, type AdminServer, line } from "./action.ts"

/** When to look again. */
export type Requeue =
  /** Nothing is due; a watch event or the resync brings the key back. */
  | { readonly _tag: "AwaitChange" }
  /** Milliseconds from now. `why` is a row of policies.ts. */
  | { readonly _tag: "After"; readonly delay: number; readonly why: string }

/** One version or one optional child. A failure ends its step; `next` goes on with the following steps. */
export interface Step {
  readonly why: string
  readonly actions: ReadonlyArray<Action>
  readonly onFailure: "stop" | "next"
}

/** What can be asked of an admin server: who serves what, or how much unfinished work each deployment has. */
export type LookKind = "routing" | "usage"

/** Something that cannot be decided without an answer asked no earlier than `since` (epoch milliseconds). */
export interface Need {
  readonly server: AdminServer
  readonly look: LookKind
  readonly since: number
}

/** While it stands, the server's look is polled and the key is woken when a number of one of `ids` changes. */
export interface Interest {
  readonly server: AdminServer
  readonly look: LookKind
  readonly ids: ReadonlyArray<string>
  /** Asks for nothing itself: the key is woken by what the answers to others, and our own writes, change for its ids. */
  readonly quiet?: true
}

/** `verdict` is what decide saw, in the kind's own terms; its status.ts turns it into conditions. */
export interface Plan<Verdict> {
  readonly steps: ReadonlyArray<Step>
  readonly requeue: Requeue
  readonly interests: ReadonlyArray<Interest>
  /** Asked for when the steps are done; each answer brings the key back. What does not depend on them goes on meanwhile. */
  readonly needs: ReadonlyArray<Need>
  readonly verdict: Verdict
}

/** What one action did. */
export type Outcome =
  | { readonly _tag: "Applied"; readonly action: Action; readonly changed: boolean; readonly object: KubernetesObject }
  /** A Create found the name taken. */
  | { readonly _tag: "Taken"; readonly action: Action; readonly object: KubernetesObject }
  | {
      readonly _tag: "Registered"
      readonly action: Action
      readonly id: string
      readonly services: ReadonlyArray<string>
      /** Services that the server still routes elsewhere, after about a second of asking. */
      readonly misrouted: ReadonlyArray<{ readonly service: string; readonly deploymentId: string }>
    }
  | { readonly _tag: "Done"; readonly action: Action }
  /** The lane of that server is taken; it wakes the key when its turn has come. */
  | { readonly _tag: "Parked"; readonly action: Action }
  /** A destructive action that was not carried out, because the object has changed since the snapshot. */
  | { readonly _tag: "Withheld"; readonly action: Action }

export interface Failure {
  readonly why: string
  readonly action: Action
  readonly error: WriteError
}

export interface Report {
  readonly outcomes: ReadonlyArray<Outcome>
  readonly failures: ReadonlyArray<Failure>
}

/** A source that was asked: a failure is a fact about the world, not an exception. */
export type Observed<A> =
  | {
      readonly _tag: "Seen"
      readonly value: A
      /** Epoch milliseconds of the question, not of the answer. */
      readonly askedAt: number
      /** Milliseconds from the question to the answer. */
      readonly took: number
    }
  | {
      readonly _tag: "Unseen"
      /** One line, without credentials. */
      readonly because: string
      readonly askedAt: number
      /** True when the server answered with a status other than 2xx, false when there was no usable answer. */
      readonly rejected: boolean
      /** When the answers began to fail: `askedAt` of the first failure in a row. */
      readonly since: number
    }
  /** Nobody has asked yet. */
  | { readonly _tag: "Unasked" }

export const awaitChange: Requeue = { _tag: "AwaitChange" }

/** The plan as people read it, one line an action. */
export const lines = ({ steps, needs }: Plan<unknown>): ReadonlyArray<string> => [
  ...steps.flatMap((step) => step.actions.map((action) => `${step.why}: ${line(action)}`)),
  ...needs.map(({ look, server }) => `need ${look} of ${server.key}`),
]
