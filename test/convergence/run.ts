/** Plays a history in a world and says which laws it broke, and what it has touched. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { wantedVersion } from "#src/deployment/version.ts"
import type { Ref } from "#src/engine/action.ts"
import type { ServiceDeployment } from "#src/resources/generated/service-deployment.ts"
import { settings } from "../support/given.ts"
import { deploymentRef, servicesOf, type Wish, World } from "../support/world.ts"
import { meta, text } from "../support/world-kubernetes.ts"
import type { Tree } from "../support/world-tree.ts"
import { imageOf, replicasOf } from "../support/world-pods.ts"
import type { Event, History } from "./history.ts"
import { Laws } from "./laws.ts"

export interface Played {
  readonly broken: ReadonlyArray<string>
  readonly touched: ReadonlySet<string>
  readonly trace: ReadonlyArray<string>
}

/** Milliseconds after the end of all work and faults by which everything must be as it should be: the longest drain delay, two polls, one backoff. */
const bounds = { prompt: 100_000, faulty: 900_000 } as const

/** Milliseconds without a write that prove that nothing is left to do. */
const stillness = 600_000

const { vocabulary } = settings

const first: Wish = { image: "", replicas: 1, drainDelaySeconds: 5, revisionHistoryLimit: 1 }

export const play = Effect.fnUntraced(function* (history: History) {
  const world = yield* World.make({ seed: history.seed })
  const laws = new Laws(world)
  const story = new Story(world, history)
  for (const { event, gap } of history.moments) {
    yield* TestClock.adjust(gap)
    story.perform(event)
  }
  yield* TestClock.adjust(story.untilHealed())
  story.calm()
  yield* finish(world, laws, story, history.faulty)
  return { broken: laws.broken, touched: story.touched(laws), trace: world.trace } satisfies Played
}, Effect.scoped)

/** From here on nobody does anything: work ends, then the world settles, then nothing moves any more. */
export const finish = Effect.fnUntraced(function* (world: World, laws: Laws, story: Pick<Story, "wishes" | "cancel">, faulty: boolean) {
  let since = world.now()
  for (;;) {
    yield* TestClock.adjust(2_000)
    const work = laws.unfinished()
    if (work.length > 0 && world.now() - since < 1_200_000) {
      // Work that came to a terminating object and has no pods to go to: people cancel it, as the condition advises.
      if (world.now() - since > 400_000) story.cancel()
      continue
    }
    if (work.length > 0)
      laws.break(
        `${work.map(({ name, on, state }) => `${name} is ${state}${on === undefined ? "" : ` on ${on}`}`).join(", ")} and never ends`,
      )
    break
  }
  since = world.now()
  const unsettled = () => [...story.wishes].flatMap(([name, wish]) => laws.unsettled(name, wish) ?? [])
  while (unsettled().length > 0 && world.now() - since < (faulty ? bounds.faulty : bounds.prompt)) yield* TestClock.adjust(2_000)
  if (unsettled().length > 0) return laws.break(`not done ${(world.now() - since) / 1000} s after all work was: ${unsettled().join("; ")}`)
  // The last status, and looks that are repeated because an earlier one failed.
  yield* TestClock.adjust(60_000)
  const before = world.writes
  yield* TestClock.adjust(stillness)
  if (world.writes > before) laws.break(`${world.writes - before} writes although nothing was left to do`)
  if (unsettled().length > 0) laws.break(`did not stay done: ${unsettled().join("; ")}`)
})

/** What people want at the moment, and what is wrong with the world. */
class Story {
  /** undefined: the object is, or is to be, gone. */
  readonly wishes = new Map<string, Wish | undefined>()
  readonly #world: World
  readonly #touched = new Set<string>()
  readonly #squatters: Array<Ref> = []
  #healed = 0

  constructor(world: World, history: History) {
    this.#world = world
    world.onCrash = () => this.#touched.add("crash")
    world.downtime = () => world.dice.pick([50, 1_000, 15_000])
    if (history.objects.length > 1) this.#touched.add("two objects")
    if (!history.faulty) this.#touched.add("no faults")
  }

