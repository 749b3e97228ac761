/** Settings, layers, controllers, runMain; nothing else. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Layer, Option, Runtime } from "effect"
import { Command } from "effect/cli"
import { hostname } from "node:os"
import manifest from "../package.json" with { type: "json" }
import * as Admin from "./admin/live.ts"
import * as Provisioner from "./admin/live-provisioner.ts"
import { environmentController } from "./cloud-environment/controller.ts"
import { clusterController } from "./cluster/controller.ts"
import { deploymentController } from "./deployment/controller.ts"
import type { KindController } from "./engine/kind.ts"
import { reconcile } from "./engine/reconcile.ts"
import { CannotRun } from "./errors.ts"
import { access } from "./kubernetes/access.ts"
import * as Kubernetes from "./kubernetes/live.ts"
import { kindsOf, run } from "./runtime/controller.ts"
import * as Crds from "./runtime/crds.ts"
import * as Events from "./runtime/events.ts"
import { WorkQueue } from "./runtime/queue.ts"
import { Readiness } from "./runtime/readiness.ts"
import { tidy } from "./telemetry/memory.ts"
import * as Settings from "./settings.ts"
import * as Http from "./telemetry/http.ts"
import * as Logs from "./telemetry/logs.ts"
import { Metrics } from "./telemetry/metrics.ts"
import { type OwnKind, type Vocabulary, vocabularies } from "./vocabulary.ts"

const operator = (settings: Settings.Settings) => {
  const vocabulary = vocabularies[settings.edition]
  const addresses = { clusterDns: settings.clusterDns, clusterService: vocabulary.service }
  const controllers = [
    controller(clusterController(clusterSettings(settings, vocabulary)), "cluster", vocabulary),
    controller(environmentController(environmentSettings(settings, vocabulary)), "environment", vocabulary),
    controller(deploymentController({ vocabulary, addresses }), "deployment", vocabulary),
  ]
  const kinds = [...new Set(controllers.flatMap(kindsOf))].filter((kind) => kind !== "Event" && kind !== "Pod")
  const crds = kinds.filter((kind) => kind in vocabulary.resources)

  const observed = Layer.mergeAll(
    Logs.layer(settings.logLevel),
    Metrics.layer(vocabulary),
    Readiness.layer(controllers.map(({ label }) => label)),
  )
  const world = Layer.mergeAll(
    Events.layer({ controller: vocabulary.operator, instance: settings.operatorPod?.name ?? hostname() }),
    Admin.layer({ environment: process.env, metricsPrefix: vocabulary.metrics.prefix }),
    Provisioner.layer,
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(Kubernetes.layer({ vocabulary, kinds, operatorNamespace: settings.operatorNamespace }), WorkQueue.layer()),
    ),
  )

  return Effect.raceAllFirst([run(controllers), Crds.report(crds, access(vocabulary), pod(settings)), tidy]).pipe(
    // HTTP is first up and last down: probes are answered before anything is waited for.
    Effect.provide(world.pipe(Layer.provideMerge(Http.layer(settings.httpAddress)), Layer.provideMerge(observed))),
    Effect.catchTags({ Misconfigured: refused, Forbidden: refused, Rejected: refused }),
  )
}

const clusterSettings = ({ canaryImage, clusterDns, operatorLabel, operatorNamespace }: Settings.Settings, vocabulary: Vocabulary) => ({
  vocabulary,
  clusterDns,
  operatorNamespace,
  operatorLabel,
  canaryImage,
})

const environmentSettings = ({ operatorNamespace, tunnelClientImage }: Settings.Settings, vocabulary: Vocabulary) => ({
  vocabulary,
  operatorNamespace,
  tunnelClientImage,
})

const controller = <Snapshot, Verdict>(kind: KindController<Snapshot, Verdict>, role: OwnKind, vocabulary: Vocabulary) => ({
  kind: kind.kind,
  label: vocabulary.resources[role].kind,
  watches: kind.watches,
  reconcile: reconcile(kind, vocabulary),
})

/** The operator's own pod, as far as an event needs to know it. */
const pod = ({ operatorPod, operatorNamespace: namespace }: Settings.Settings) =>
  Option.map(Option.fromUndefinedOr(operatorPod), (metadata) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, namespace, resourceVersion: "" },
  }))

/** What the API server refuses at the start it refuses for good: a person has to change something. */
const refused = (error: { readonly _tag: string; readonly detail: string }) =>
  new CannotRun({
    sentence:
      error._tag === "Misconfigured"
        ? error.detail
        : `${error.detail.replace(/\.$/, "")}: check the credentials the operator runs with, and that its ClusterRole is installed and bound to them.`,
  })

const program = Settings.commandLine(vocabularies.service.operator, operator).pipe(
  Command.run({ version: manifest.version }),
  Effect.tapCause((cause) => {
    const error = Cause.squash(cause)
    if (error instanceof CannotRun) return Console.error(error.sentence)
    return Cause.hasInterruptsOnly(cause) || !Runtime.getErrorReported(error) ? Effect.void : Console.error(Cause.pretty(cause))
  }),
  Effect.provide(Layer.merge(NodeServices.layer, Settings.layer)),
)

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  // A signal is a wish, not a failure.
  teardown: (exit, onExit) =>
    Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit),
})
