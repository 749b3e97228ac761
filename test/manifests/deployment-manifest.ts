/** A deployment that every rule accepts, and ways to break one rule each. */
import type { Vocabulary } from "#src/vocabulary.ts"
import type { JsonObject } from "../support/api-server.ts"
import { merged } from "../support/merge-patch.ts"
import type { Manifest, Violation } from "./violation.ts"

const validSpec: JsonObject = {
  selector: { matchLabels: { app: "greeter" } },
  template: {
    metadata: { labels: { app: "greeter", tier: "backend" } },
    spec: { containers: [{ name: "greeter", image: "greeter:1", ports: [{ containerPort: 9080 }] }] },
  },
  restate: { register: { cluster: "main" } },
}

/** A valid deployment with a merge patch applied to its spec. */
export const deployment = (vocabulary: Vocabulary, name: string, patch: JsonObject = {}): Manifest => {
  const { group, version, kind } = vocabulary.resources.deployment
  return { apiVersion: `${group}/${version}`, kind, metadata: { name, namespace: "default" }, spec: merged(validSpec, patch) }
}

const labels = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`label-${index}`, "x"]))

/** Rules that the definition of the operator before this one does not have: objects that break them may exist. */
export const stricterThanBefore: ReadonlyArray<Violation> = [
  { breaks: "a long name (scenario 68)", name: `a${"b".repeat(52)}`, field: "name", says: "at most 52 characters" },
  { breaks: "a name that starts with a digit", name: "1-greeter", field: "name", says: "start with a letter" },
  { breaks: "a dotted name", name: "greeter.v1", field: "name", says: "only a-z, 0-9 and '-'" },
  {
    breaks: "mode knative without its block",
    spec: { deploymentMode: "knative" },
    field: "spec.knative",
    says: "the knative block is required",
  },
  {
    breaks: "a knative block in the other mode",
    spec: { knative: { tag: "v1" } },
    field: "spec.knative",
    says: "only for deploymentMode knative",
  },
  {
    breaks: "a knative tag that is no name",
    spec: { deploymentMode: "knative", knative: { tag: "1.0" } },
    field: "spec.knative.tag",
    says: "should match",
  },
  {
    breaks: "in-process without cloud",
    spec: { restate: { tunnelMode: "in-process" } },
    field: "spec.restate.tunnelMode",
    says: "tunnelMode in-process needs register.cloud",
  },
  {
    breaks: "in-process in mode knative",
    spec: { deploymentMode: "knative", knative: {}, restate: { tunnelMode: "in-process", register: { cluster: null, cloud: "main" } } },
    field: "spec.restate.tunnelMode",
    says: "needs deploymentMode replicaset",
  },
  {
    breaks: "a selector that the template lacks",
    spec: { selector: { matchLabels: { app: "other" } } },
    field: "spec.selector",
    says: "every label of selector.matchLabels",
  },
  {
    breaks: "a selector over a template without labels",
    spec: { template: { metadata: null } },
    field: "spec.selector",
    says: "every label of selector.matchLabels",
  },
  {
    breaks: "a long label",
    spec: { template: { metadata: { labels: { app: "greeter", long: "x".repeat(64) } } } },
    field: "spec.template.metadata.labels.long",
    says: "may not be more than 63",
  },
  {
    breaks: "too many labels",
    spec: { template: { metadata: { labels } } },
    field: "spec.template.metadata.labels",
    says: "must have at most 64 items",
  },
  {
    breaks: "no register target",
    spec: { restate: { register: { cluster: null } } },
    field: "spec.restate.register",
    says: "exactly one of cluster, cloud, service and url must be set; set here: none",
  },
  {
    breaks: "two register targets",
    spec: { restate: { register: { url: "http://admin:9070" } } },
    field: "spec.restate.register",
    says: "exactly one of cluster, cloud, service and url must be set; set here: cluster url",
  },
  { breaks: "a url without scheme", ...url("admin.example.com:9070") },
  { breaks: "a url of another scheme", ...url("ftp://admin.example.com") },
  { breaks: "a url without host", ...url("http://") },
  { breaks: "a servicePath with a scheme", ...servicePath("http://elsewhere/api") },
  { breaks: "a servicePath with a host", ...servicePath("//elsewhere/api") },
  { breaks: "a servicePath that climbs", ...servicePath("/api/../admin") },
  { breaks: "a servicePath that climbs in disguise", ...servicePath("/api/%2e%2E/admin") },
  { breaks: "a servicePath that climbs with backslashes", ...servicePath("api\\..\\admin") },
  // URL parsers drop tabs and line breaks, so this climbs too.
  { breaks: "a servicePath with a tab", ...servicePath("/api/.\t./admin") },
  { breaks: "a servicePath with a query", ...servicePath("/api?x=1") },
  { breaks: "a servicePath with a fragment", ...servicePath("/api#x") },
  {
    breaks: "autoscaling without maxReplicas",
    spec: { autoscaling: { minReplicas: 1 } },
    field: "spec.autoscaling.maxReplicas",
    says: "autoscaling.maxReplicas is required",
  },
  {
    breaks: "autoscaling with a target",
    spec: { autoscaling: { maxReplicas: 3, scaleTargetRef: { kind: "Deployment", name: "greeter" } } },
    field: "spec.autoscaling.scaleTargetRef",
    says: "scaleTargetRef must not be set",
  },
  {
    breaks: "autoscaling with words for numbers",
    spec: { autoscaling: { maxReplicas: "three" } },
    field: "spec.autoscaling.maxReplicas",
    says: "must be of type integer",
  },
  {
    breaks: "autoscaling with a target that is no object",
    spec: { autoscaling: { maxReplicas: 3, scaleTargetRef: "greeter" } },
    field: "spec.autoscaling.scaleTargetRef",
    says: "must be of type object",
  },
]

/** Rules that both definitions have. */
export const strictAsBefore: ReadonlyArray<Violation> = [
  { breaks: "negative replicas", spec: { replicas: -1 }, field: "spec.replicas", says: "should be greater than or equal to 0" },
  { breaks: "an unknown mode", spec: { deploymentMode: "daemonset" }, field: "spec.deploymentMode", says: "supported values" },
  {
    breaks: "an unknown deletePolicy",
    spec: { restate: { deletePolicy: "keep" } },
    field: "spec.restate.deletePolicy",
    says: "supported values",
  },
  {
    breaks: "a port out of range",
    spec: { restate: { register: { cluster: null, service: { name: "a", namespace: "b", port: 65_536 } } } },
    field: "spec.restate.register.service.port",
    says: "should be less than or equal to 65535",
  },
  {
    breaks: "a service without namespace",
    spec: { restate: { register: { cluster: null, service: { name: "a" } } } },
    field: "spec.restate.register.service.namespace",
    says: "Required value",
  },
  { breaks: "no template", spec: { template: null }, field: "spec.template", says: "Required value" },
  { breaks: "no server", spec: { restate: null }, field: "spec.restate", says: "Required value" },
  {
    breaks: "autoscaling in mode knative",
    spec: { deploymentMode: "knative", knative: {}, autoscaling: { maxReplicas: 3 } },
    field: "spec.autoscaling",
    says: "autoscaling is only for deploymentMode replicaset",
  },
]

function url(value: string): Omit<Violation, "breaks"> {
  return {
    spec: { restate: { register: { cluster: null, url: value } } },
    field: "spec.restate.register.url",
    says: "url must be an http:// or https:// URL",
  }
}

function servicePath(value: string): Omit<Violation, "breaks"> {
  return { spec: { restate: { servicePath: value } }, field: "spec.restate.servicePath", says: "servicePath must be a path" }
}
