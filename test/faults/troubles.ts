/** What goes wrong at one call of a story. */
import type { Fate } from "../support/fault-proxy.ts"
import type { OperatorWorld } from "../support/operator-world.ts"
import type { Call } from "./call.ts"

export interface Trouble {
  readonly name: string
  /** At which calls it is worth trying: to lose the answer of a question is the same as to fail it. */
  readonly at: (call: Call) => boolean
  /** What becomes of the call itself. */
  readonly fate: Fate
  /** How long calls of the same kind share its fate, milliseconds. */
  readonly lasts?: number
  /** What else happens as soon as that has been carried out; for `pass`, while the call goes on. */
  readonly strike?: (world: OperatorWorld) => Promise<void>
}

const write = ({ write: changes }: Call): boolean => changes
const any = (): boolean => true

const crash = (world: OperatorWorld): Promise<void> => {
  world.operator.kill("SIGKILL")
  return world.restart()
}

/** Milliseconds. Longer than a poll (10 s) and a drain delay (1 s) together: a removal fits in. */
const lag = 14_000

const late =
  (which: RegExp) =>
  async ({ api }: OperatorWorld): Promise<void> => {
    api.holdWatches(which)
    await new Promise((resolve) => setTimeout(resolve, lag))
    api.holdWatches(undefined)
  }

export const troubles: ReadonlyArray<Trouble> = [
  { name: "crash before", at: any, fate: "drop", strike: crash },
  { name: "crash after", at: write, fate: "lose", strike: crash },
  // Longer than the quick tries inside a pass take (0.1 + 0.2 + 0.4 s), so that the pass fails.
  { name: "error", at: any, fate: "refuse", lasts: 2_000 },
  { name: "no answer", at: any, fate: "hold" },
  { name: "answer lost", at: write, fate: "lose" },
  { name: "delivered twice", at: write, fate: "twice" },
  { name: "watches late", at: any, fate: "pass", strike: late(/./) },
  // Each kind has a watch of its own. When only that of the spec lags, everything goes on for a spec that is gone.
  { name: "spec late", at: write, fate: "pass", strike: late(/servicedeployments/) },
  { name: "watches cut", at: write, fate: "pass", strike: (world) => Promise.resolve(world.api.cutWatches()) },
  { name: "API server killed", at: write, fate: "pass", strike: (world) => world.sandbox.restartApiServer() },
]
