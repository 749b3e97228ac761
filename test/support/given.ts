/** Builders of snapshots: say what is special about a world, get all of it. Times are seconds after {@link start}. */
import type { DeploymentUsage } from "../../src/admin/admin.ts"
import { decide } from "../../src/deployment/decide.ts"
import type { AdminView, ClusterState, DeploymentSettings, Snapshot } from "../../src/deployment/snapshot.ts"
import { endpointOf, wantedVersion } from "../../src/deployment/version.ts"
import { lines } from "../../src/engine/plan.ts"
import type { Observed } from "../../src/engine/plan.ts"
import type { ServiceDeployment, ServiceDeploymentSpec, ServiceDeploymentStatus } from "../../src/resources/generated/service-deployment.ts"
import type { HorizontalPodAutoscaler, Pod, ReplicaSet } from "../../src/resources/kubernetes.ts"
import { ownerReference } from "../../src/resources/meta.ts"
import { vocabularies } from "../../src/vocabulary.ts"

export const vocabulary = vocabularies.service
export const settings: DeploymentSettings = { vocabulary, addresses: { clusterDns: "cluster.local", clusterService: vocabulary.service } }
export const start = Date.parse("2026-01-01T00:00:00Z")
export const at = (seconds: number): number => start + seconds * 1000
export const serverKey = "url/http://admin:9070"

/** A template variant: `v1`, `v2` … name the image. */
export const template = (variant: string): ServiceDeploymentSpec["template"] => ({
  metadata: { labels: { app: "greeter" } },
  spec: { containers: [{ name: "app", image: `greeter:${variant}` }] },
})

export interface Variation {
  readonly spec?: Partial<ServiceDeploymentSpec>
  readonly restate?: Partial<ServiceDeploymentSpec["restate"]>
  readonly metadata?: Partial<ServiceDeployment["metadata"]>
  readonly status?: Partial<ServiceDeploymentStatus>
}

/** A ServiceDeployment `greeter` of that variant, held by the finalizer. */
export const deployment = (variant: string, { spec, restate, metadata, status }: Variation = {}): ServiceDeployment => ({
  apiVersion: `${vocabulary.group}/v1beta1`,
  kind: vocabulary.resources.deployment.kind,
  metadata: {
    name: "greeter",
    namespace: "default",
    uid: "uid-greeter",
    resourceVersion: "1",
    generation: 1,
    finalizers: [vocabulary.resources.deployment.finalizer],
    ...metadata,
  },
  spec: {
    replicas: 1,
    revisionHistoryLimit: 10,
    template: template(variant),
    ...spec,
    restate: { register: { url: "http://admin:9070" }, ...restate },
  },
  ...(status === undefined ? {} : { status: { replicas: 0, ...status } }),
})

export const nameOf = (variant: string, variation?: Variation): string => wantedVersion(deployment(variant, variation)).name

export interface VersionFacts {
  readonly id?: string
  readonly replicas?: number
  readonly ready?: number
  /** Seconds after start. */
  readonly removeAt?: number | string
  readonly createdAt?: number
  readonly annotations?: { readonly [key: string]: string }
  readonly registeredWith?: string
  /** Annotation keys that one of our managers owns. */
  readonly owns?: ReadonlyArray<string>
}

