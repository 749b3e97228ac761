import { constants } from "node:os"

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/**
 * Ties something to the life of this process: whatever way it ends short of SIGKILL, `stop` runs when there is time
 * for it (signals) and `killNow` in any case. Returns a function that unties it again.
 */
export const endWithProcess = (stop: () => Promise<void>, killNow: () => void): (() => void) => {
  let asked = false
  const onSignal = (signal: NodeJS.Signals): void => {
    // Asked twice means: now. The exit hook does the rest.
    if (asked) process.exit(130)
    asked = true
    const end = (): void => {
      untie()
      // If nobody else wants to handle it, end as the signal would have: but by way of the exit hooks, which a deadly
      // signal does not run and which end a build that is on its way.
      if (process.listenerCount(signal) === 0) process.exit(128 + constants.signals[signal])
    }
    stop().then(end, (error: unknown) => {
      console.error(error)
      end()
    })
  }
  const untie = (): void => {
    for (const signal of signals) process.removeListener(signal, onSignal)
    process.removeListener("exit", killNow)
  }
  for (const signal of signals) process.on(signal, onSignal)
  process.on("exit", killNow)
  return untie
}
