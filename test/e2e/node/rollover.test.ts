/** The whole story on a kubelet with containers, cluster DNS and kube-proxy: what the stand-in node fakes is real here. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { story } from "../../../demo/story.ts"
import { type Installed, installBundle } from "../../../sandbox/install.ts"
import { type OperatorProcess, startOperator } from "../../../sandbox/operator-process.ts"
import { type Sandbox, startSandbox } from "../../../sandbox/sandbox.ts"

let sandbox: Sandbox
let installed: Installed
let operator: OperatorProcess

beforeAll(async () => {
  sandbox = await startSandbox({ node: "real", progress: (line) => console.log(line) })
  installed = await installBundle(sandbox.client, "service")
  operator = await startOperator(sandbox, { edition: "service", installed })
})
afterAll(() => sandbox?.stop())

it("keeps every promise of the demo", async () => {
  const told: Array<string> = []
  await story(sandbox, { chapter: () => {}, shows: () => {}, fact: (text) => told.push(text) })
  expect(told.length).toBeGreaterThan(8)
})

it("never asks for a right that its role does not give", async () => {
  const metrics = await operator.metrics()
  expect(metrics).toMatch(/kubernetes_requests_total\{[^}]*code="200"/)
  expect(metrics).not.toMatch(/kubernetes_requests_total\{[^}]*code="403"/)
})