export const version = (variant: string, facts: VersionFacts = {}, variation?: Variation): ReplicaSet => {
  const owner = deployment(variant, variation)
  const wanted = wantedVersion(owner)
  const replicas = facts.replicas ?? 1
  const ready = facts.ready ?? replicas
  const removeAt = typeof facts.removeAt === "number" ? new Date(at(facts.removeAt)).toISOString() : facts.removeAt
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: wanted.name,
      namespace: "default",
      uid: `uid-${wanted.name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: new Date(at(facts.createdAt ?? 0)).toISOString(),
      ownerReferences: [ownerReference(owner)],
      annotations: {
        [vocabulary.annotations.podTemplate]: wanted.template,
        ...(facts.id === undefined
          ? {}
          : {
              [vocabulary.annotations.deploymentId]: facts.id,
              [vocabulary.annotations.registeredWith]: facts.registeredWith ?? serverKey,
            }),
        ...(removeAt === undefined ? {} : { [vocabulary.annotations.removeAt]: removeAt }),
        ...facts.annotations,
      },
      ...(facts.owns === undefined
        ? {}
        : {
            managedFields: [
              {
                manager: "service-operator",
                operation: "Update",
                fieldsV1: { "f:metadata": { "f:annotations": Object.fromEntries(facts.owns.map((key) => [`f:${key}`, {}])) } },
              },
            ],
          }),
    },
    spec: { replicas, selector: {} },
    status: { replicas, readyReplicas: ready, availableReplicas: ready, observedGeneration: 1 },
  }
}

export const seen = <A>(value: A, askedAt: number, took = 10): Observed<A> => ({ _tag: "Seen", value, askedAt, took })
export const unseen = (askedAt: number, since = askedAt): Observed<never> => ({
  _tag: "Unseen",
  because: "connection refused",
  askedAt,
  rejected: false,
  since,
})

/** What a server knows, by variant: id, unfinished work, services. Asked now unless said otherwise. */
export interface ServerFacts {
  readonly [variant: string]: {
    readonly id: string
    readonly pinned?: number
    readonly unpinned?: number
    readonly services?: ReadonlyArray<string>
  }
}

/** `routes`: service → id. */
export const server = (
  facts: ServerFacts,
  routes: { readonly [service: string]: string },
  {
    askedAt,
    took,
    touchedAt = 0,
    variation,
  }: { readonly askedAt: number; readonly took?: number; readonly touchedAt?: number; readonly variation?: Variation },
): AdminView => {
  const entries = Object.entries(facts).map(([variant, fact]) => ({
    ...fact,
    endpoint: endpointOf(nameOf(variant, variation), "default", "", settings.addresses),
  }))
  const usage = entries.map(({ id, endpoint, pinned = 0, unpinned = 0 }): [string, DeploymentUsage] => [
    id,
    { endpoint, pinned, unpinned, latestFor: Object.values(routes).filter((holder) => holder === id).length },
  ])
  const deployments = entries.map(({ id, endpoint, services = ["Greeter"] }) => [id, { endpoint, services }] as const)
  return {
    usage: seen(new Map(usage), askedAt, took),
    routing: seen({ services: new Map(Object.entries(routes)), deployments: new Map(deployments) }, askedAt, took),
    touchedAt,
  }
}

export interface World {
  readonly now: number
  readonly deployment: ServiceDeployment
  readonly versions?: ReadonlyArray<ReplicaSet>
  readonly admin?: AdminView
  readonly autoscalers?: ReadonlyArray<HorizontalPodAutoscaler>
  readonly pods?: ReadonlyArray<Pod>
  readonly routable?: boolean
  readonly cluster?: ClusterState
}

export const snapshot = ({
  now,
  deployment,
  versions = [],
  autoscalers = [],
  pods = [],
  admin,
  routable = true,
  cluster = { _tag: "NotUsed" },
}: World): Snapshot => ({
  now,
  deployment,
  replicaSets: versions,
  autoscalers: new Map(autoscalers.map((autoscaler) => [autoscaler.metadata.name, autoscaler])),
  pods,
  routable: new Set(routable ? versions.map(({ metadata }) => metadata.name) : []),
  cluster,
  gone: new Set(),
  admin: new Map(admin === undefined ? [] : [[serverKey, admin]]),
})

/** What the operator would do, as lines; the Service, which every pass makes sure of, is left out. */
export const planned = (world: World): ReadonlyArray<string> =>
  lines(decide(snapshot(world), settings))
    .filter((text) => !text.startsWith("address of"))
    .map((text) => text.replaceAll("ReplicaSet default/", ""))

export const decided = (world: World) => decide(snapshot(world), settings)
