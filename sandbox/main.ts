import { rmSync } from "node:fs"
import { parseArgs } from "node:util"
import { cacheDirectory, ensure } from "./binaries.ts"
import { controlPlanePrograms } from "./go-programs.ts"
import { sweepNode } from "./node/teardown.ts"
import { sweep } from "./sandbox-directory.ts"
import { startSandbox, type NodeKind } from "./sandbox.ts"

const usage = `Usage: node sandbox/main.ts <command>

  up [--node stand-in|real|none] [--no-server] [--directory PATH]
             a Kubernetes and a durable-execution server until Ctrl-C
  build      only build the programs of the control plane into the user's cache
  clean [--cache]
             end what killed sandboxes have left; with --cache also forget the built programs
`

const say = (line: string): void => console.error(line)

const isNodeKind = (text: string): text is NodeKind => ["stand-in", "real", "none"].includes(text)

const up = async (node: string, server: boolean, directory: string | undefined): Promise<void> => {
  if (!isNodeKind(node)) throw new Error(`--node is stand-in, real or none, not ${node}`)
  const sandbox = await startSandbox({ node, server, progress: say, ...(directory === undefined ? {} : { directory }) })
  console.log(`KUBECONFIG=${sandbox.kubeconfig}`)
  if (sandbox.binaries !== undefined) console.log(`PATH=${sandbox.binaries}:$PATH`)
  if (sandbox.adminUrl !== "") console.log(`SERVICE_ADMIN_URL=${sandbox.adminUrl}`)
  if (sandbox.ingressUrl !== "") console.log(`SERVICE_INGRESS_URL=${sandbox.ingressUrl}`)
  if (sandbox.proxyUrl !== undefined) console.log(`HTTP_PROXY=${sandbox.proxyUrl}`)
  say(`logs in ${sandbox.directory}/log; Ctrl-C ends it`)
  // The sandbox itself keeps no event loop alive.
  setInterval(() => {}, 1 << 30)
}

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      node: { type: "string", default: "stand-in" },
      server: { type: "boolean", default: true },
      directory: { type: "string" },
      cache: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  const command = values.help ? "help" : positionals[0]
  switch (command) {
    case "up":
      return up(values.node, values.server, values.directory)
    case "build":
      console.log(await ensure(controlPlanePrograms, say))
      return
    case "clean":
      say(`${await sweep(false)} killed sandboxes cleaned up`)
      if (await sweepNode()) say("a real node whose sandbox was killed cleaned up")
      if (values.cache) rmSync(cacheDirectory(), { recursive: true, force: true })
      return
    case "help":
      console.log(usage)
      return
    default:
      throw new Error(usage)
  }
}

try {
  await main()
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
