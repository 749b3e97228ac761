/** Plays chosen stories with chosen troubles at chosen calls, in several worlds side by side. */
import { OperatorWorld } from "../support/operator-world.ts"
import type { Call } from "./call.ts"
import { run, type Run } from "./run.ts"
import { stories, type Story } from "./stories.ts"
import { type Trouble, troubles } from "./troubles.ts"

export interface Choice {
  /** Parts of titles and names; empty for all. */
  readonly story: string
  readonly trouble: string
  readonly call: string
  /** Each n-th of these runs. */
  readonly every: number
  /** Worlds side by side, each with servers of its own: 1 GiB. */
  readonly worlds: number
  /** Another operator than the one that `make build` leaves. */
  readonly bundle?: string
  /** Enough is known as soon as one run is broken. */
  readonly first?: boolean
}

export interface Job {
  readonly story: Story
  /** `undefined`: nothing goes wrong. */
  readonly at: { readonly call: Call; readonly trouble: Trouble } | undefined
}

export interface Played {
  /** The calls of each story when nothing goes wrong. */
  readonly scripts: ReadonlyMap<Story, ReadonlyArray<Call>>
  readonly jobs: ReadonlyArray<Job>
  readonly results: ReadonlyMap<Job, Run>
}

const matches = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase())

export const nameOf = ({ what, nth }: Call): string =>
  `${what.replace(/\/apis?\/.*\/namespaces\/[^/]+\//, "")}${nth === 1 ? "" : ` (${nth})`}`

export const titleOf = ({ story, at }: Job): string =>
  `${story.title}, ${at === undefined ? "undisturbed" : `${at.trouble.name} at ${nameOf(at.call)}`}`

/** Questions that are asked again and again, such as polls, are tried twice. */
export const isTried = ({ nth, write }: Call): boolean => write || nth <= 2

export const play = async (choice: Choice, say: (line: string) => void): Promise<Played> => {
  const scripts = new Map<Story, ReadonlyArray<Call>>()
  const results = new Map<Job, Run>()
  const broken = (): boolean => [...results.values()].some((result) => result.broken.length > 0)
  const pool = new Worlds(choice, () => choice.first === true && broken())
  const playOne = async (world: OperatorWorld, job: Job): Promise<Run> => {
    const result = await run(world, job.story, job.at)
    results.set(job, result)
    if (result.broken.length > 0) say(`BROKEN  ${titleOf(job)}:\n         ${result.broken.join("\n         ")}`)
    return result
  }
  try {
    const undisturbed = stories.filter(({ title }) => matches(title, choice.story)).map((story): Job => ({ story, at: undefined }))
    await pool.workOff(undisturbed, async (world, job) => {
      const result = await playOne(world, job)
      scripts.set(job.story, result.calls)
      say(`${job.story.title}: ${result.calls.length} calls, ${result.seconds.toFixed(0)} s`)
      return result
    })
    const jobs = undisturbed
      .flatMap(({ story }) => (scripts.get(story) ?? []).map((call) => ({ story, call })))
      .filter(({ call }) => isTried(call) && matches(nameOf(call), choice.call))
      .flatMap(({ story, call }) =>
        troubles
          .filter(({ name, at }) => at(call) && matches(name, choice.trouble))
          .map((trouble): Job => ({ story, at: { call, trouble } })),
      )
      .filter((_, index) => index % choice.every === 0)
    if (broken()) return { scripts, jobs: undisturbed, results }
    say(`${jobs.length} runs`)
    await pool.workOff(jobs, async (world, job) => {
      const result = await playOne(world, job)
      const done = results.size - undisturbed.length
      if (done % 25 === 0) say(`${done} of ${jobs.length} runs`)
      return result
    })
    return { scripts, jobs, results }
  } finally {
    await pool.stop()
  }
}

/** Worlds that are used again. One in which something broke is left for a new one. */
class Worlds {
  readonly #choice: Choice
  readonly #enough: () => boolean
  readonly #idle: Array<OperatorWorld> = []

  constructor(choice: Choice, enough: () => boolean) {
    this.#choice = choice
    this.#enough = enough
  }

  async workOff<T>(items: ReadonlyArray<T>, work: (world: OperatorWorld, item: T) => Promise<Run>): Promise<void> {
    const left = [...items]
    const worker = async (): Promise<void> => {
      for (let item = left.shift(); item !== undefined && !this.#enough(); item = left.shift()) {
        const world = this.#idle.pop() ?? (await OperatorWorld.start("service", undefined, this.#choice.bundle))
        const { broken } = await work(world, item)
        if (broken.length === 0) this.#idle.push(world)
        else await world.stop()
      }
    }
    await Promise.all(Array.from({ length: Math.min(this.#choice.worlds, items.length) }, worker))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#idle.map((world) => world.stop()))
  }
}
