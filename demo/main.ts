/**
 * The project's promise, shown and checked: a version rolls over on a real Kubernetes and a real durable-execution
 * server, and the invocation that was running finishes where it began. Exits non-zero when a promise is broken.
 */
import { parseArgs } from "node:util"
import { startSandbox } from "../sandbox/sandbox.ts"
import { installBundle } from "../sandbox/install.ts"
import { startOperator } from "../sandbox/operator-process.ts"
import { Narrator } from "./narrator.ts"
import { story } from "./story.ts"

const help = `make demo            on local processes: no root, no packages, nothing on the host's network
make demo NODE=real  on a kubelet with containers (Linux, root; installs Debian packages)
make demo KEEP=1     stays up afterwards and prints how to reach everything`

const { values } = parseArgs({ options: { help: { type: "boolean", short: "h" } } })
if (values.help === true) {
  console.log(help)
  process.exit(0)
}

const nodeKind = process.env["NODE"] ?? "stand-in"
if (nodeKind !== "stand-in" && nodeKind !== "real") {
  console.error(`NODE=${nodeKind} is neither "real" nor "stand-in"\n${help}`)
  process.exit(2)
}

const narrator = new Narrator()
try {
  narrator.chapter("A world to live in")
  const sandbox = await startSandbox({ node: nodeKind, progress: (line) => narrator.progress(line) })
  try {
    narrator.fact(`Kubernetes and a durable-execution server are up (${sandbox.node.kind} node)`)
    const installed = await installBundle(sandbox.client, "service")
    narrator.fact("the generated CRDs, ServiceAccount and role are applied: dist-manifests/service")
    const operator = await startOperator(sandbox, { edition: "service", installed })
    narrator.fact(`the operator runs as ${installed.namespace}/${installed.serviceAccount}, with the rights of that role and no other`)
    await story(sandbox, narrator)
    narrator.end()
    if ((process.env["KEEP"] ?? "") !== "") {
      console.log("\nStill up until Ctrl-C. In another terminal:")
      console.log(
        `  export KUBECONFIG=${sandbox.kubeconfig} PATH=${sandbox.binaries ?? ""}:$PATH INGRESS=${sandbox.ingressUrl} ADMIN=${sandbox.adminUrl}`,
      )
      console.log("  kubectl apply -f examples/greeter.yaml && kubectl get servicedeployments -w")
      console.log(`The operator's metrics are at ${operator.url}/metrics, its log is ${operator.logFile}`)
      await new Promise(() => setInterval(() => {}, 60_000))
    }
  } finally {
    await sandbox.stop()
  }
} catch (error) {
  narrator.broken(error)
  process.exitCode = 1
}
