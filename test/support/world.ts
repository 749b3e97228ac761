/**
 * A world in memory and in virtual time: an API server with its controllers, a durable-execution server with people's
 * invocations, and an operator that lives, dies and starts again between them.
 */
import { Clock, Effect, Fiber, FiberSet, Random, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { type Dice, dice } from "../kubernetes/random.ts"
import type { Objects } from "#src/kubernetes/kubernetes.ts"
import { grace } from "#src/runtime/queue.ts"
import { settings, start } from "./given.ts"
import { DurableServer } from "./world-admin.ts"
import { ApiServer, meta } from "./world-kubernetes.ts"
import { type Call, type Fate, type Link, Network, type Write } from "./world-network.ts"
import { operate } from "./world-operator.ts"
import { imageOf, readyPods, runControllers } from "./world-pods.ts"
import { type Tree, treeOf } from "./world-tree.ts"

/** The parts of a ServiceDeployment's spec that people change here. */
export interface Wish {
  readonly image: string
  readonly replicas: number
  readonly drainDelaySeconds: number
  readonly revisionHistoryLimit: number
  /** Null takes it away. */
  readonly autoscaling?: { readonly maxReplicas: number } | null
  readonly deletePolicy?: "drain" | "force"
}

const namespace = "default"
export const deploymentRef = (name: string) => ({ kind: "deployment", namespace, name }) as const

/** The services behind an image: all versions have the first, `v2` has one more, and `bad` images never start. */
export const servicesOf = (image: string): ReadonlyArray<string> => {
  const [name = "", variant] = image.split(":")
  return variant === "v2" ? [name, `${name}-extra`] : [name]
}

export interface WorldOptions {
  readonly seed: number
  /** Milliseconds until a pod is ready. */
  readonly startup?: () => number
}

export class World {
  readonly now: () => number
  /** Does something later. */
  readonly after: (milliseconds: number, then: () => void) => void
  readonly api: ApiServer
  readonly admin: DurableServer
  readonly network: Network
  readonly dice: Dice
  /** One line for each call of the operator and each event, for people. */
  readonly trace: Array<string> = []
  /** Writes of the operator that reached a server, events included. */
  writes = 0
  /** When the last one did. */
  lastWrite = 0
  /** Chooses what becomes of calls. */
  fate: (call: Call) => Fate = () => "pass"
  /** Milliseconds by which the watch of each kind lags. */
  lag: (kind: keyof Objects) => number
  /** Milliseconds that the operator stays down after a crash. */
  downtime: () => number = () => 1_000
  /** Milliseconds that an admin call takes longer, each way. */
  slow = 0
  onWrite: (write: Write, link: Link) => void = () => {}
  onCrash: () => void = () => {}
  readonly #fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  #life: { readonly link: Link; readonly fiber: Fiber.Fiber<void> } | undefined

  private constructor({ seed, startup }: WorldOptions, clock: Clock.Clock, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.dice = dice(seed)
    this.#fork = fork
    const now = () => clock.currentTimeMillisUnsafe()
    const after = (milliseconds: number, then: () => void) => void fork(Effect.andThen(Effect.sleep(milliseconds), Effect.sync(then)))
    this.now = now
    this.after = after
    this.lag = () => 1 + this.dice.below(20)
    this.api = new ApiServer(settings.vocabulary, now)
    this.admin = new DurableServer({ now, after, discover: (endpoint) => this.#discover(endpoint) })
    runControllers(this.api, {
      after,
      reaction: () => 1 + this.dice.below(50),
      startup: (image) => (image.endsWith(":bad") ? undefined : (startup?.() ?? 200 + this.dice.below(4_000))),
    })
    this.network = new Network({
      api: this.api,
      admin: this.admin,
      now,
      latency: (to) => (to === "admin" ? this.slow : 0) + 1 + this.dice.below(to === "admin" ? 25 : 10),
      fate: (call) => this.fate(call),
      onCall: ({ to, what, write }, fate) => {
        if (write || fate !== "pass") this.note(`${to === "admin" ? "admin" : "kube "} ${what}${fate === "pass" ? "" : ` [${fate}]`}`)
      },
      onWrite: (write, link) => {
        this.writes += 1
        this.lastWrite = now()
        this.onWrite(write, link)
      },
      crash: (link) => this.crash(link),
    })
  }

  /** An empty world with a running operator; it ends with the scope. The clock of the test is set to {@link start}. */
  static readonly make = Effect.fnUntraced(function* (options: WorldOptions): Effect.fn.Return<World, never, Scope.Scope> {
    yield* TestClock.setTime(start)
    const fork = yield* FiberSet.makeRuntime<never, void, never>()
    const world = new World(options, yield* Clock.Clock, (effect) => fork(effect))
    yield* Effect.addFinalizer(() => world.#end())
    world.boot()
    return world
  })

  note(line: string): void {
    this.trace.push(`${((this.now() - start) / 1000).toFixed(3).padStart(9)} ${line}`)
  }

  /** Starts the operator; it knows nothing of an earlier life. */
  boot(): void {
    if (this.#life?.link.alive === true) return
    const link = { alive: true, askedAt: -Infinity }
    const { api, network, now } = this
    const lag = (kind: keyof Objects) => this.lag(kind)
    const life = operate({ settings, api, network, link, now, lag }).pipe(Random.withSeed(`operator ${this.dice.below(2 ** 30)}`))
    this.#life = { link, fiber: this.#fork(life) }
  }

  /** An operator that stops waits a while for passes in flight: the clock must go on for that long. */
  #end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#life === undefined) return Effect.void
      this.#life.link.alive = false
      this.#fork(Effect.asVoid(Fiber.interrupt(this.#life.fiber)))
      return TestClock.adjust(2 * grace)
    })
  }

  /** SIGKILL: from this moment on nothing is sent and no answer heard. It starts again after a while. */
  crash(link = this.#life?.link): void {
    if (link === undefined || !link.alive || this.#life === undefined) return
    link.alive = false
    this.note("operator dies")
    this.onCrash()
    const { fiber } = this.#life
    const downtime = this.downtime()
    // Its fibers may linger while they are interrupted: their calls go nowhere.
    this.#fork(Effect.asVoid(Fiber.interrupt(fiber)))
    this.#fork(
      Effect.andThen(
        Effect.sleep(downtime),
        Effect.sync(() => {
          this.note("operator starts")
          this.boot()
        }),
      ),
    )
  }

  /** A person applies a manifest: makes the object or changes its spec. */
  apply(name: string, wish: Wish): void {
    const { autoscaling, deletePolicy, drainDelaySeconds, image, replicas, revisionHistoryLimit } = wish
    this.note(`person applies ${name} ${JSON.stringify(wish)}`)
    const spec = {
      replicas,
      revisionHistoryLimit,
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "app", image }] } },
      selector: { matchLabels: { app: name } },
      ...(autoscaling === undefined ? {} : { autoscaling }),
      restate: { register: { url: "http://admin:9070" }, drainDelaySeconds, ...(deletePolicy === undefined ? {} : { deletePolicy }) },
    }
    if (this.api.get(deploymentRef(name)) === undefined) this.api.make(deploymentRef(name), { spec })
    else this.api.edit(deploymentRef(name), { spec })
  }

  /** Another durable-execution server behind this base URL. */
  another(base: string): DurableServer {
    const prefix = `dp${this.network.others.size + 2}`
    const server = new DurableServer({ now: this.now, after: this.after, discover: (endpoint) => this.#discover(endpoint) }, prefix)
    this.network.others.set(base, server)
    return server
  }

  delete(name: string): void {
    this.note(`person deletes ${name}`)
    this.api.delete(deploymentRef(name))
  }

  /** Versions of an object, as the API server has them. */
  versions(name: string): ReadonlyArray<Tree> {
    return this.api.all("ReplicaSet").filter((set) => meta(set).labels[settings.vocabulary.labels.ownedBy] === name)
  }

  /** Ids under which the durable-execution server knows a version. */
  idsOf(version: string): ReadonlyArray<string> {
    return this.admin.idsAt(`${version}.${namespace}.svc.`)
  }

  /** What the pods behind an address offer, if there are any. */
  #discover(endpoint: string): ReadonlyArray<string> | undefined {
    const [name = ""] = new URL(endpoint).host.split(".")
    const set = this.api.get({ kind: "ReplicaSet", namespace, name })
    return set !== undefined && readyPods(set) > 0 && this.api.get({ kind: "Service", namespace, name }) !== undefined
      ? servicesOf(imageOf(set))
      : undefined
  }
}

export const statusOf = (object: Tree | undefined): Tree => treeOf(object?.["status"])
