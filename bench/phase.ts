import type { CpuSeconds } from "./cpu.ts"
import type { Memory } from "./memory.ts"
import type { Recorded } from "./recorder.ts"
import { isWatch, isWrite } from "./request-record.ts"

/** The phases by name, in their order. */
export const names = {
  create: "create",
  rollout: "rollout",
  pinnedRollout: "rollout over pinned work",
  draining: "draining",
  burial: "burial after the work",
  steady: "steady state",
  restart: "restart",
  deletion: "deletion",
} as const

/** Requests of one verb to one resource, or admin calls of one kind. */
export interface Line {
  readonly what: string
  readonly count: number
  readonly perObject: number
  /** Answered with an error, or not at all. */
  readonly failed: number
  /** Half of them were answered sooner. */
  readonly medianMs: number
}

/** What one phase cost. */
export interface Phase {
  readonly name: string
  /** Until the goal was reached, as the bench saw it. */
  readonly seconds: number
  /** When all objects were Ready, and what it took until then; for phases that have such a moment. */
  readonly converged?: {
    readonly seconds: number
    /** Of the operator. */
    readonly writes: number
    readonly benchWrites: number
    readonly cpuSeconds: CpuSeconds
  }
  readonly kubernetes: {
    /** All but lists and watches. */
    readonly requests: number
    readonly writes: number
    readonly listsAndWatches: number
    readonly lines: ReadonlyArray<Line>
  }
  readonly admin: { readonly calls: number; readonly callsPerMinute: number; readonly lines: ReadonlyArray<Line> }
  /** Writes of the bench itself, as users and as controllers; not in the figures above. */
  readonly benchWrites: number
  readonly memoryMiB: Memory
  readonly cpuSeconds: CpuSeconds
}

/** What a phase is made of before it is counted. */
export interface Measured extends Pick<Phase, "name" | "seconds" | "converged" | "benchWrites" | "cpuSeconds"> {
  readonly recorded: Recorded
  readonly memory: Memory
  /** Objects of the run. */
  readonly count: number
  /** Seconds during which admin calls were recorded: the phase and the time until all was quiet. */
  readonly window: number
}

export const phaseOf = ({ recorded, memory, count, window, ...rest }: Measured): Phase => {
  const ordinary = recorded.kubernetes.filter((record) => !isWatch(record))
  const lines = linesOf(
    recorded.kubernetes.map(({ verb, resource, status, ms }) => ({ what: `${verb} ${resource}`, status, ms })),
    count,
  )
  const calls = recorded.admin.length
  return {
    ...rest,
    seconds: round(rest.seconds),
    kubernetes: {
      requests: ordinary.length,
      writes: ordinary.filter(isWrite).length,
      listsAndWatches: recorded.kubernetes.length - ordinary.length,
      lines,
    },
    admin: {
      calls,
      callsPerMinute: round((calls / window) * 60),
      lines: linesOf(
        recorded.admin.map(({ call, status, ms }) => ({ what: call, status, ms })),
        count,
      ),
    },
    memoryMiB: { median: mebibytes(memory.median), max: mebibytes(memory.max) },
  }
}

interface Answered {
  readonly what: string
  readonly status: number
  readonly ms: number
}

const linesOf = (records: ReadonlyArray<Answered>, count: number): ReadonlyArray<Line> =>
  [...Map.groupBy(records, ({ what }) => what)]
    .map(([what, of]) => ({
      what,
      count: of.length,
      perObject: round(of.length / count),
      failed: of.filter(({ status }) => status === 0 || status >= 400).length,
      medianMs: of.map(({ ms }) => ms).toSorted((left, right) => left - right)[of.length >> 1] ?? 0,
    }))
    .toSorted((left, right) => right.count - left.count || (left.what < right.what ? -1 : 1))

/** Bytes as MiB, one decimal. */
export const mebibytes = (bytes: number): number => Math.round((bytes / 2 ** 20) * 10) / 10

/** Two decimals are all that these figures are good for. */
export const round = (value: number): number => Math.round(value * 100) / 100
