import type { Budget } from "./budgets.ts"
import type { Environment } from "./environment.ts"
import type { Phase } from "./phase.ts"

/** What the servers can do without an operator, measured in the same run. */
export interface Calibration {
  /** Writes a second over 10 connections. */
  readonly writesPerSecond: number
  /** Services created a second over 10 connections: dearer than any other write. */
  readonly servicesPerSecond: number
  /** Seconds for N serial registrations on a server that knows nothing, and on one that knows N already. */
  readonly registrationSeconds: { readonly create: number; readonly rollout: number }
}

/** Everything a run has measured: the content of the file. */
export interface Figures {
  readonly environment: Environment
  readonly settings: { readonly count: number; readonly steadySeconds: number; readonly drainDelaySeconds: number }
  readonly calibration: Calibration
  readonly phases: ReadonlyArray<Phase>
  /** The whole run, MiB: median of the steady state, and the most that any operator process ever had. */
  readonly memoryMiB: { readonly rest: number; readonly peak: number }
  /** Requests of the operator to the API server, lists and watches left out, that came between two phases. */
  readonly betweenPhases: number
  readonly budgets: ReadonlyArray<Budget>
  /** Why the run ended early; the figures are those of the phases before. */
  readonly failed?: string
}
