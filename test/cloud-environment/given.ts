/** An environment as a test needs it: little is said, and what is said stands out. */
import { decide } from "#src/cloud-environment/decide.ts"
import type { EnvironmentSettings, Given } from "#src/cloud-environment/given.ts"
import type { Snapshot } from "#src/cloud-environment/snapshot.ts"
import { conclude } from "#src/cloud-environment/status.ts"
import type { Verdict } from "#src/cloud-environment/verdict.ts"
import type { Conclusion } from "#src/engine/kind.ts"
import { lines, type Plan, type Report } from "#src/engine/plan.ts"
import type { ServiceCloudEnvironment } from "#src/resources/generated/service-cloud-environment.ts"
import type { Deployment, Secret } from "#src/resources/kubernetes.ts"
import { type Vocabulary, vocabularies } from "#src/vocabulary.ts"
import { merged } from "../support/merge-patch.ts"

export const now = Date.UTC(2026, 0, 1)

export const settingsOf = (vocabulary: Vocabulary): EnvironmentSettings => ({
  vocabulary,
  operatorNamespace: "operators",
  tunnelClientImage: "client:1",
})

export const settings = settingsOf(vocabularies.service)

export interface Variation {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
}

export const environment = (variation: Variation = {}): ServiceCloudEnvironment =>
  merged(
    {
      apiVersion: "durable.dev/v1beta1",
      kind: "ServiceCloudEnvironment",
      metadata: {
        name: "main",
        uid: "uid-main",
        resourceVersion: "1",
        generation: 3,
        finalizers: [settings.vocabulary.resources.environment.finalizer],
      },
      spec: {
        environmentId: "env_1a2b",
        region: "us",
        signingPublicKey: "publickeyv1_abc",
        authentication: { secret: { name: "credentials", key: "token" } },
      },
    },
    { ...variation },
  ) as never

export const given = (variation?: Variation, vocabulary = vocabularies.service): Given => ({
  environment: environment(variation),
  settings: settingsOf(vocabulary),
})

/** A Deployment whose pods are all there, unless said otherwise. */
export const deployment = (status: object = {}, replicas = 1): Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "tunnel-main", namespace: "operators", uid: "uid-tunnel", resourceVersion: "1", generation: 2 },
  spec: { replicas },
  status: { observedGeneration: 2, replicas, updatedReplicas: replicas, availableReplicas: replicas, ...status },
})

export const secret = (digests: { readonly [key: string]: string } = { token: "digest-1" }): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "credentials", namespace: "operators", uid: "uid-secret", resourceVersion: "1" },
  digests,
})

export const snapshot = (variation?: Variation, facts: Partial<Snapshot> = {}): Snapshot => ({
  now,
  environment: environment(variation),
  deployment: deployment(),
  secret: secret(),
  ...facts,
})

export const decided = (of: Snapshot): Plan<Verdict> => decide(of, settings)

/** The plan as people read it. */
export const planned = (of: Snapshot): ReadonlyArray<string> => lines(decided(of))

export const concluded = (of: Snapshot, report: Report = { outcomes: [], failures: [] }): Conclusion =>
  conclude(of, decided(of), report, settings)

/** The Ready condition that a pass ends with, and the types of the others. */
export const ready = (
  of: Snapshot,
  report?: Report,
): { readonly is: string; readonly message: string; readonly others: ReadonlyArray<string> } => {
  const conditions: unknown = concluded(of, report).status?.["conditions"]
  const [first, ...others] = Array.isArray(conditions) ? conditions : []
  return { is: `${first?.status} ${first?.reason}`, message: String(first?.message), others: others.map(({ type }) => String(type)) }
}