  touched(laws: Laws): ReadonlySet<string> {
    if (laws.raced.size > 0) this.#touched.add("work that came too late")
    if (laws.collisions > 0) this.#touched.add("collision")
    return this.#touched
  }

  perform(event: Event): void {
    const world = this.#world
    switch (event._tag) {
      case "Create":
        return this.#create(event.object)
      case "Image":
        return this.#change(event.object, { image: `${event.object}:${event.variant}` })
      case "Scale":
        return this.#change(event.object, { replicas: event.replicas })
      case "Delay":
        return this.#change(event.object, { drainDelaySeconds: event.seconds })
      case "Limit":
        return this.#change(event.object, { revisionHistoryLimit: event.limit })
      case "Start":
        world.note(`people start ${event.count} × ${event.work / 1000} s of ${event.object}`)
        for (let n = 0; n < event.count; n += 1) world.admin.start(event.object, event.work, event.attempt)
        return
      case "Delete":
        return this.#delete(event.object, event.force)
      case "Autoscale":
        return this.#change(event.object, { autoscaling: event.on ? { maxReplicas: 3 } : null })
      case "Suspend":
        return this.#suspend(event.object, event.milliseconds)
      case "Occupy":
        return this.#occupy(event.object, event.variant)
      case "Crash":
        return world.crash()
      case "Fault":
        return this.#arm(event)
      case "Outage":
        this.#touched.add("outage")
        if (this.#deadlines().some((at) => at > world.now() && at < world.now() + event.milliseconds))
          this.#touched.add("outage over a deadline")
        world.note(`admin server ${event.mode} for ${event.milliseconds / 1000} s`)
        world.network.admin = event.mode
        return this.#until(event.milliseconds, () => (world.network.admin = "up"))
      case "Unanswered":
        this.#touched.add("query answers 500")
        world.network.queries = false
        return this.#until(event.milliseconds, () => (world.network.queries = true))
      case "Lag": {
        this.#touched.add("stale cache")
        world.note(`the watch of ${event.kind} lags by ${event.by / 1000} s`)
        const before = world.lag
        world.lag = (kind) => (kind === event.kind ? event.by : before(kind))
        return this.#until(event.milliseconds, () => (world.lag = before))
      }
    }
  }

  /** Milliseconds until the last fault is over. */
  untilHealed(): number {
    return Math.max(0, this.#healed - this.#world.now()) + 1
  }

  /** No more faults, and a last wish that can come true. */
  calm(): void {
    this.#world.fate = () => "pass"
    for (const [name, wish] of this.wishes) if (wish?.image.endsWith(":bad") === true) this.#change(name, { image: `${name}:v1` })
    for (const ref of this.#squatters) this.#world.api.delete(ref)
    this.#world.note("from here on nobody does anything")
  }

  /** People cancel what no pod will ever take, of objects that are to go. */
  cancel(): void {
    const going = [...this.wishes].filter(([, wish]) => wish === undefined).map(([name]) => name)
    this.#world.admin.cancel(new Set(going.flatMap((name) => [name, `${name}-extra`])))
  }

  #create(name: string): void {
    // The name may still be held by an object that is on its way out.
    if (this.#world.api.get(deploymentRef(name)) !== undefined) return
    if (this.wishes.has(name)) this.#touched.add("made again")
    const wish = {
      ...first,
      image: `${name}:v1`,
      drainDelaySeconds: this.#world.dice.pick([0, 1, 5, 5, 30]),
      revisionHistoryLimit: this.#world.dice.below(3),
    }
    this.wishes.set(name, wish)
    this.#world.apply(name, wish)
  }

  #change(name: string, change: Partial<Wish>): void {
    const before = this.wishes.get(name)
    if (before === undefined) return
    const wish = { ...before, ...change }
    if (wish.image !== before.image) {
      if (wish.image.endsWith(":bad")) this.#touched.add("a version that never starts")
      const known = this.#world.versions(name).find((set) => imageOf(set) === wish.image)
      if (known !== undefined) this.#touched.add(replicasOf(known) > 0 ? "rollback mid-drain" : "rollback to a resting version")
      if (known !== undefined && this.#isHalf(known)) this.#touched.add("half-superseded")
    }
    if (wish.autoscaling) this.#touched.add("autoscaling")
    this.wishes.set(name, wish)
    this.#world.apply(name, wish)
  }

  #delete(name: string, force: boolean): void {
    const wish = this.wishes.get(name)
    if (wish === undefined) return
    this.wishes.set(name, undefined)
    const busy = this.#world
      .versions(name)
      .some((set) => this.#world.idsOf(meta(set).name).some((id) => this.#world.admin.workOf(id).length > 0))
    this.#touched.add(force ? "deletion by force" : busy ? "deletion with work" : "deletion without work")
    if (force) this.#world.apply(name, { ...wish, deletePolicy: "force" })
    this.#world.delete(name)
  }

  /** A version that has lost some of its services and not all. */
  #isHalf(set: Tree): boolean {
    const { admin } = this.#world
    const ids = this.#world.idsOf(meta(set).name)
    const kept = servicesOf(imageOf(set)).filter((service) => ids.includes(admin.latest(service) ?? ""))
    return kept.length > 0 && kept.length < servicesOf(imageOf(set)).length
  }

  /** Removal deadlines that are written down. */
  #deadlines(): ReadonlyArray<number> {
    return this.#world.api
      .all("ReplicaSet")
      .map((set) => Date.parse(text(meta(set).annotations[vocabulary.annotations.removeAt])))
      .filter((at) => !Number.isNaN(at))
  }

  #suspend(name: string, milliseconds: number): void {
    if (this.wishes.get(name) === undefined) return
    this.#touched.add("suspension")
    this.#world.note(`people suspend ${name} for ${milliseconds / 1000} s`)
    const mark = (value: string | null) =>
      this.#world.api.edit(deploymentRef(name), { metadata: { annotations: { [vocabulary.annotations.reconcile]: value } } })
    mark("disabled")
    this.#until(milliseconds, () => mark(null))
  }

