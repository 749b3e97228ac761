/** A server as a test needs it: little is said, and what is said stands out. */
import { decide } from "#src/cluster/decide.ts"
import type { ClusterSettings, Given } from "#src/cluster/given.ts"
import type { Snapshot } from "#src/cluster/snapshot.ts"
import { conclude } from "#src/cluster/status.ts"
import type { Verdict } from "#src/cluster/verdict.ts"
import type { Conclusion } from "#src/engine/kind.ts"
import { lines, type Plan, type Report } from "#src/engine/plan.ts"
import type { ServiceCluster } from "#src/resources/generated/service-cluster.ts"
import type { StatefulSet } from "#src/resources/kubernetes.ts"
import { type Vocabulary, vocabularies } from "#src/vocabulary.ts"
import { merged } from "../support/merge-patch.ts"

export const now = Date.UTC(2026, 0, 1)

export const settingsOf = (vocabulary: Vocabulary): ClusterSettings => ({
  vocabulary,
  clusterDns: "cluster.local",
  operatorNamespace: "operators",
  operatorLabel: { name: "app", value: "operator" },
  canaryImage: "canary:1",
})

export const settings = settingsOf(vocabularies.service)

export interface Variation {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
}

export const cluster = ({ metadata, spec, status }: Variation = {}): ServiceCluster =>
  merged(
    {
      apiVersion: "durable.dev/v1",
      kind: "ServiceCluster",
      metadata: {
        name: "main",
        uid: "uid-main",
        resourceVersion: "1",
        generation: 3,
        finalizers: [settings.vocabulary.resources.cluster.finalizer],
      },
      spec: { storage: { storageRequestBytes: 1024 ** 3 }, compute: { image: "server:1" } },
    },
    {
      ...(metadata === undefined ? {} : { metadata }),
      ...(spec === undefined ? {} : { spec }),
      ...(status === undefined ? {} : { status }),
    },
  ) as never

export const given = (variation?: Variation, vocabulary = vocabularies.service): Given => ({
  cluster: cluster(variation),
  settings: settingsOf(vocabulary),
})

/** A StatefulSet whose pods are all there, unless said otherwise. */
export const statefulSet = (status: object = {}, request = String(1024 ** 3)): StatefulSet => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "service", namespace: "main", uid: "uid-set", resourceVersion: "1", generation: 2 },
  spec: { replicas: 1, volumeClaimTemplates: [{ spec: { resources: { requests: { storage: request } } } }] },
  status: {
    observedGeneration: 2,
    replicas: 1,
    readyReplicas: 1,
    updatedReplicas: 1,
    currentRevision: "a",
    updateRevision: "a",
    ...status,
  },
})

export const snapshot = (variation?: Variation, facts: Partial<Snapshot> = {}): Snapshot => ({
  now,
  cluster: cluster(variation),
  namespace: "Ours",
  statefulSet: statefulSet(),
  claims: [],
  configMaps: [],
  policies: [],
  pods: [],
  firstPod: undefined,
  ...facts,
})

export const decided = (of: Snapshot): Plan<Verdict> => decide(of, settings)

/** The plan as people read it, without what is applied in every pass. */
export const beside = (of: Snapshot): ReadonlyArray<string> =>
  lines(decided(of)).filter((line) => !/: apply (?!StatefulSet|PersistentVolumeClaim)/.test(line))

export const concluded = (of: Snapshot, report: Report = { outcomes: [], failures: [] }): Conclusion =>
  conclude(of, decided(of), report, settings)

/** Type, status and reason of the Ready condition that a pass ends with. */
export const ready = (of: Snapshot, report?: Report): string => {
  const conditions: unknown = concluded(of, report).status?.["conditions"]
  const [first] = Array.isArray(conditions) ? conditions : []
  return `${first?.status} ${first?.reason}`
}
