import { performance } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { waitFor } from "../sandbox/wait.ts"
import { cpuBetween, cpuSeconds } from "./cpu.ts"
import { names, type Phase, phaseOf, round } from "./phase.ts"
import type { Recorder } from "./recorder.ts"
import { isWatch, isWrite } from "./request-record.ts"
import type { World } from "./world.ts"

/** Milliseconds without a request to the API server after which a phase has no more to come. */
const quiet = 1_500
/** An operator that is not quiet by then never will be; what it goes on doing is the next phase's. */
const patience = 15_000

export interface PhasesOptions {
  readonly world: World
  readonly recorder: Recorder
  readonly count: number
  readonly steadySeconds: number
  readonly progress: (line: string) => void
}

/** Called at the moment when all objects are Ready. */
type Converged = () => void

/** Does to a world what users do, one phase after the other, and measures each. */
export class Phases {
  readonly #world: World
  readonly #recorder: Recorder
  readonly #count: number
  readonly #steadySeconds: number
  readonly #progress: (line: string) => void
  #between = 0

  constructor({ world, recorder, count, steadySeconds, progress }: PhasesOptions) {
    this.#world = world
    this.#recorder = recorder
    this.#count = count
    this.#steadySeconds = steadySeconds
    this.#progress = progress
  }

  /** Requests that no phase has counted. */
  get between(): number {
    return this.#between
  }

  create(): Promise<Phase> {
    return this.#measure(names.create, async (converged) => {
      await this.#world.fleet.create("service:v1")
      await this.#ready()
      converged()
    })
  }

  rollout(): Promise<Phase> {
    return this.#measure(names.rollout, async (converged) => {
      await this.#world.fleet.rollTo("service:v2")
      await this.#ready()
      converged()
      await this.#versions(this.#count)
    })
  }

  /** The invocations are there before; this ends when the new versions are Ready and the old ones stay. */
  pinnedRollout(): Promise<Phase> {
    return this.#measure(names.pinnedRollout, async (converged) => {
      await this.#world.fleet.rollTo("service:v3")
      await this.#ready()
      converged()
    })
  }

  async draining(): Promise<Phase> {
    const phase = await this.#rest(names.draining)
    const pinned = await this.#world.work.pinned()
    if (pinned !== this.#count || this.#world.controllers.versions !== 2 * this.#count)
      throw new Error(`a version went while work was pinned to it: ${pinned} of ${this.#count} invocations are left`)
    return phase
  }

  burial(): Promise<Phase> {
    return this.#measure(names.burial, async () => {
      await this.#world.work.finish()
      await this.#versions(this.#count)
    })
  }

  steady(): Promise<Phase> {
    return this.#rest(names.steady)
  }

  restart(): Promise<Phase> {
    return this.#measure(names.restart, async (converged) => {
      await this.#world.stopOperator()
      await this.#world.startOperator()
      converged()
    })
  }

  deletion(): Promise<Phase> {
    return this.#measure(names.deletion, async () => {
      await this.#world.fleet.delete()
      await this.#until(
        "the objects to go",
        () => this.#world.fleet.size === 0,
        (world) => `${world.fleet.size} are left`,
      )
      await this.#versions(0)
    })
  }

  #rest(name: string): Promise<Phase> {
    return this.#measure(name, () => sleep(this.#steadySeconds * 1000), false)
  }

  async #ready(): Promise<void> {
    await this.#until(
      "all objects to be Ready",
      ({ fleet }) => fleet.ready === this.#count,
      ({ fleet }) => [`${fleet.ready} of ${this.#count} are`, ...fleet.complaints()].join("\n  "),
    )
  }

  /** Until that many versions are left, in the cluster and on the server. */
  async #versions(count: number): Promise<void> {
    await this.#until(`${count} versions to be left`, ({ controllers }) => controllers.versions === count, left)
    await this.#until("the server to forget the others", async ({ work }) => (await work.registered()) === count, left, 250)
  }

  async #until(
    what: string,
    attempt: (world: World) => boolean | Promise<boolean>,
    state: (world: World) => string,
    everyMs = 20,
  ): Promise<void> {
    const timeoutMs = 120_000 + 500 * this.#count
    let told = Date.now()
    const look = (): boolean | Promise<boolean> => {
      if (Date.now() - told > 2_000) {
        told = Date.now()
        this.#progress(`waiting for ${what}: ${state(this.#world).split("\n")[0] ?? ""}`)
      }
      return attempt(this.#world)
    }
    try {
      await waitFor(what, look, { timeoutMs, everyMs, hopeless: () => this.#world.hopeless })
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n  ${state(this.#world)}`, { cause: error })
    }
  }

  async #measure(name: string, act: (converged: Converged) => Promise<void>, settle = true): Promise<Phase> {
    this.#progress(name)
    const world = this.#world
    this.#between += this.#recorder.take().kubernetes.filter((record) => !isWatch(record)).length
    world.memory.take()
    const ownWrites = world.ownWrites
    const cpu = cpuSeconds(world.sandbox.processes)
    const begun = performance.now()
    const elapsed = (): number => (performance.now() - begun) / 1000
    let converged: Phase["converged"]
    await act(() => {
      converged = {
        seconds: round(elapsed()),
        writes: this.#recorder.sofar.kubernetes.filter(isWrite).length,
        benchWrites: world.ownWrites - ownWrites,
        cpuSeconds: cpuBetween(cpu, cpuSeconds(world.sandbox.processes)),
      }
    })
    const seconds = elapsed()
    if (settle) await this.#quiet()
    return phaseOf({
      name,
      seconds,
      ...(converged === undefined ? {} : { converged }),
      recorded: this.#recorder.take(),
      memory: world.memory.take(),
      benchWrites: world.ownWrites - ownWrites,
      cpuSeconds: cpuBetween(cpu, cpuSeconds(world.sandbox.processes)),
      count: this.#count,
      window: elapsed(),
    })
  }

  async #quiet(): Promise<void> {
    const begun = Date.now()
    const calm = (): boolean => Math.min(this.#recorder.quietFor, Date.now() - begun) >= quiet
    while (!calm() && Date.now() < begun + patience) await sleep(50)
  }
}

const left = ({ controllers }: World): string => `${controllers.versions} ReplicaSets are there`
