/** What a tunnel is made of: the parts that the rest of the world depends on. */
import { describe, expect, it } from "vitest"
import { tunnelDeployment } from "#src/cloud-environment/parts/deployment.ts"
import { tunnelService } from "#src/cloud-environment/parts/service.ts"
import { variables } from "#src/cloud-environment/parts/variables.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { given, type Variation } from "./given.ts"

interface Template {
  readonly metadata: object
  readonly spec: { readonly [field: string]: unknown }
}

const spec = (variation?: Variation, vocabulary = vocabularies.service, digest = "digest-1") =>
  tunnelDeployment(given(variation, vocabulary), digest).body["spec"] as { readonly replicas: unknown; readonly template: Template }

const container = (variation?: Variation, vocabulary = vocabularies.service): object =>
  (spec(variation, vocabulary).template.spec["containers"] as ReadonlyArray<object>)[0] ?? {}

const values = (variation?: Variation, vocabulary = vocabularies.service): { readonly [name: string]: string | undefined } =>
  Object.fromEntries(variables(given(variation, vocabulary)).map(({ name, value }) => [name, value ?? "from elsewhere"]))

const labels = { "app.kubernetes.io/name": "service-cloud-tunnel-client", "app.kubernetes.io/instance": "tunnel-main" }

describe("the pods of a tunnel", () => {
  it("mount the token as a file, and bear the UID as the name of the tunnel (scenario 109)", () => {
    expect(tunnelDeployment(given(), "digest-1")).toMatchObject({
      ref: { kind: "TunnelDeployment", namespace: "operators", name: "tunnel-main" },
      body: {
        metadata: { labels, ownerReferences: [{ kind: "ServiceCloudEnvironment", uid: "uid-main", controller: true }] },
        spec: { selector: { matchLabels: labels } },
      },
    })
    expect(spec().template).toEqual({
      metadata: { labels, annotations: { "durable.dev/bearer-token": "digest-1" } },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 310,
        securityContext: expect.anything(),
        containers: [expect.anything()],
        volumes: [{ name: "bearer-token", secret: { secretName: "credentials", items: [{ key: "token", path: "bearer-token" }] } }],
      },
    })
    expect(container()).toMatchObject({
      name: "service-cloud-tunnel-client",
      image: "client:1",
      ports: [{ name: "health", containerPort: 9090 }],
      readinessProbe: { httpGet: { path: "/health", port: 9090 } },
      resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "2Gi" } },
      volumeMounts: [{ name: "bearer-token", mountPath: "/service-bearer-token", subPath: "bearer-token", readOnly: true }],
    })
    expect(values()).toEqual({
      SERVICE_TUNNEL_NAME: "uid-main",
      RESTATE_TUNNEL_NAME: "uid-main",
      SERVICE_SIGNING_PUBLIC_KEY: "publickeyv1_abc",
      RESTATE_SIGNING_PUBLIC_KEY: "publickeyv1_abc",
      SERVICE_ENVIRONMENT_ID: "env_1a2b",
      RESTATE_ENVIRONMENT_ID: "env_1a2b",
      SERVICE_CLOUD_REGION: "us",
      RESTATE_CLOUD_REGION: "us",
      SERVICE_BEARER_TOKEN_FILE: "/service-bearer-token",
      RESTATE_BEARER_TOKEN_FILE: "/service-bearer-token",
      SERVICE_REMOTE_PROXY: "false",
      RESTATE_REMOTE_PROXY: "false",
      RUST_BACKTRACE: "1",
      RUST_LIB_BACKTRACE: "0",
      RUST_LOG: "info",
    })
  })

  it("meet the restricted standard", () => {
    expect(spec().template.spec["securityContext"]).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
    expect(container()).toMatchObject({
      securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    })
  })

  it("have one spelling in the vocabulary of the other operator, its names and its file", () => {
    const other = values(undefined, vocabularies.restate)
    expect(Object.keys(other).filter((name) => name.startsWith("SERVICE_"))).toEqual([])
    expect(other).toMatchObject({ RESTATE_BEARER_TOKEN_FILE: "/restate-bearer-token", RESTATE_TUNNEL_NAME: "uid-main" })
    expect(container(undefined, vocabularies.restate)).toMatchObject({ name: "restate-cloud-tunnel-client" })
    expect(spec(undefined, vocabularies.restate).template.metadata).toMatchObject({
      labels: { "app.kubernetes.io/name": "restate-cloud-tunnel-client" },
      annotations: { "restate.dev/bearer-token": "digest-1" },
    })
  })

  it("take the user's variable in place of both spellings of ours", () => {
    const env = [
      { name: "RESTATE_TUNNEL_NAME", value: "mine" },
      { name: "RUST_LOG", value: "debug" },
      { name: "MY_OWN", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
    ]
    const variation = { spec: { tunnel: { env } } }
    expect(values(variation)).toMatchObject({
      SERVICE_TUNNEL_NAME: "mine",
      RESTATE_TUNNEL_NAME: "mine",
      RUST_LOG: "debug",
      MY_OWN: "from elsewhere",
    })
    const names = variables(given(variation)).map(({ name }) => name)
    expect(names).toHaveLength(new Set(names).size)
  })

  it("are replaced when the token is another one, and only then (scenario 116)", () => {
    expect(spec()).not.toEqual(spec(undefined, vocabularies.service, "digest-2"))
    expect(spec()).toEqual(spec(undefined, vocabularies.service, "digest-1"))
  })

  it("offer ingress and admin API with remoteProxy, before the health, and the Service too (scenario 110)", () => {
    const variation = { spec: { tunnel: { remoteProxy: true } } }
    const all = [{ name: "ingress" }, { name: "admin" }, { name: "health" }]
    expect(container(variation)).toMatchObject({
      ports: [
        { name: "ingress", containerPort: 8080 },
        { name: "admin", containerPort: 9070 },
        { name: "health", containerPort: 9090 },
      ],
    })
    expect(values(variation)).toMatchObject({ SERVICE_REMOTE_PROXY: "true", RESTATE_REMOTE_PROXY: "true" })
    const h2c = { appProtocol: "kubernetes.io/h2c" }
    expect(tunnelService(given(variation)).body["spec"]).toMatchObject({
      selector: labels,
      ports: [
        { ...all[0], port: 8080, ...h2c },
        { ...all[1], port: 9070, ...h2c },
        { ...all[2], port: 9090 },
      ],
    })
    expect(tunnelService(given()).body["spec"]).toMatchObject({ ports: [{ name: "health", port: 9090 }] })
    expect(tunnelService(given())).toMatchObject({ ref: { kind: "TunnelService", namespace: "operators", name: "tunnel-main" } })
  })

  it("are as the spec says, and what it leaves open is left to the orchestrator", () => {
    expect(spec().replicas).toBeUndefined()
    const tunnel = {
      replicas: 2,
      image: "mine:2",
      imagePullPolicy: "Always",
      resources: { limits: { memory: "64Mi" } },
      dnsPolicy: "None",
      nodeSelector: { disk: "ssd" },
      tolerations: [{ operator: "Exists" }],
    }
    expect(spec({ spec: { tunnel } })).toMatchObject({
      replicas: 2,
      template: { spec: { dnsPolicy: "None", nodeSelector: { disk: "ssd" }, tolerations: [{ operator: "Exists" }] } },
    })
    expect(container({ spec: { tunnel } })).toMatchObject({ image: "mine:2", imagePullPolicy: "Always", resources: tunnel.resources })
  })

  it("are not rolled by kubectl's bookkeeping, nor by the operator's own annotations", () => {
    const annotations = {
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      "durable.dev/reconcile": "enabled",
      "durable.dev/bearer-token": "forged",
      team: "blue",
    }
    const metadata = {
      annotations,
      labels: { "applyset.kubernetes.io/part-of": "x", tier: "edge", ...labels, "app.kubernetes.io/name": "mine" },
    }
    expect(spec({ metadata }).template.metadata).toEqual({
      labels: { tier: "edge", ...labels },
      annotations: { team: "blue", "durable.dev/bearer-token": "digest-1" },
    })
  })
})
