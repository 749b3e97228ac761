import { floorWithoutOperator } from "./cpu.ts"
import type { Figures } from "./figures.ts"
import { names, type Phase, round } from "./phase.ts"

/** A promise about a figure, and whether it was kept. */
export interface Budget {
  readonly what: string
  readonly limit: number
  readonly measured: number
  readonly pass: boolean
  /** What else one has to know to judge it. */
  readonly note?: string
}

/** How much longer than the servers need by themselves a change may take until all objects are Ready. */
const slack = 1.2

/** One query of the shared look each 10 s makes 6 a minute; the rest is room for looks at the routing. Not a function of N. */
const adminCallsPerMinute = 12

/** The budgets whose phases have been measured. */
export const budgetsOf = ({ phases, calibration, settings, environment, memoryMiB }: Omit<Figures, "budgets">): ReadonlyArray<Budget> => {
  const find = (name: string): Phase | undefined => phases.find((phase) => phase.name === name)
  const perObject = (what: string, name: string, limit: number) => {
    const phase = find(name)
    return phase === undefined ? [] : [budget(what, limit, phase.kubernetes.requests / settings.count)]
  }
  const writes = (what: string, name: string) => {
    const phase = find(name)
    return phase === undefined ? [] : [budget(what, 0, phase.kubernetes.writes)]
  }
  const draining = find(names.draining)
  return [
    ...perObject("create: requests an object", names.create, 8),
    ...perObject("rollout with drain and burial: requests an object", names.rollout, 12),
    ...perObject("deletion: requests an object", names.deletion, 9),
    ...writes("steady state: writes", names.steady),
    ...writes("draining with pinned work: writes", names.draining),
    ...(draining === undefined
      ? []
      : [budget("draining with pinned work: admin calls a minute", adminCallsPerMinute, draining.admin.callsPerMinute)]),
    ...convergence("create", find(names.create), { calibration, settings, environment }),
    ...convergence("rollout", find(names.rollout), { calibration, settings, environment }),
    ...(find(names.steady) === undefined ? [] : [budget("memory at rest, MiB", 110, memoryMiB.rest)]),
    budget("memory at its peak, MiB", 120, memoryMiB.peak),
  ]
}

const convergence = (
  of: "create" | "rollout",
  phase: Phase | undefined,
  figures: Pick<Figures, "calibration" | "settings" | "environment">,
) => {
  if (phase?.converged === undefined) return []
  const { registrationSeconds, writesPerSecond, servicesPerSecond } = figures.calibration
  const { count } = figures.settings
  const { seconds, writes, benchWrites, cpuSeconds } = phase.converged
  const bound = slack * (registrationSeconds[of] + writes / writesPerSecond)
  const fair = slack * (registrationSeconds[of] + (writes + benchWrites - count) / writesPerSecond + count / servicesPerSecond)
  const floor = floorWithoutOperator(cpuSeconds, figures.environment.cores)
  const note =
    `${round(fair)} with the ${benchWrites} writes of the bench, and with ${count} Services at their own rate; ` +
    `the CPU of all but the operator fills the cores for ${floor}`
  return [{ ...budget(`${of}: seconds until all are Ready`, bound, seconds), note }]
}

const budget = (what: string, limit: number, measured: number): Budget => ({
  what,
  limit: round(limit),
  measured: round(measured),
  pass: measured <= limit,
})
