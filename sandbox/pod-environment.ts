import type { KubernetesClient } from "./kubernetes-client.ts"
import type { Container, EnvVar, KeyRef, KubernetesObject, Pod } from "./kubernetes-types.ts"

/** A container names a ConfigMap, Secret, key or field that is not there; the container cannot be made. */
export class ConfigError extends Error {}

interface KeyHolder extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>
}

/** What a pod's variables may ask about the place where it runs. */
export interface PodPlace {
  readonly nodeName: string
  /** The address that the pod's programs can listen on. */
  readonly listenAddress: string
}

const mapEntry = /^metadata\.(?<map>labels|annotations)\['(?<key>[^']+)'\]$/

const fieldOf = (pod: Pod, place: PodPlace, path: string): string => {
  const entry = mapEntry.exec(path)?.groups
  if (entry !== undefined) {
    const map = entry["map"] === "labels" ? pod.metadata.labels : pod.metadata.annotations
    return map?.[entry["key"] ?? ""] ?? ""
  }
  const fields: Readonly<Record<string, string | undefined>> = {
    "metadata.name": pod.metadata.name,
    "metadata.namespace": pod.metadata.namespace,
    "metadata.uid": pod.metadata.uid,
    "spec.nodeName": place.nodeName,
    "spec.serviceAccountName": pod.spec.serviceAccountName,
    // A program asks for its address in order to listen on it, and only the loopback one exists on this machine.
    "status.podIP": place.listenAddress,
    "status.podIPs": place.listenAddress,
    "status.hostIP": "127.0.0.1",
  }
  const value = fields[path]
  if (value === undefined) throw new ConfigError(`the stand-in node does not know the field ${path}`)
  return value
}

/** Replaces `$(NAME)` by known variables, as Kubernetes does; `$$` stands for a dollar sign. */
export const expand = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replace(/\$\$|\$\(([^)]+)\)/g, (whole, name?: string) => (name === undefined ? "$" : (variables[name] ?? whole)))

/** The variables of a container, in the order in which they are written. */
export const environmentOf = async (
  client: KubernetesClient,
  pod: Pod,
  container: Container,
  place: PodPlace,
  initial: Readonly<Record<string, string>>,
): Promise<Record<string, string>> => {
  const variables: Record<string, string> = { ...initial }
  const collection = `/api/v1/namespaces/${pod.metadata.namespace ?? "default"}`

  const keyOf = async (kind: "configmaps" | "secrets", ref: KeyRef): Promise<string | undefined> => {
    const value = (await client.find<KeyHolder>(`${collection}/${kind}/${ref.name}`))?.data?.[ref.key]
    if (value === undefined && ref.optional !== true) {
      throw new ConfigError(`couldn't find key ${ref.key} in ${kind.slice(0, -1)} ${ref.name}`)
    }
    return value === undefined || kind === "configmaps" ? value : Buffer.from(value, "base64").toString("utf8")
  }
  const valueOf = async (variable: EnvVar): Promise<string | undefined> => {
    const { fieldRef, configMapKeyRef, secretKeyRef } = variable.valueFrom ?? {}
    if (fieldRef !== undefined) return fieldOf(pod, place, fieldRef.fieldPath)
    if (configMapKeyRef !== undefined) return keyOf("configmaps", configMapKeyRef)
    if (secretKeyRef !== undefined) return keyOf("secrets", secretKeyRef)
    return expand(variable.value ?? "", variables)
  }
  for (const variable of container.env ?? []) {
    const value = await valueOf(variable)
    if (value !== undefined) variables[variable.name] = value
  }
  return variables
}
