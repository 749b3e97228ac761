import type { Figures } from "./figures.ts"
import type { Line, Phase } from "./phase.ts"

const columns = [
  ["phase", 26],
  ["seconds", 9],
  ["Ready after", 12],
  ["requests", 9],
  ["/object", 8],
  ["writes", 7],
  ["/object", 8],
  ["admin", 6],
  ["/minute", 8],
  ["RSS max", 8],
  ["CPU s", 7],
] as const

const row = (cells: ReadonlyArray<string>): string =>
  cells.map((cell, index) => (index === 0 ? cell.padEnd(columns[0][1]) : cell.padStart(columns[index]?.[1] ?? 0))).join("")

/** The head of the table of phases. */
export const head = (): string => `${row(columns.map(([name]) => name))}\n${"-".repeat(columns.reduce((sum, [, width]) => sum + width, 0))}`

/** A phase as a row of that table. */
export const phaseRow = (phase: Phase, count: number): string => {
  const { kubernetes, admin } = phase
  return row([
    phase.name,
    phase.seconds.toFixed(2),
    phase.converged?.seconds.toFixed(2) ?? "",
    String(kubernetes.requests),
    (kubernetes.requests / count).toFixed(2),
    String(kubernetes.writes),
    (kubernetes.writes / count).toFixed(2),
    String(admin.calls),
    admin.callsPerMinute.toFixed(1),
    phase.memoryMiB.max.toFixed(0),
    phase.cpuSeconds.operator.toFixed(2),
  ])
}

/** What stands below the table: every kind of request, the calibration, the budgets. */
export const details = (figures: Figures): string => {
  const { environment, calibration, phases, budgets, memoryMiB, betweenPhases, failed, settings } = figures
  const { registrationSeconds } = calibration
  const width = Math.max(0, ...budgets.map(({ what }) => what.length))
  return [
    ...phases.flatMap(({ name, kubernetes, admin, benchWrites, cpuSeconds }) => [
      "",
      `${name} (counts are for one object)`,
      ...[...kubernetes.lines, ...admin.lines].map(line),
      `  not in the table: the bench wrote ${benchWrites}; CPU seconds ${Object.entries(cpuSeconds)
        .map(([program, used]) => `${program} ${used}`)
        .join(", ")}`,
    ]),
    "",
    `${environment.cores} cores (${environment.processor}), ${environment.memoryGiB} GiB, load ${environment.load}, Linux ${environment.kernel}, Kubernetes ${environment.kubernetes}, durable-execution server ${environment.durableServer}, Node ${environment.node}, ${environment.date}`,
    `limit of the API server: ${calibration.writesPerSecond} writes/s, ${calibration.servicesPerSecond} Services/s; ${settings.count} serial registrations: ${registrationSeconds.create} s on an empty server, ${registrationSeconds.rollout} s on one that knows ${settings.count}`,
    `memory: ${memoryMiB.rest} MiB at rest, ${memoryMiB.peak} MiB at its peak; ${betweenPhases} requests between phases`,
    "",
    ...budgets.map(({ pass, what, measured, limit, note }) => {
      const kept = `${pass ? "PASS" : "FAIL"}  ${what.padEnd(width)}  ${String(measured).padStart(7)} of ${limit}`
      return note === undefined ? kept : `${kept} (${note})`
    }),
    ...(settings.count === 100
      ? []
      : ["", "The budgets are stated for 100 objects; with few, times are those of a single object and not of the servers."]),
    ...(failed === undefined ? [] : ["", `The run ended early: ${failed}`]),
  ].join("\n")
}

const line = ({ what, count, perObject, failed, medianMs }: Line): string =>
  `  ${perObject.toFixed(2).padStart(7)}  ${what}  (${count}, ${medianMs} ms)${failed === 0 ? "" : `, ${failed} refused`}`
