import { readFileSync } from "node:fs"
import type { Processes } from "../sandbox/processes.ts"
import { round } from "./phase.ts"

/** CPU time by program. The operator is what is measured; the others share the cores with it. */
export interface CpuSeconds {
  readonly operator: number
  readonly bench: number
  readonly apiServer: number
  readonly etcd: number
  readonly controllerManager: number
  readonly durableServer: number
}

/** CPU time that each program has used so far, seconds; 0 for one that does not run. */
export const cpuSeconds = (processes: Processes | undefined): CpuSeconds => {
  const of = (name: string): number => timeOf(processes?.pid(name))
  return {
    operator: of("operator"),
    bench: timeOf(process.pid),
    apiServer: of("kube-apiserver"),
    etcd: of("etcd"),
    controllerManager: of("kube-controller-manager"),
    durableServer: of("durable-server"),
  }
}

/** What was used between two looks. A program that was started again meanwhile began at zero. */
export const cpuBetween = (before: CpuSeconds, after: CpuSeconds): CpuSeconds => {
  const used = (program: keyof CpuSeconds): number =>
    round(after[program] < before[program] ? after[program] : after[program] - before[program])
  return {
    operator: used("operator"),
    bench: used("bench"),
    apiServer: used("apiServer"),
    etcd: used("etcd"),
    controllerManager: used("controllerManager"),
    durableServer: used("durableServer"),
  }
}

/** Seconds in which the cores can do what all programs but the operator had to do: no operator can be faster than that. */
export const floorWithoutOperator = (used: CpuSeconds, cores: number): number =>
  round((used.bench + used.apiServer + used.etcd + used.controllerManager + used.durableServer) / cores)

const timeOf = (pid: number | undefined): number => {
  if (pid === undefined) return 0
  try {
    // Fields 14 and 15 after the name, which may hold spaces: user and system time in ticks of 10 ms.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return 0
  }
}
