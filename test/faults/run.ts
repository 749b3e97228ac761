/** A story on real servers, with something that goes wrong at one call of the operator. */
import { waitFor } from "../../sandbox/wait.ts"
import { type Fate, isWrite, type ProxiedRequest } from "../support/fault-proxy.ts"
import type { OperatorWorld } from "../support/operator-world.ts"
import { type Call, Calls, isSame } from "./call.ts"
import { Laws } from "./laws.ts"
import type { Scene, Story } from "./stories.ts"
import type { Trouble } from "./troubles.ts"

export interface Run {
  readonly calls: ReadonlyArray<Call>
  /** Whether the call came at which it was to go wrong. */
  readonly struck: boolean
  readonly seconds: number
  /** What did not go or end as it must. */
  readonly broken: ReadonlyArray<string>
}

/** Milliseconds without a write after which a world is at rest, and how long it may take to come there. */
const rest = 3_000
const restless = 40_000

/** The world can be used again only when nothing was broken. */
export const run = async (world: OperatorWorld, story: Story, at?: { readonly trouble: Trouble; readonly call: Call }): Promise<Run> => {
  const begun = Date.now()
  const user = await world.user()
  const calls = new Calls()
  const fault = new Fault(world, at)
  const scene: Scene = { world, user, editedAt: begun, begin: () => fault.arm() }
  const laws = new Laws(scene, story)
  let lastWrite = begun
  const judge =
    (to: Call["to"]) =>
    async (request: ProxiedRequest): Promise<Fate> => {
      await laws.judge(to, request)
      const changes = isWrite(request)
      if (changes) lastWrite = Date.now()
      const call = fault.armed ? calls.count(to, request, changes) : undefined
      return call === undefined ? "pass" : fault.fateOf(call)
    }
  world.api.judge = judge("kubernetes")
  world.admin.judge = judge("admin")
  try {
    await story.play(scene)
    await fault.over()
    await waitFor("the operator to come to rest", () => Date.now() - lastWrite > rest, { timeoutMs: restless })
    laws.end(fault.struck, at?.trouble.name === "API server killed")
  } catch (error) {
    laws.broken.add(error instanceof Error ? error.message : String(error))
  } finally {
    await fault.over().catch((error: unknown) => laws.broken.add(String(error)))
    for (const proxy of [world.api, world.admin]) proxy.judge = () => "pass"
    if (laws.broken.size === 0 && (await user.get()) !== undefined) await world.remove(user)
  }
  return { calls: calls.all, struck: fault.struck !== undefined, seconds: (Date.now() - begun) / 1000, broken: [...laws.broken] }
}

/** One thing that goes wrong, once. */
class Fault {
  readonly #world: OperatorWorld
  readonly #at: { readonly trouble: Trouble; readonly call: Call } | undefined
  #since = 0
  #strike: Promise<void> = Promise.resolve()
  armed = false
  struck: Call | undefined

  constructor(world: OperatorWorld, at: { readonly trouble: Trouble; readonly call: Call } | undefined) {
    this.#world = world
    this.#at = at
    for (const proxy of [world.api, world.admin]) proxy.onFault = () => this.#carriedOut()
  }

  arm(): void {
    this.armed = true
  }

  fateOf(call: Call): Fate {
    if (this.#at === undefined) return "pass"
    const { call: chosen, trouble } = this.#at
    if (this.struck !== undefined)
      return call.what === chosen.what && Date.now() - this.#since < (trouble.lasts ?? 0) ? trouble.fate : "pass"
    if (!isSame(call, chosen)) return "pass"
    this.struck = call
    this.#since = Date.now()
    if (trouble.fate === "pass") this.#carriedOut()
    return trouble.fate
  }

  /** Until what was struck runs again. */
  over(): Promise<void> {
    return this.#strike
  }

  #carriedOut(): void {
    const strike = this.#at?.trouble.strike
    if (strike !== undefined) this.#strike = strike(this.#world)
  }
}
