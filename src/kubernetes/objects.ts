/** The border between the wire and the code: what arrives is checked for what every object must have, and trimmed to what is read. */
import { Predicate } from "effect"
import { sha256 } from "../formats/sha256.ts"
import type { KubernetesObject, ObjectMeta } from "../resources/meta.ts"
import type { Vocabulary } from "../vocabulary.ts"
import type { Kind } from "./access.ts"
import { parse, parseExactly } from "./json.ts"
import type { Objects } from "./kubernetes.ts"
import { SharedFields } from "./managed-fields.ts"

type Fields = { readonly [field: string]: unknown }

/** Copy of the whole object that `kubectl apply` leaves behind; nobody here reads it, and it doubles an object's size. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

/** Parts of a kind that are not kept. The server has checked the rest against its schema. */
const trims: { readonly [K in Kind]?: (object: Fields) => Fields } = {
  // The template is written once, at creation, and never compared: its JSON is in an annotation. It is most of the object.
  ReplicaSet: (object) => {
    const spec = fieldsOf(object["spec"])
    return {
      ...object,
      spec: pick(spec, ["replicas", "minReadySeconds", "selector"]),
      status: pick(fieldsOf(object["status"]), replicaSetStatus),
    }
  },
  Service: (object) => pick(object, ["apiVersion", "kind", "metadata", "spec"]),
  // Its status is a heartbeat of 15 s and nobody's business here.
  HorizontalPodAutoscaler: (object) => pick(object, ["apiVersion", "kind", "metadata", "spec"]),
  Secret: (object) => withoutContent(object),
  EndpointSlice: (object) => {
    const endpoints = Array.isArray(object["endpoints"]) ? object["endpoints"] : []
    const { managedFields: _, annotations: __, ...metadata } = fieldsOf(object["metadata"])
    return {
      ...pick(object, ["apiVersion", "kind"]),
      metadata,
      endpoints: endpoints.map((endpoint: unknown) => pick(fieldsOf(endpoint), ["addresses", "conditions"])),
    }
  },
}

/**
 * The token must reach no log, event, condition or metric: nobody can tell what nobody holds. Annotations go too, because
 * tools leave copies of the whole in them. The UID is random and known only to those who may read the Secret, so that a
 * digest that others see in an annotation of a pod cannot be compared with guesses.
 */
const withoutContent = (object: Fields): Fields => {
  const { name, namespace, resourceVersion, uid } = fieldsOf(object["metadata"])
  const filled = Object.entries(fieldsOf(object["data"])).filter(([, value]) => typeof value === "string" && value !== "")
  return {
    ...pick(object, ["apiVersion", "kind"]),
    metadata: { name, namespace, uid, resourceVersion },
    digests: Object.fromEntries(filled.map(([key, value]) => [key, sha256(`${String(uid)} ${String(value)}`).toString("hex")])),
  }
}

const replicaSetStatus = ["replicas", "readyReplicas", "availableReplicas", "observedGeneration", "conditions"]

/** Kinds that users' JSON of any shape passes through. Integers beyond 2^53 survive there; parsing them costs a little more. */
const exact: ReadonlySet<Kind> = new Set<Kind>(["deployment"])

/** Reads objects of each kind from JSON. One for a process: equal field trees are shared between all objects it has read. */
export class ObjectReader {
  readonly #shared = new SharedFields()
  readonly #managers: ReadonlySet<string>

  constructor(vocabulary: Vocabulary) {
    this.#managers = new Set(Object.values(vocabulary.managers))
  }

  /** JSON text as this kind needs it; undefined when it is not JSON. */
  json(kind: Kind, text: string): unknown {
    try {
      return exact.has(kind) ? parseExactly(text) : parse(text)
    } catch {
      return undefined
    }
  }

  /** An object of the kind, trimmed; undefined when it is none. Items of lists carry neither apiVersion nor kind: give the list's. */
  read<K extends Kind>(kind: K, value: unknown, type?: { readonly apiVersion: string; readonly kind: string }): Objects[K] | undefined {
    if (!Predicate.isObject(value) || !isMetadata(value["metadata"])) return undefined
    const { managedFields, ...metadata } = value["metadata"]
    const entries = this.#shared.entries(managedFields, this.#managers)
    const annotations =
      metadata.annotations === undefined || !(lastApplied in metadata.annotations)
        ? metadata.annotations
        : without(metadata.annotations, lastApplied)
    const whole = {
      ...(type ?? { apiVersion: value["apiVersion"], kind: value["kind"] }),
      ...value,
      metadata: {
        ...metadata,
        ...(annotations === undefined ? {} : { annotations }),
        ...(entries === undefined ? {} : { managedFields: entries }),
      },
    }
    const trimmed = trims[kind]?.(whole) ?? whole
    return isObjectOf(kind, trimmed) ? trimmed : undefined
  }
}

/** The metadata of anything that has some. */
export const metadataOf = (value: unknown): ObjectMeta | undefined =>
  Predicate.isObject(value) && isMetadata(value["metadata"]) ? value["metadata"] : undefined

const fieldsOf = (value: unknown): Fields => (Predicate.isObject(value) ? value : {})

const pick = (object: Fields, fields: ReadonlyArray<string>): Fields => {
  const kept: Record<string, unknown> = {}
  for (const field of fields) if (object[field] !== undefined) kept[field] = object[field]
  return kept
}

const without = (map: { readonly [key: string]: string }, key: string): { readonly [key: string]: string } => {
  const { [key]: _, ...rest } = map
  return rest
}

const isMetadata = (value: unknown): value is ObjectMeta =>
  Predicate.isObject(value) &&
  typeof value["name"] === "string" &&
  typeof value["uid"] === "string" &&
  typeof value["resourceVersion"] === "string" &&
  (value["annotations"] === undefined || Predicate.isObject(value["annotations"])) &&
  (value["labels"] === undefined || Predicate.isObject(value["labels"]))

/** What the code reads without asking whether it is there. Everything deeper is optional in the types, or the schema's word. */
const isObjectOf = <K extends Kind>(kind: K, value: Fields): value is Objects[K] & Fields & KubernetesObject => {
  if (typeof value["apiVersion"] !== "string" || typeof value["kind"] !== "string" || !isMetadata(value["metadata"])) return false
  const { spec } = value
  switch (kind) {
    case "deployment":
    case "environment":
      // What is wrong with the rest is said by its status: an object that cannot be seen cannot be told.
      return Predicate.isObject(spec)
    case "ReplicaSet":
      return Predicate.isObject(spec) && Predicate.isObject(spec["selector"])
    case "Service":
    case "HorizontalPodAutoscaler":
    case "ServerService":
    case "StatefulSet":
    case "TunnelDeployment":
    case "TunnelService":
    case "PersistentVolumeClaim":
      return Predicate.isObject(spec)
    case "Secret":
      return Predicate.isObject(value["digests"])
    default:
      return true
  }
}
