/** What runs the operator in a cluster: namespace, account, rights, workload and the Service of its metrics. */
import { ApiObject, type ApiObjectProps, type Chart } from "cdk8s"
import type { Vocabulary } from "#src/vocabulary.ts"
import { admissionPolicy } from "./admission-policy.ts"
import { type PolicyRule, rights } from "./rbac.ts"

/** Adds the operator's objects to a chart, in the order in which they must be applied. */
export const addOperator = (chart: Chart, vocabulary: Vocabulary, version: string): void => {
  const name = vocabulary.operator
  const namespace = name
  const selector = { app: name }
  const labels = { ...selector, "app.kubernetes.io/name": name, "app.kubernetes.io/version": version }
  const { cluster, namespace: own } = rights(vocabulary)
  const subject = { kind: "ServiceAccount", name, namespace }

  const add = (id: string, manifest: Manifest): ApiObject => new ApiObject(chart, id, manifest)

  add("namespace", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels: { ...labels, "pod-security.kubernetes.io/enforce": "restricted" } },
  })
  add("service-account", { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } })
  add("cluster-role", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, labels },
    rules: cluster.map(withoutWhy),
  })
  add("cluster-role-binding", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name, labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [subject],
  })
  for (const manifest of admissionPolicy(vocabulary, labels)) add(manifest.kind, manifest)
  if (own.length > 0) {
    add("role", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name, namespace, labels },
      rules: own.map(withoutWhy),
    })
    add("role-binding", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name, namespace, labels },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects: [subject],
    })
  }
  // A second replica stands by only where there is a lease to share; two active ones would write against each other.
  const replicas = own.some(({ resources }) => resources.includes("leases")) ? 2 : 1
  add("deployment", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      // Without a lease two operators must never run at once, not even for the moment of an update.
      ...(replicas === 1 ? { strategy: { type: "Recreate" } } : {}),
      selector: { matchLabels: selector },
      template: { metadata: podMetadata(name, labels), spec: podSpec(vocabulary, version) },
    },
  })
  add("service", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels },
    spec: {
      type: "ClusterIP",
      selector,
      // Missing definitions are a metric, and the operator is not ready just then: it must be scraped all the same.
      publishNotReadyAddresses: true,
      ports: [{ name: "http", port: 80, targetPort: "http", protocol: "TCP" }],
    },
  })
}

/** Everything of an object; cdk8s types only what all objects share. */
interface Manifest extends ApiObjectProps {
  readonly [field: string]: unknown
}

const withoutWhy = ({ apiGroups, resources, verbs }: PolicyRule) => ({ apiGroups, resources, verbs })

const podMetadata = (container: string, labels: { readonly [key: string]: string }) => ({
  labels,
  annotations: { "kubectl.kubernetes.io/default-container": container },
})

const podSpec = (vocabulary: Vocabulary, version: string) => {
  const name = vocabulary.operator
  return {
    serviceAccountName: name,
    securityContext: {
      runAsNonRoot: true,
      fsGroup: 2000,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [
      {
        name,
        image: `${name}:${version}`,
        imagePullPolicy: "IfNotPresent",
        args: ["run", "--vocabulary", vocabulary.edition],
        env: environment(vocabulary),
        ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
        livenessProbe: { httpGet: { path: "/health", port: "http" }, initialDelaySeconds: 5, periodSeconds: 10 },
        readinessProbe: { httpGet: { path: "/ready", port: "http" }, initialDelaySeconds: 5, periodSeconds: 5 },
        resources: { requests: { cpu: "50m", memory: "100Mi" }, limits: { cpu: "200m", memory: "256Mi" } },
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          runAsGroup: 3000,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
      },
    ],
  }
}

const environment = (vocabulary: Vocabulary) => [
  { name: vocabulary.logLevelVariable, value: "info" },
  fromField("OPERATOR_NAMESPACE", "metadata.namespace"),
  { name: "OPERATOR_LABEL_NAME", value: "app" },
  fromField("OPERATOR_LABEL_VALUE", "metadata.labels['app']"),
  fromField("OPERATOR_POD_NAME", "metadata.name"),
  fromField("OPERATOR_POD_UID", "metadata.uid"),
]

const fromField = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })
