/**
 * vitest globalSetup of the tests that need a real API server: one control plane for the whole run, without a node and
 * without a durable-execution server, shared by all test files. Tests keep apart by namespaces or API groups of their own.
 */
import type { TestProject } from "vitest/node"
import { startSandbox } from "../../sandbox/sandbox.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** Path of the administrator's kubeconfig. */
    kubeconfig: string
    /** Folder with `kubectl`; empty when the machine's own is to be used. */
    kubernetesBinaries: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const sandbox = await startSandbox({ node: "none", server: false, progress: (line) => console.error(line) })
  project.provide("kubeconfig", sandbox.kubeconfig)
  project.provide("kubernetesBinaries", sandbox.binaries ?? "")
  return () => sandbox.stop()
}
