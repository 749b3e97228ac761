/** The pods of a server (operator.md §2.8). */
import type { Desired } from "../../engine/action.ts"
import { restrictedContainer, restrictedPod } from "../../resources/pod-security.ts"
import { childAnnotations, childLabels, childMetadata, clusterSelector, type Given } from "../given.ts"
import { configFile, configName } from "./configuration.ts"
import { environment } from "./environment.ts"
import { ports } from "./ports.ts"
import { keyVolume, signingKeyMount } from "./signing-key.ts"
import { caAnnotation, caMounts, caVolumes, combine } from "./trusted-ca.ts"

/** Name of the claim template, and of the volume that it makes. */
export const storage = "storage"

export const statefulSet = (given: Given, replicas: number): Desired => {
  const { cluster, settings } = given
  const { compute } = cluster.spec
  return {
    ref: { kind: "StatefulSet", namespace: cluster.metadata.name, name: settings.vocabulary.service },
    body: {
      metadata: childMetadata(given),
      spec: {
        replicas,
        selector: { matchLabels: clusterSelector(given) },
        serviceName: settings.vocabulary.server.nodes,
        // Several nodes that have died must come back together, or the quorum of the metadata they hold is lost.
        podManagementPolicy: "Parallel",
        template: {
          metadata: {
            labels: { ...compute.labels, ...childLabels(given) },
            annotations: { ...compute.annotations, ...childAnnotations(given), ...caAnnotation(given) },
          },
          spec: podSpec(given),
        },
        volumeClaimTemplates: [claimTemplate(given)],
      },
    },
  }
}

const podSpec = (given: Given) => {
  const { compute } = given.cluster.spec
  const initContainers = [...combine(given), ...(compute.sidecars ?? []).map((sidecar) => ({ ...sidecar, restartPolicy: "Always" }))]
  return {
    serviceAccountName: given.settings.vocabulary.service,
    automountServiceAccountToken: false,
    securityContext: restrictedPod,
    ...(initContainers.length === 0 ? {} : { initContainers }),
    containers: [container(given)],
    affinity: compute.affinity,
    tolerations: compute.tolerations,
    nodeSelector: compute.nodeSelector,
    topologySpreadConstraints: compute.topologySpreadConstraints,
    priorityClassName: compute.priorityClassName,
    dnsPolicy: compute.dnsPolicy,
    dnsConfig: compute.dnsConfig,
    imagePullSecrets: compute.imagePullSecrets,
    terminationGracePeriodSeconds: compute.terminationGracePeriodSeconds ?? 60,
    volumes: podVolumes(given),
  }
}

/** In the order in which they stand in the pod. */
export const podVolumes = (given: Given): ReadonlyArray<{ readonly name: string; readonly [field: string]: unknown }> => {
  const key = keyVolume(given)
  return [
    { name: "tmp", emptyDir: {} },
    { name: "config", configMap: { name: configName(given), items: [{ key: configFile, path: configFile }] } },
    ...(key === undefined ? [] : [key]),
    ...caVolumes(given),
    ...(given.cluster.spec.compute.extraVolumes ?? []),
  ]
}

/** Of the server's container. */
export const mounts = (
  given: Given,
): ReadonlyArray<{ readonly name: string; readonly mountPath: string; readonly [field: string]: unknown }> => {
  const key = keyVolume(given)
  return [
    { name: storage, mountPath: given.settings.vocabulary.server.dataPath },
    { name: "tmp", mountPath: "/tmp" },
    { name: "config", mountPath: "/config", readOnly: true },
    ...(key === undefined ? [] : [{ name: key.name, mountPath: signingKeyMount, readOnly: true }]),
    ...caMounts(given),
    ...(given.cluster.spec.compute.extraVolumeMounts ?? []),
  ]
}

const container = (given: Given) => {
  const { compute } = given.cluster.spec
  return {
    name: given.settings.vocabulary.server.container,
    image: compute.image,
    imagePullPolicy: compute.imagePullPolicy,
    command: compute.command,
    args: compute.args,
    lifecycle: compute.lifecycle,
    resources: compute.resources,
    ports: [
      { name: "ingress", containerPort: ports.ingress, protocol: "TCP" },
      { name: "admin", containerPort: ports.admin, protocol: "TCP" },
      { name: "metrics", containerPort: ports.node, protocol: "TCP" },
    ],
    env: environment(given),
    readinessProbe: { httpGet: { path: "/health", port: ports.admin }, initialDelaySeconds: 30 },
    securityContext: restrictedContainer,
    volumeMounts: mounts(given),
  }
}

const claimTemplate = (given: Given) => {
  const { storageClassName, storageRequestBytes, volumeAttributesClassName } = given.cluster.spec.storage
  return {
    // Only what can never change: the claims are not touched when the cluster's own labels do.
    metadata: { name: storage, labels: clusterSelector(given) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName,
      volumeAttributesClassName,
      resources: { requests: { storage: String(storageRequestBytes) } },
    },
  }
}
