/** The whole process, as a cluster starts and stops it: what it says and how it exits. */
import { afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundle } from "../build/bundle.ts"

const running: Array<ChildProcess> = []
const servers: Array<Server> = []

afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL")
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** An API server that gives every request the same answer; `undefined` leaves it without one. */
const api = async (status: number | undefined): Promise<number> => {
  const server = createServer((request, response) => {
    if (status === undefined) return
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message: `no to ${request.url}`, code: status }))
  })
  servers.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return portOf(server)
}

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const folder = mkdtempSync(join(tmpdir(), "operator-"))
const operator = join(folder, "operator.mjs")

beforeAll(() => bundle(operator))

const kubeconfig = (port: number): string => {
  const path = join(folder, `kubeconfig-${port}`)
  const cluster = { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true }
  const config = {
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { token: "secret-token" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

const start = (env: Record<string, string>, ...flags: ReadonlyArray<string>) => {
  const address = flags.includes("--http-address") ? [] : ["--http-address", "127.0.0.1:0"]
  const child = spawn(process.execPath, [operator, "run", "--operator-namespace", "here", ...address, ...flags], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
  })
  running.push(child)
  const output = { stdout: "", stderr: "" }
  child.stdout.on("data", (data) => (output.stdout += String(data)))
  child.stderr.on("data", (data) => (output.stderr += String(data)))
  const exit = once(child, "exit").then(([code]) => code as number | null)
  return { child, output, exit }
}

const free = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const port = portOf(server)
  server.close()
  await once(server, "close")
  return port
}

/** The answer of the operator's own HTTP server, once it is up. */
const answer = async (port: number, path: string): Promise<readonly [number, string]> => {
  for (let tries = 0; ; tries++) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      return [response.status, await response.text()]
    } catch (error) {
      if (tries > 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

const patience = 30_000

describe("process", () => {
  it(
    "while the API server is away it is alive, not ready, and leaves at once on SIGTERM with 0",
    async () => {
      const port = await free()
      const { child, output, exit } = start({ KUBECONFIG: kubeconfig(await api(undefined)) }, "--http-address", `127.0.0.1:${port}`)
      assert.deepStrictEqual(await answer(port, "/health"), [200, `"healthy"`])
      assert.deepStrictEqual(await answer(port, "/ready"), [
        503,
        `{"ready":false,"pendingControllers":["ServiceCluster","ServiceCloudEnvironment","ServiceDeployment"]}`,
      ])
      assert.include((await answer(port, "/metrics"))[1], `service_operator_crd_missing{crd="servicedeployments.durable.dev"} 1`)
      const asked = Date.now()
      child.kill("SIGTERM")
      assert.strictEqual(await exit, 0)
      assert.isBelow(Date.now() - asked, 2000)
      assert.strictEqual(output.stderr, "")
    },
    patience,
  )

  it(
    "a CRD that is not there is waited for",
    async () => {
      const port = await free()
      const { child, exit } = start(
        { KUBECONFIG: kubeconfig(await api(404)) },
        "--http-address",
        `127.0.0.1:${port}`,
        "--vocabulary",
        "restate",
      )
      assert.deepStrictEqual(await answer(port, "/ready"), [
        503,
        `{"ready":false,"pendingControllers":["RestateCluster","RestateCloudEnvironment","RestateDeployment"]}`,
      ])
      await new Promise((resolve) => setTimeout(resolve, 1000))
      assert.isNull(child.exitCode)
      child.kill("SIGINT")
      assert.strictEqual(await exit, 0)
    },
    patience,
  )

  it.each([401, 403])(
    "an API server that says %d ends it with 1 and one sentence that says what to check",
    async (status) => {
      const { output, exit } = start({ KUBECONFIG: kubeconfig(await api(status)) })
      assert.strictEqual(await exit, 1)
      assert.match(
        output.stderr,
        /^[^\n]+: check the credentials the operator runs with, and that its ClusterRole is installed and bound to them\.\n$/,
      )
      assert.notInclude(output.stderr + output.stdout, "secret-token")
    },
    patience,
  )

  it(
    "a kubeconfig that cannot be read ends it with 1 and one sentence",
    async () => {
      const path = join(folder, "broken")
      writeFileSync(path, "clusters: [}")
      const { output, exit } = start({ KUBECONFIG: path })
      assert.strictEqual(await exit, 1)
      assert.match(output.stderr, /^[^\n]+kubeconfig[^\n]+\n$/)
    },
    patience,
  )

  it(
    "a port in use ends it with 1 and one sentence",
    async () => {
      const port = await api(200)
      const { output, exit } = start({ KUBECONFIG: kubeconfig(port) }, "--http-address", `127.0.0.1:${port}`)
      assert.strictEqual(await exit, 1)
      assert.match(output.stderr, new RegExp(`^Port ${port} is in use: [^\\n]+\\n$`))
    },
    patience,
  )
})
