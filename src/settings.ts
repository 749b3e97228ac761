/** Flags and variables, checked once, before anything else happens. A flag beats its variable; an empty variable is an absent one. */
import { Config, Console, Effect, Layer, type LogLevel, Option } from "effect"
import { CliConfig, type CliError, CliOutput, Command, Flag, GlobalFlag } from "effect/cli"
import { CannotRun } from "./errors.ts"
import { levelOf } from "./telemetry/logs.ts"
import type { Address } from "./telemetry/http.ts"
import { type Edition, vocabularies } from "./vocabulary.ts"

export interface Settings {
  readonly edition: Edition
  readonly httpAddress: Address
  readonly logLevel: LogLevel.LogLevel
  /** Where the operator runs: its own Secrets and events are there. */
  readonly operatorNamespace: string
  /** Selects the operator's pods in NetworkPolicies. */
  readonly operatorLabel: { readonly name: string; readonly value: string } | undefined
  /** The operator's own pod, where events about the operator itself go. */
  readonly operatorPod: { readonly name: string; readonly uid: string } | undefined
  /** Suffix of in-cluster names. */
  readonly clusterDns: string
  readonly awsPodIdentityAssociationCluster: string | undefined
  readonly gcpWorkloadIdentity: boolean
  readonly tunnelClientImage: string
  readonly canaryImage: string
}