  /** Somebody has a ReplicaSet of that very name. */
  #occupy(name: string, variant: string): void {
    const object = this.#world.api.get(deploymentRef(name))
    if (object === undefined) return
    const ref = { kind: "ReplicaSet", namespace: "default", name: nameOfVersion(object, `${name}:${variant}`) } as const
    if (this.#world.api.get(ref) !== undefined) return
    this.#world.note(`somebody makes a ReplicaSet ${ref.name} of their own`)
    this.#world.api.make(ref, { spec: { replicas: 0, selector: {} } })
    this.#squatters.push(ref)
  }

  #arm({ fate, of, skip }: Extract<Event, { readonly _tag: "Fault" }>): void {
    let left = skip
    this.#world.fate = (call) => {
      const registers = call.to === "admin" && /^(register|promote) /.test(call.what)
      if ((of === "writes" && !call.write) || (of === "registrations" && !registers)) return "pass"
      if (fate === "conflict" && call.to !== "kubernetes") return "pass"
      left -= 1
      if (left >= 0) return "pass"
      this.#world.fate = () => "pass"
      if (registers && fate === "after") this.#touched.add("crash between register and record")
      this.#touched.add(
        fate === "before" || fate === "after"
          ? "crash at a call"
          : fate === "lost"
            ? "lost answer"
            : fate === "error"
              ? "error"
              : "conflict",
      )
      return fate
    }
  }

  #until(milliseconds: number, then: () => void): void {
    this.#healed = Math.max(this.#healed, this.#world.now() + milliseconds)
    this.#world.after(milliseconds, then)
  }
}

/** The name that the version of an image would have now. */
const nameOfVersion = (object: Tree, image: string): string => {
  const copy: ServiceDeployment = JSON.parse(JSON.stringify(object))
  const [container] = JSON.parse(JSON.stringify(copy.spec.template.spec["containers"]))
  const spec = { ...copy.spec.template.spec, containers: [{ ...container, image }] }
  return wantedVersion({ ...copy, spec: { ...copy.spec, template: { ...copy.spec.template, spec } } }).name
}
