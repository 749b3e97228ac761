import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect, Exit, Layer } from "effect"
import { Command } from "effect/cli"
import { CannotRun } from "#src/errors.ts"
import { addressOf, commandLine, layer, type Settings } from "#src/settings.ts"

/** What a command line and variables come to: settings, or the sentence a person reads. */
const run = Effect.fnUntraced(function* (line: string, env: Record<string, string> = {}) {
  let settings: Settings | undefined
  const said: Array<string> = []
  const silent: Console.Console = {
    ...globalThis.console,
    log: (text: string) => said.push(text),
    error: (text: string) => said.push(text),
  }
  const command = commandLine("service-operator", (given) => Effect.sync(() => void (settings = given)))
  const exit = yield* Command.runWith(command, { version: "0.0.0" })(["run", ...line.split(" ").filter((word) => word !== "")]).pipe(
    Effect.provide(Layer.mergeAll(NodeServices.layer, layer, ConfigProvider.layer(ConfigProvider.fromEnv({ env })))),
    Effect.provideService(Console.Console, silent),
    Effect.catch((error) => (error instanceof CannotRun ? Effect.sync(() => void said.push(error.sentence)) : Effect.fail(error))),
    Effect.exit,
  )
  return { settings, said: said.join("\n"), failed: Exit.isFailure(exit) || settings === undefined }
})

const required = "--operator-namespace here"

describe("settings", () => {
  it.effect("defaults are those of the handbook", () =>
    Effect.gen(function* () {
      const { settings } = yield* run(required)
      assert.deepStrictEqual(settings, {
        edition: "service",
        httpAddress: { host: "::", port: 8080 },
        logLevel: "Info",
        operatorNamespace: "here",
        operatorLabel: undefined,
        operatorPod: undefined,
        clusterDns: "cluster.local",
        awsPodIdentityAssociationCluster: undefined,
        gcpWorkloadIdentity: false,
        tunnelClientImage: "ghcr.io/restatedev/restate-cloud-tunnel-client:0.6.0",
        canaryImage: "alpine:3.21",
      })
    }),
  )

  it.effect("every flag has a variable, and the flag beats it", () =>
    Effect.gen(function* () {
      const env = {
        VOCABULARY: "restate",
        HTTP_ADDRESS: "127.0.0.1:1",
        OPERATOR_NAMESPACE: "variable",
        OPERATOR_LABEL_NAME: "app",
        OPERATOR_LABEL_VALUE: "operator",
        OPERATOR_POD_NAME: "pod",
        OPERATOR_POD_UID: "uid",
        AWS_POD_IDENTITY_ASSOCIATION_CLUSTER: "eks",
        GCP_WORKLOAD_IDENTITY: "true",
        OPERATOR_TUNNEL_CLIENT_DEFAULT_IMAGE: "tunnel",
        CLUSTER_DNS: "cluster.example",
        CANARY_IMAGE: "canary",
        RUST_LOG: "debug,restate=trace",
      }
      const variables = yield* run("", env)
      assert.deepStrictEqual(variables.settings, {
        edition: "restate",
        httpAddress: { host: "127.0.0.1", port: 1 },
        logLevel: "Debug",
        operatorNamespace: "variable",
        operatorLabel: { name: "app", value: "operator" },
        operatorPod: { name: "pod", uid: "uid" },
        clusterDns: "cluster.example",
        awsPodIdentityAssociationCluster: "eks",
        gcpWorkloadIdentity: true,
        tunnelClientImage: "tunnel",
        canaryImage: "canary",
      })
      const flags = yield* run(
        "--operator-namespace flag --vocabulary service --http-address [::1]:2 --cluster-dns flag.local --operator-pod-uid other",
        env,
      )
      assert.deepInclude(flags.settings, {
        edition: "service",
        operatorNamespace: "flag",
        httpAddress: { host: "::1", port: 2 },
        clusterDns: "flag.local",
        operatorPod: { name: "pod", uid: "other" },
        logLevel: "Info",
      })
    }),
  )

  it.effect("the log level comes from the variable of the edition", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run(required, { LOG_LEVEL: "error", RUST_LOG: "debug" })).settings?.logLevel, "Error")
      assert.strictEqual(
        (yield* run(`${required} --vocabulary restate`, { LOG_LEVEL: "error", RUST_LOG: "debug" })).settings?.logLevel,
        "Debug",
      )
      assert.strictEqual((yield* run(required, { LOG_LEVEL: "shout" })).settings?.logLevel, "Info")
    }),
  )

  it.effect("half a label or half a pod is none, and an empty variable is an absent one", () =>
    Effect.gen(function* () {
      const env = {
        OPERATOR_LABEL_NAME: "app",
        OPERATOR_POD_NAME: "pod",
        OPERATOR_POD_UID: "",
        AWS_POD_IDENTITY_ASSOCIATION_CLUSTER: "",
        GCP_WORKLOAD_IDENTITY: "",
      }
      const { settings } = yield* run(required, env)
      assert.deepInclude(settings, {
        operatorLabel: undefined,
        operatorPod: undefined,
        awsPodIdentityAssociationCluster: undefined,
        gcpWorkloadIdentity: false,
      })
    }),
  )

  const mistakes: ReadonlyArray<readonly [line: string, env: Record<string, string>, says: RegExp]> = [
    ["", {}, /^--operator-namespace \(OPERATOR_NAMESPACE\) is required/],
    ["", { OPERATOR_NAMESPACE: "" }, /^--operator-namespace/],
    [`${required} --cluster-dns=`, {}, /^--cluster-dns \(CLUSTER_DNS\) must be .* not ""\.$/],
    [required, { CLUSTER_DNS: "cluster.local/evil" }, /^--cluster-dns .* "cluster\.local\/evil"\.$/],
    [required, { CLUSTER_DNS: "a\nb" }, /^--cluster-dns .* "a\\nb"\.$/],
    [required, { VOCABULARY: "other" }, /^--vocabulary \(VOCABULARY\) must be service or restate, not "other"\.$/],
    [`${required} --http-address 8080`, {}, /^--http-address/],
    [`${required} --http-address [::]:65536`, {}, /^--http-address/],
    [required, { GCP_WORKLOAD_IDENTITY: "maybe" }, /^--gcp-workload-identity .* "maybe"\.$/],
    [`${required} --clustr-dns x`, {}, /--clustr-dns.*--cluster-dns/],
  ]
  it.effect.each(mistakes)("a mistake is one sentence that names the flag: %s %o", ([line, env, says]) =>
    Effect.gen(function* () {
      const { failed, said } = yield* run(line, env)
      assert.isTrue(failed)
      assert.match(said, says)
      assert.notInclude(said, "\n")
    }),
  )

  it.effect("help says of every flag what it does, its default and its variable", () =>
    Effect.gen(function* () {
      const { said } = yield* run("--help")
      const lines = said.split("\n").filter((line) => /^\s+--(?!help|version)/.test(line))
      assert.strictEqual(lines.length, 12)
      for (const line of lines) assert.match(line, /\.\s+Variable: [A-Z_]+\.$/)
    }),
  )

  it("addresses", () => {
    assert.deepStrictEqual(addressOf("[::]:8080"), { host: "::", port: 8080 })
    assert.deepStrictEqual(addressOf(":9"), { host: "::", port: 9 })
    assert.deepStrictEqual(addressOf("localhost:0"), { host: "localhost", port: 0 })
    for (const wrong of ["", "8080", "::1:80", "[::1]", "a b:1", "h:99999", "http://h:1"]) assert.isUndefined(addressOf(wrong), wrong)
  })
})
