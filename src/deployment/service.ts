/** The Service of a version: the address under which the version is registered (operator.md §3.4). */
import type { Desired } from "../engine/action.ts"
import type { Step } from "../engine/plan.ts"
import type { ServiceDeployment } from "../resources/generated/service-deployment.ts"
import type { ReplicaSet } from "../resources/kubernetes.ts"
import { ownerReference } from "../resources/meta.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { managedBy, propagatedAnnotations, propagatedLabels } from "./propagation.ts"

/** Port of every versioned Service, and the container port when the template names none. */
export const endpointPort = 9080

/** Owned by the ReplicaSet, so that it goes with it. */
export const service = (deployment: ServiceDeployment, owner: ReplicaSet, vocabulary: Vocabulary): Desired => ({
  ref: { kind: "Service", namespace: deployment.metadata.namespace ?? "", name: owner.metadata.name },
  body: {
    metadata: {
      labels: { ...propagatedLabels(deployment, vocabulary), ...managedBy(deployment, vocabulary) },
      annotations: propagatedAnnotations(deployment, vocabulary),
      ownerReferences: [{ ...ownerReference(owner) }],
    },
    spec: {
      type: "ClusterIP",
      selector: { ...owner.spec.selector.matchLabels },
      ports: [
        {
          name: vocabulary.portName,
          port: endpointPort,
          protocol: "TCP",
          targetPort: targetPort(podSpecOf(owner, vocabulary), vocabulary),
        },
      ],
    },
  },
})

/** Makes sure of it. The server calls a version as long as it has work, so an old one needs its Service as much as the latest. */
export const address = (deployment: ServiceDeployment, set: ReplicaSet, vocabulary: Vocabulary): Step => ({
  why: `address of ${set.metadata.name}`,
  actions: [{ _tag: "Apply", object: service(deployment, set, vocabulary), manager: vocabulary.managers.main }],
  onFailure: "stop",
})

/** The version's own template, as it was recorded when the ReplicaSet was made: the spec may be about another one by now. */
const podSpecOf = ({ metadata }: ReplicaSet, vocabulary: Vocabulary): Fields => {
  const parsed = parse(metadata.annotations?.[vocabulary.annotations.podTemplate] ?? "")
  return isFields(parsed) && isFields(parsed["spec"]) ? parsed["spec"] : {}
}

/** undefined for an annotation that was edited to nonsense. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The first container port with our name, else the first of all, else 9080. The template is free-form: nothing about it is certain. */
const targetPort = (podSpec: Fields, vocabulary: Vocabulary): number => {
  const ports = list(podSpec["containers"]).flatMap((container) => list(container["ports"]))
  const port = ports.find(({ name }) => name === vocabulary.portName) ?? ports[0]
  return typeof port?.["containerPort"] === "number" ? port["containerPort"] : endpointPort
}

type Fields = { readonly [field: string]: unknown }
const list = (value: unknown): ReadonlyArray<Fields> => (Array.isArray(value) ? value.filter(isFields) : [])
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null