const text = (name: string, variable: string, about: string, standard?: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${about}${standard === undefined ? "" : ` Default: ${standard}.`} Variable: ${variable}.`),
    Flag.withMetavar("text"),
    Flag.withFallbackConfig(Config.String(variable)),
    Flag.optional,
    Flag.map((value) => Option.getOrUndefined(Option.filter(value, (given) => given !== "" || standard !== undefined)) ?? standard),
  )

const flags = {
  vocabulary: text(
    "vocabulary",
    "VOCABULARY",
    "Names of resources, labels and metrics: `service`, or `restate` to take over from that operator with its live resources.",
    "service",
  ),
  httpAddress: text("http-address", "HTTP_ADDRESS", "Address for /health, /ready, /metrics. [::] answers on IPv4 as well.", "[::]:8080"),
  operatorNamespace: text("operator-namespace", "OPERATOR_NAMESPACE", "Namespace the operator runs in. Required."),
  operatorLabelName: text(
    "operator-label-name",
    "OPERATOR_LABEL_NAME",
    "Label that selects the operator's pods in NetworkPolicies; needs its value too.",
  ),
  operatorLabelValue: text("operator-label-value", "OPERATOR_LABEL_VALUE", "Value of that label."),
  operatorPodName: text(
    "operator-pod-name",
    "OPERATOR_POD_NAME",
    "The operator's own pod, where events about the operator go; needs its UID too.",
  ),
  operatorPodUid: text("operator-pod-uid", "OPERATOR_POD_UID", "UID of that pod."),
  clusterDns: text("cluster-dns", "CLUSTER_DNS", "DNS suffix of in-cluster names: letters, digits, `.` and `-`.", "cluster.local"),
  awsPodIdentityAssociationCluster: text(
    "aws-pod-identity-association-cluster",
    "AWS_POD_IDENTITY_ASSOCIATION_CLUSTER",
    "Name of the EKS cluster, for pod identity associations.",
  ),
  gcpWorkloadIdentity: Flag.Boolean("gcp-workload-identity").pipe(
    Flag.withDescription(
      "Set up Workload Identity for clusters that name a GCP service account. Default: false. Variable: GCP_WORKLOAD_IDENTITY.",
    ),
    // Text, so that a bad value is explained like any other.
    Flag.withFallbackConfig(Config.String("GCP_WORKLOAD_IDENTITY")),
    Flag.withDefault(false),
  ),
  tunnelClientImage: text(
    "tunnel-client-default-image",
    "OPERATOR_TUNNEL_CLIENT_DEFAULT_IMAGE",
    "Image of tunnel clients that name none.",
    "ghcr.io/restatedev/restate-cloud-tunnel-client:0.6.0",
  ),
  canaryImage: text("canary-image", "CANARY_IMAGE", "Image of canary jobs; needs sh, cat, grep, wget and CA certificates.", "alpine:3.21"),
}

type Given = { readonly [F in keyof typeof flags]: (typeof flags)[F] extends Flag.Flag<infer A> ? A : never }

/** Everything that can be wrong with them, one sentence each. */
const settingsOf = Effect.fnUntraced(function* (given: Given): Effect.fn.Return<Settings, CannotRun> {
  const { vocabulary: edition = "", httpAddress = "", operatorNamespace, clusterDns = "" } = given
  if (edition !== "service" && edition !== "restate")
    return yield* wrong(`--vocabulary (VOCABULARY) must be service or restate, not ${quote(edition)}.`)
  if (operatorNamespace === undefined)
    return yield* wrong("--operator-namespace (OPERATOR_NAMESPACE) is required: the namespace the operator runs in.")
  if (!/^[A-Za-z0-9.-]+$/.test(clusterDns))
    return yield* wrong(
      `--cluster-dns (CLUSTER_DNS) must be letters, digits, . and - only, such as cluster.local, not ${quote(clusterDns)}.`,
    )
  const address = addressOf(httpAddress)
  if (address === undefined)
    return yield* wrong(
      `--http-address (HTTP_ADDRESS) must be an IP address and a port, such as [::]:8080 or 127.0.0.1:8080, not ${quote(httpAddress)}.`,
    )
  const gcpWorkloadIdentity = yes.test(String(given.gcpWorkloadIdentity))
  if (!gcpWorkloadIdentity && !no.test(String(given.gcpWorkloadIdentity)))
    return yield* wrong(
      `--gcp-workload-identity (GCP_WORKLOAD_IDENTITY) must be true or false, not ${quote(String(given.gcpWorkloadIdentity))}.`,
    )
  const { logLevelVariable } = vocabularies[edition]
  const filter = yield* Config.String(logLevelVariable).pipe(Effect.orElseSucceed(() => ""))
  return {
    edition,
    httpAddress: address,
    logLevel: levelOf(filter) ?? "Info",
    operatorNamespace,
    operatorLabel: both(given.operatorLabelName, given.operatorLabelValue, (name, value) => ({ name, value })),
    operatorPod: both(given.operatorPodName, given.operatorPodUid, (name, uid) => ({ name, uid })),
    clusterDns,
    awsPodIdentityAssociationCluster: given.awsPodIdentityAssociationCluster,
    gcpWorkloadIdentity,
    tunnelClientImage: given.tunnelClientImage ?? "",
    canaryImage: given.canaryImage ?? "",
  }
})

const yes = /^(true|yes|on|1)$/i
const no = /^(false|no|off|0|)$/i

const wrong = (sentence: string) => new CannotRun({ sentence })

/** What was given, short and on one line. */
const quote = (given: string): string => JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given)

const both = <A>(a: string | undefined, b: string | undefined, make: (a: string, b: string) => A): A | undefined =>
  a === undefined || b === undefined ? undefined : make(a, b)

/** `[::]:8080`, `0.0.0.0:8080`, `localhost:8080`, or `:8080` for all addresses. */
export const addressOf = (given: string): Address | undefined => {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/.exec(given)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) return undefined
  return { host: match[1] ?? (match[2] || "::"), port }
}

/** The command line: `run` with its flags hands the settings over. */
export const commandLine = <E, R>(name: string, handler: (settings: Settings) => Effect.Effect<void, E, R>) =>
  Command.make(name).pipe(
    Command.withDescription(
      "A Kubernetes operator for durable execution: versions of your service roll over without losing a running invocation.",
    ),
    Command.withSubcommands([
      Command.make("run", flags, (given) => Effect.flatMap(settingsOf(given), handler)).pipe(
        Command.withDescription(
          `Run the operator in this cluster, or in the one of the current kubeconfig context. Log level: variable ${vocabularies.service.logLevelVariable} (${vocabularies.restate.logLevelVariable} with --vocabulary restate); off, error, warn, info, debug or trace; default info.`,
        ),
      ),
    ]),
  )

/** What is wrong with a command line is one sentence on stderr, without the help text around it. */
export const layer: Layer.Layer<never> = Layer.merge(
  Layer.succeed(CliConfig.CliConfig, CliConfig.make({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })),
  CliOutput.layerPresenter({
    present: (event) =>
      event._tag === "InvalidInvocation"
        ? Console.error(`${event.errors.map(sentenceOf).join(" ")} See ${event.commandPath.join(" ")} --help.`)
        : CliOutput.defaultPresenter.present(event),
  }),
)

const sentenceOf = (error: CliError.CliError): string => {
  const sentence = error.message.replaceAll(/\s*\n\s*/g, " ").trim()
  return sentence.endsWith(".") ? sentence : `${sentence}.`
}
