/**
 * Gives memory back after a burst of work. V8 lets the heap stand as the burst left it until new garbage asks for room,
 * and an operator that waits makes none: with 100 objects that is about 10 MiB for hours.
 */
import { Effect, Schedule } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Seconds of CPU after which a collection, some 40 ms of it, is worth its price. */
const burst = 1
/** Less than this in a whole interval is quiet: a draining server is asked every 10 s, which takes about 5 ms. */
const quiet = 0.05

/** Collects once when at least a second of CPU was used since the last time and the last 5 s were quiet. */
export const tidy: Effect.Effect<never> = Effect.suspend(() => {
  // V8 hands its collector only to contexts that are made after this.
  setFlagsFromString("--expose-gc")
  const collect: NodeJS.GCFunction = runInNewContext("gc")
  let tidied = 0
  let before = cpu()
  return Effect.sync(() => {
    const now = cpu()
    const still = now - before < quiet
    before = now
    if (!still || now - tidied < burst) return
    collect({ type: "major", execution: "sync", flavor: "last-resort" })
    tidied = cpu()
  }).pipe(Effect.repeat(Schedule.spaced("5 seconds")), Effect.andThen(Effect.never))
})

const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
