/** Events on objects: each piece of news is sent once, repeats are counted and told at most every half hour. */
import { Clock, Effect, Layer } from "effect"
import { Announcer } from "../engine/announcer.ts"
import type { Announcement } from "../engine/kind.ts"
import { KubernetesWriter } from "../kubernetes/kubernetes.ts"
import type { Json, KubernetesObject } from "../resources/meta.ts"

export interface Reporter {
  /** The operator's name. */
  readonly controller: string
  /** Which copy of it: the pod's name, or the host's. */
  readonly instance: string
}

/** Milliseconds between two tellings of the same news; and of news that comes back after other news. */
export const quiet = { repeated: 1_800_000, returned: 60_000 } as const

/** Objects, and reasons of one object, that are remembered; beyond them the one not used for longest is forgotten, and would be told anew. */
const limits = { objects: 10_000, reasons: 16 } as const

/** Milliseconds that an event may hold up a pass. */
const patience = 5_000

/** Bytes of UTF-8 that the API server takes as a note. */
const noteLimit = 1024

/** What was told about one object for one reason. */
interface Told {
  readonly subject: string
  readonly event: string
  count: number
  sentAt: number
}

interface Memory {
  readonly told: Map<string, Told>
  last: string | undefined
}

/** Sends what is announced as `events.k8s.io/v1`. Failures are logged, and the news is tried again when it is announced again. */
export const layer = (
  reporter: Reporter,
  waits: { readonly [W in keyof typeof quiet]: number } = quiet,
): Layer.Layer<Announcer, never, KubernetesWriter> =>
  Layer.effect(
    Announcer,
    Effect.gen(function* () {
      const writer = yield* KubernetesWriter
      const memory = new Map<string, Memory>()
      return Announcer.of({
        announce: Effect.fnUntraced(
          function* (object: KubernetesObject, announcement: Announcement) {
            const now = yield* Clock.currentTimeMillis
            const about = remember(memory, object.metadata.uid, () => ({ told: new Map<string, Told>(), last: undefined }), limits.objects)
            const returned = about.last !== announcement.reason
            about.last = announcement.reason
            const told = about.told.get(announcement.reason)
            const subject = subjectOf(announcement)
            if (told !== undefined && told.subject === subject) {
              told.count += 1
              if (now - told.sentAt < (returned ? waits.returned : waits.repeated)) return
              told.sentAt = now
              const series = { count: told.count, lastObservedTime: microTime(now) }
              const patched = yield* Effect.result(writer.patchEvent(namespaceOf(object), told.event, { series }))
              if (patched._tag === "Success") return
              // The API server forgets events after an hour or so: then it is told as new.
              if (patched.failure._tag !== "Conflict") return yield* patched.failure
            }
            const event = `${object.metadata.name.slice(0, 220)}.${crypto.randomUUID().slice(0, 18).replaceAll("-", "")}`
            yield* writer.createEvent(namespaceOf(object), body(reporter, object, announcement, event, now))
            remember(about.told, announcement.reason, () => ({ subject, event, count: 1, sentAt: now }), limits.reasons, true)
          },
          Effect.timeout(patience),
          Effect.catch((error) =>
            Effect.annotateLogs(Effect.logWarning("an event could not be sent"), {
              error: error._tag,
              detail: "detail" in error ? error.detail : error.message,
            }),
          ),
        ),
      })
    }),
  )

/** Events of cluster-scoped objects live in `default`, where kubectl looks for them. */
const namespaceOf = (object: KubernetesObject): string => object.metadata.namespace ?? "default"

/** News is the same when it differs in counts only ("3 invocations left"). Digits that are part of a name or an id count as different. */
export const subjectOf = ({ type, note }: Pick<Announcement, "type" | "note">): string =>
  `${type} ${note.replace(/(?<![\w.:/-])\d+(?![\w:/-])/g, "#")}`

/** The beginning of a text that fits into the limit in UTF-8, cut between code points; an ellipsis shows the cut. */
export const cut = (text: string, bytes = noteLimit): string => {
  const encoder = new TextEncoder()
  if (encoder.encode(text).length <= bytes) return text
  const ellipsis = "…"
  const room = bytes - encoder.encode(ellipsis).length
  let size = 0
  let end = 0
  for (const point of text) {
    size += encoder.encode(point).length
    if (size > room) break
    end += point.length
  }
  return text.slice(0, end) + ellipsis
}

const body = (
  reporter: Reporter,
  { apiVersion, kind, metadata }: KubernetesObject,
  { type, reason, note, action }: Announcement,
  name: string,
  now: number,
): { readonly [field: string]: Json } => ({
  metadata: { name, namespace: metadata.namespace ?? "default" },
  eventTime: microTime(now),
  reportingController: reporter.controller,
  reportingInstance: reporter.instance.slice(0, 128),
  type,
  reason,
  note: cut(note),
  action,
  regarding: {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
  },
})

/** Kubernetes' MicroTime has six digits after the point. */
const microTime = (millis: number): string => new Date(millis).toISOString().replace("Z", "000Z")

/** What is under a key, made if need be (or anew), and moved to the end of a map that forgets from its beginning. */
const remember = <V>(map: Map<string, V>, key: string, make: () => V, limit: number, anew = false): V => {
  const known = anew ? undefined : map.get(key)
  const value = known ?? make()
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= limit) break
    map.delete(oldest)
  }
  return value
}
