/** What a server's pods are made of: the parts that the rest of the world depends on. */
import { describe, expect, it } from "vitest"
import { environment } from "#src/cluster/parts/environment.ts"
import { statefulSet } from "#src/cluster/parts/stateful-set.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { given, type Variation } from "./given.ts"

const template = (variation?: Variation, vocabulary = vocabularies.service) =>
  (statefulSet(given(variation, vocabulary), 1).body["spec"] as { readonly template: { readonly metadata: object; readonly spec: never } })
    .template

const variables = (variation?: Variation, vocabulary = vocabularies.service): { readonly [name: string]: string | undefined } =>
  Object.fromEntries(environment(given(variation, vocabulary)).map(({ name, value }) => [name, value ?? "from elsewhere"]))

const names = (variation?: Variation, vocabulary = vocabularies.service): ReadonlyArray<string> =>
  environment(given(variation, vocabulary)).map(({ name }) => name)

describe("the pods of a server", () => {
  it("have both spellings of each variable, mounts, probe and security as specified (scenario 14)", () => {
    expect(variables()).toEqual({
      POD_NAME: "from elsewhere",
      POD_ZONE: "from elsewhere",
      POD_REGION: "from elsewhere",
      SERVICE_LOG_FORMAT: "json",
      RESTATE_LOG_FORMAT: "json",
      SERVICE_CLUSTER_NAME: "main",
      RESTATE_CLUSTER_NAME: "main",
      SERVICE_BASE_DIR: "/service-data",
      RESTATE_BASE_DIR: "/service-data",
      RUST_BACKTRACE: "1",
      RUST_LIB_BACKTRACE: "0",
      SERVICE_CONFIG: "/config/config.toml",
      RESTATE_CONFIG: "/config/config.toml",
      SERVICE_ADVERTISED_ADDRESS: "http://$(POD_NAME).service-cluster:5122",
      RESTATE_ADVERTISED_ADDRESS: "http://$(POD_NAME).service-cluster:5122",
      SERVICE_NODE_NAME: "$(POD_NAME)",
      RESTATE_NODE_NAME: "$(POD_NAME)",
    })
    expect(template().spec).toMatchObject({
      serviceAccountName: "service",
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000, seccompProfile: { type: "RuntimeDefault" } },
      terminationGracePeriodSeconds: 60,
      containers: [
        {
          name: "service",
          image: "server:1",
          ports: [{ containerPort: 8080 }, { containerPort: 9070 }, { containerPort: 5122 }],
          readinessProbe: { httpGet: { path: "/health", port: 9070 }, initialDelaySeconds: 30 },
          securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
          volumeMounts: [
            { name: "storage", mountPath: "/service-data" },
            { name: "tmp", mountPath: "/tmp" },
            { name: "config", mountPath: "/config", readOnly: true },
          ],
        },
      ],
    })
  })

  it("have one spelling in the vocabulary of the other operator, and its mount", () => {
    const other = variables(undefined, vocabularies.restate)
    expect(Object.keys(other).filter((name) => name.startsWith("SERVICE_"))).toEqual([])
    expect(other).toMatchObject({
      RESTATE_BASE_DIR: "/restate-data",
      RESTATE_ADVERTISED_ADDRESS: "http://$(POD_NAME).restate-cluster:5122",
    })
  })

  it("take the user's variable in place of both spellings of ours, and mirror it to the other", () => {
    const env = [
      { name: "RESTATE_LOG_FORMAT", value: "pretty" },
      { name: "MY_OWN", value: "1" },
    ]
    expect(variables({ spec: { compute: { env } } })).toMatchObject({
      SERVICE_LOG_FORMAT: "pretty",
      RESTATE_LOG_FORMAT: "pretty",
      MY_OWN: "1",
    })
    expect(names({ spec: { compute: { env } } }).filter((name) => name.endsWith("LOG_FORMAT"))).toHaveLength(2)
  })

  it("leave both spellings to a user who sets both", () => {
    const env = [
      { name: "SERVICE_X", value: "a" },
      { name: "RESTATE_X", value: "b" },
    ]
    expect(environment(given({ spec: { compute: { env } } })).filter(({ name }) => name.endsWith("_X"))).toEqual(env)
  })

  it("run a sidecar as an init container that stays, after the certificates (scenario 19)", () => {
    const spec = {
      compute: { sidecars: [{ name: "proxy", image: "proxy:1" }] },
      security: { trustedCaCerts: [{ secretName: "ca", key: "ca.crt" }] },
    }
    expect(template({ spec }).spec).toMatchObject({
      initContainers: [{ name: "combine-ca-certs" }, { name: "proxy", image: "proxy:1", restartPolicy: "Always" }],
    })
  })

  it("trust the system's certificates first, then those of the spec in its order; another key rolls them (scenario 20)", () => {
    const trusting = (...keys: ReadonlyArray<string>) =>
      template({ spec: { security: { trustedCaCerts: keys.map((key) => ({ secretName: "ca", key })) } } })
    expect(trusting("a", "b").spec).toMatchObject({
      initContainers: [
        {
          image: "canary:1",
          command: [
            "sh",
            "-c",
            "cat /etc/ssl/certs/ca-certificates.crt /trusted-ca-0/ca.pem /trusted-ca-1/ca.pem > /combined-certs/ca-certificates.crt",
          ],
        },
      ],
    })
    expect(trusting("a").metadata).not.toEqual(trusting("b").metadata)
    expect(variables({ spec: { security: { trustedCaCerts: [{ secretName: "ca", key: "a" }] } } })).toMatchObject({
      SSL_CERT_FILE: "/combined-certs/ca-certificates.crt",
    })
  })

  it("find the signing key by the nested variable, never by the flat one (scenario 22)", () => {
    const spec = { security: { requestSigningPrivateKey: { version: "v1", secret: { secretName: "key", key: "pem" } } } }
    expect(variables({ spec })).toMatchObject({
      SERVICE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: "/signing-key/private.pem",
      RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: "/signing-key/private.pem",
    })
    expect(names({ spec })).not.toContain("RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE")
    expect(template({ spec }).spec).toMatchObject({
      volumes: [
        { name: "tmp" },
        { name: "config" },
        {
          name: "request-signing-private-key-secret",
          secret: { secretName: "key", items: [{ key: "pem", path: "private.pem", mode: 0o400 }] },
        },
      ],
    })
  })

  it("are not rolled by kubectl's bookkeeping, nor by the operator's own annotations (scenario 16)", () => {
    const annotations = {
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      "durable.dev/reconcile": "enabled",
      team: "blue",
    }
    const labels = { "applyset.kubernetes.io/part-of": "x", tier: "data" }
    expect(template({ metadata: { annotations, labels } }).metadata).toEqual({
      labels: { tier: "data", "app.kubernetes.io/name": "service", "app.kubernetes.io/instance": "main" },
      annotations: { team: "blue" },
    })
  })

  it("get another configuration by another name, by which live objects are found (scenario 15)", () => {
    const volume = (config?: string) => JSON.stringify(template(config === undefined ? {} : { spec: { config } }).spec["volumes"])
    expect(volume()).toContain('"service-config-42c4b0e3"')
    expect(volume("a = 1")).not.toBe(volume("a = 2"))
  })
})
