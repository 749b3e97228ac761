/**
 * Proves that the real node works and goes without a trace: `node sandbox/node/prove.ts`, as root.
 *
 * It runs an endpoint in two pods, registers it by its cluster name and calls it through the ingress; then it ends the
 * sandbox in order, by Ctrl-C at several moments, and by SIGKILL, and compares the machine before and after.
 */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { KubernetesClient } from "../kubernetes-client.ts"
import { sweep } from "../sandbox-directory.ts"
import { startSandbox, type Sandbox } from "../sandbox.ts"
import { waitFor } from "../wait.ts"
import { machineState } from "./machine-state.ts"
import type { Manifest } from "./manifest.ts"
import { sweepNode } from "./teardown.ts"

const begun = Date.now()
const say = (line: string): void => console.log(`${((Date.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${line}`)

const namespace = "proof"
const host = `greeter.${namespace}.svc.cluster.local`

const manifests = (version: string): ReadonlyArray<Manifest> => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "greeter", namespace },
    spec: { selector: { app: "greeter" }, ports: [{ port: 9080 }] },
  },
  {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: `greeter-${version}`, namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "greeter", version } },
      template: {
        metadata: { labels: { app: "greeter", version } },
        spec: {
          terminationGracePeriodSeconds: 5,
          containers: [
            {
              name: "greeter",
              image: `greeter:${version}`,
              ports: [{ containerPort: 9080 }],
              readinessProbe: { tcpSocket: { port: 9080 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
]

const post = async (url: string, body: unknown): Promise<string> => {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`POST ${url}: ${answer.status} ${text}`)
  return text
}

const readyReplicas = async (client: KubernetesClient, name: string): Promise<number> => {
  const path = `/apis/apps/v1/namespaces/${namespace}/replicasets/${name}`
  const { status } = await client.get<{ readonly status?: { readonly readyReplicas?: number } }>(path)
  return status?.readyReplicas ?? 0
}

const callPods = async (sandbox: Sandbox): Promise<void> => {
  const { client, adminUrl, ingressUrl } = sandbox
  for (const manifest of manifests("v1")) await client.apply(manifest)
  await waitFor("two pods of greeter", async () => (await readyReplicas(client, "greeter-v1")) === 2, {
    timeoutMs: 60_000,
  })
  say("a ReplicaSet of 2 is Ready")
  await post(`${adminUrl}/deployments`, { uri: `http://${host}:9080`, force: false })
  say(`registered http://${host}:9080, a name that only the cluster knows`)
  const answer = await post(`${ingressUrl}/Greeter/greet`, "proof")
  if (!answer.includes("v1: hello proof")) throw new Error(`not what was expected: ${answer}`)
  say(`called through the ingress: ${answer}`)
  await sandbox.restartServer({ kill: true })
  say(`the server was killed and came back with its data: ${await post(`${ingressUrl}/Greeter/greet`, "again")}`)
  await client.delete(`/api/v1/namespaces/${namespace}`)
  const pods = `/api/v1/namespaces/${namespace}/pods`
  await waitFor("the end of the pods", async () => (await client.list(pods)).length === 0, { timeoutMs: 60_000 })
  say("the pods have gone")
}

/** A sandbox in a process of its own, to be ended from outside. */
const inChild = () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "..", "main.ts"), "up", "--node", "real"], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  let output = ""
  child.stdout.on("data", (text: Buffer) => (output += text.toString()))
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  return {
    up: () => waitFor("the sandbox", () => output.includes("SERVICE_ADMIN_URL"), { timeoutMs: 180_000 }),
    end: async (signal: NodeJS.Signals): Promise<void> => {
      const asked = Date.now()
      child.kill(signal)
      await ended
      say(`ended by ${signal} in ${((Date.now() - asked) / 1000).toFixed(1)} s`)
    },
  }
}

const sameAs = async (before: ReadonlySet<string>, when: string): Promise<void> => {
  const after = await machineState()
  const left = [...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`)
  const lost = [...before].filter((line) => !after.has(line)).map((line) => `- ${line}`)
  if (left.length + lost.length > 0) throw new Error(`${when} the machine differs:\n${[...left, ...lost].join("\n")}`)
  say(`${when} nothing is left on the machine`)
}

const before = await machineState()
for (const round of ["first", "second"]) {
  const sandbox = await startSandbox({ node: "real", progress: say })
  try {
    await callPods(sandbox)
  } finally {
    await sandbox.stop()
  }
  await sameAs(before, `after the ${round} run`)
}

for (const seconds of [1, 4, 8]) {
  const interrupted = inChild()
  await sleep(seconds * 1_000)
  await interrupted.end("SIGINT")
  await sameAs(before, `after Ctrl-C in second ${seconds}`)
}
const running = inChild()
await running.up()
await running.end("SIGINT")
await sameAs(before, "after Ctrl-C when it was up")

for (const seconds of [1, 4, 8]) {
  const killed = inChild()
  await sleep(seconds * 1_000)
  await killed.end("SIGKILL")
  await sweep()
  await sweepNode()
  await sameAs(before, `after SIGKILL in second ${seconds} and a clean-up`)
}
const killed = inChild()
await killed.up()
await killed.end("SIGKILL")
const sandbox = await startSandbox({ node: "real", progress: say })
say("started again after the SIGKILL")
await sandbox.stop()
await sameAs(before, "after the run that followed the SIGKILL")
say("proven")
