import { budgetsOf } from "./budgets.ts"
import { registrationTime, serviceLimit, writeLimit } from "./calibration.ts"
import { environmentOf } from "./environment.ts"
import type { Figures } from "./figures.ts"
import { mebibytes, names, type Phase, round } from "./phase.ts"
import { Phases } from "./phases.ts"
import { Recorder } from "./recorder.ts"
import type { AdminRecord } from "./admin-record.ts"
import type { RequestRecord } from "./request-record.ts"
import { World } from "./world.ts"

/** What to measure and whom to tell. */
export interface RunOptions {
  readonly count: number
  readonly steadySeconds: number
  readonly drainDelaySeconds: number
  readonly progress: (line: string) => void
  /** Told each phase as soon as it is measured. */
  readonly onPhase: (phase: Phase) => void
  /** Told every request of the operator. */
  readonly trace?: (record: RequestRecord | AdminRecord) => void
}

/** One whole run. A phase that fails ends it, and what was measured before is kept. */
export const run = async (options: RunOptions): Promise<Figures> => {
  const { count, steadySeconds, drainDelaySeconds, progress } = options
  const recorder = new Recorder(options.trace)
  const world = await World.open({ count, drainDelaySeconds, recorder, progress })
  try {
    const environment = await environmentOf(world.sandbox)
    progress("measuring what the servers can do by themselves")
    const register = (): Promise<number> => registrationTime(world.sandbox.adminUrl, world.endpoint.port, count)
    const writesPerSecond = round(await writeLimit(world.sandbox.client))
    const servicesPerSecond = round(await serviceLimit(world.sandbox.client))
    const registrationSeconds = { create: round(await register()), rollout: 0 }
    const done: Array<Phase> = []
    const phases = new Phases({ world, recorder, count, steadySeconds, progress })
    const measure = async (phase: Promise<Phase>): Promise<void> => {
      const measured = await phase
      done.push(measured)
      options.onPhase(measured)
    }
    let failed: string | undefined
    try {
      await world.startOperator()
      await measure(phases.create())
      registrationSeconds.rollout = round(await register())
      await measure(phases.rollout())
      progress("starting an invocation on each object")
      await world.work.begin(count)
      await measure(phases.pinnedRollout())
      await measure(phases.draining())
      await measure(phases.burial())
      await measure(phases.steady())
      await measure(phases.restart())
      await measure(phases.deletion())
    } catch (error) {
      failed = error instanceof Error ? error.message : String(error)
    }
    const figures: Omit<Figures, "budgets"> = {
      environment,
      settings: { count, steadySeconds, drainDelaySeconds },
      calibration: { writesPerSecond, servicesPerSecond, registrationSeconds },
      phases: done,
      memoryMiB: { rest: done.find(({ name }) => name === names.steady)?.memoryMiB.median ?? 0, peak: mebibytes(world.memory.peak) },
      betweenPhases: phases.between,
      ...(failed === undefined ? {} : { failed }),
    }
    return { ...figures, budgets: budgetsOf(figures) }
  } finally {
    progress("taking everything down")
    await world.close()
  }
}
