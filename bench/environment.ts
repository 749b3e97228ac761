import { cpus, loadavg, release, totalmem } from "node:os"
import type { Sandbox } from "../sandbox/sandbox.ts"

/** What the figures depend on besides the code. */
export interface Environment {
  readonly date: string
  readonly cores: number
  readonly processor: string
  readonly memoryGiB: number
  /** Load of the last minute at the start: what others do on the machine makes all times worse. */
  readonly load: number
  readonly kernel: string
  readonly kubernetes: string
  readonly durableServer: string
  readonly node: string
}

/** The machine, and the versions of what runs on it. */
export const environmentOf = async (sandbox: Sandbox): Promise<Environment> => {
  const { gitVersion } = await sandbox.client.get<{ readonly gitVersion: string }>("/version")
  const answer: { readonly version: string } = JSON.parse(await (await fetch(`${sandbox.adminUrl}/version`)).text())
  return {
    date: new Date().toISOString(),
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    kernel: release(),
    kubernetes: gitVersion,
    durableServer: answer.version,
    node: process.version,
  }
}
