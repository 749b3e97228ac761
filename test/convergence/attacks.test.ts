/** Histories that once lost work or got stuck for ever: an attacker found each of them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { settings } from "../support/given.ts"
import { deploymentRef, type Wish, World } from "../support/world.ts"
import { meta } from "../support/world-kubernetes.ts"
import { imageOf, replicasOf } from "../support/world-pods.ts"
import type { Tree } from "../support/world-tree.ts"

const name = "greeter"
const { annotations } = settings.vocabulary
const [oldUrl, newUrl] = ["http://admin:9070", "http://other:9070"] as const
const v1: Wish = { image: `${name}:v1`, replicas: 1, drainDelaySeconds: 5, revisionHistoryLimit: 10 }
const v3: Wish = { ...v1, image: `${name}:v3` }

const pass = (seconds: number) => TestClock.adjust(seconds * 1000)

/** A person and what they do to one object; the first admin server is that of `oldUrl`. */
class Person {
  readonly world: World

  constructor(world: World) {
    this.world = world
  }

  put(wish: Wish, register: Tree = { url: oldUrl }): void {
    this.world.apply(name, wish)
    this.world.api.edit(deploymentRef(name), { spec: { restate: { register: { url: null, cluster: null, ...register } } } })
  }

  get isThere(): boolean {
    return this.world.api.get(deploymentRef(name)) !== undefined
  }

  set(wish: Wish): Tree {
    return this.world.versions(name).find((version) => imageOf(version) === wish.image) ?? {}
  }

  pods(wish: Wish): number {
    return replicasOf(this.set(wish))
  }

  annotate(wish: Wish, changed: { readonly [key: string]: string | null }): void {
    this.world.api.edit(
      { kind: "ReplicaSet", namespace: "default", name: meta(this.set(wish)).name },
      { metadata: { annotations: changed } },
    )
  }

  /** What became of the first invocation. */
  get first(): string | undefined {
    return this.world.admin.invocations[0]?.state
  }
}

const attack = (title: string, play: (person: Person) => Effect.Effect<void>) =>
  it.effect(title, () => World.make({ seed: 1, startup: () => 500 }).pipe(Effect.flatMap((world) => play(new Person(world)))), 60_000)

describe("a register target that moved", () => {
  attack("holds the version by the work on the old server, also after the next template", (person) =>
    Effect.gen(function* () {
      const there = person.world.another(newUrl)
      person.put(v1)
      yield* pass(20)
      person.world.admin.start(name, 300_000, 100)
      yield* pass(1)
      person.put(v1, { url: newUrl })
      yield* pass(30)
      assert.isDefined(there.latest(name), "the new server serves at once")
      person.put(v3, { url: newUrl })
      yield* pass(60)
      assert.strictEqual(person.pods(v1), 1)
      yield* pass(3600)
      assert.deepStrictEqual([person.first, person.pods(v1), person.world.admin.latest(name)], ["completed", 0, undefined])
    }),
  )

  attack("holds the version by a delayed call on the old server", (person) =>
    Effect.gen(function* () {
      person.world.another(newUrl)
      person.put(v1)
      yield* pass(20)
      person.world.admin.schedule(name, 600_000, 5_000)
      person.put(v1, { url: newUrl })
      yield* pass(30)
      person.put(v3, { url: newUrl })
      yield* pass(3600)
      assert.strictEqual(person.first, "completed")
    }),
  )

  attack("holds a deletion by a delayed call on the old server", (person) =>
    Effect.gen(function* () {
      person.world.another(newUrl)
      person.put(v1)
      yield* pass(20)
      person.world.admin.schedule(name, 300_000, 5_000)
      person.put(v1, { url: newUrl })
      yield* pass(30)
      person.world.delete(name)
      yield* pass(3600)
      assert.deepStrictEqual([person.first, person.isThere], ["completed", false])
    }),
  )

  attack("does not forget where a version is that was taken over without a record of its server", (person) =>
    Effect.gen(function* () {
      person.world.another(newUrl)
      person.put(v1)
      yield* pass(20)
      person.annotate(v1, { [annotations.registeredWith]: null })
      person.world.admin.start(name, 1_200_000, 100)
      yield* pass(400)
      person.put(v3, { url: newUrl })
      yield* pass(60)
      assert.strictEqual(person.pods(v1), 1)
    }),
  )

  attack("does not forget a version that was registered by an operator who died before it wrote that down", (person) =>
    Effect.gen(function* () {
      const { world } = person
      world.another(newUrl)
      world.downtime = () => 30_000
      world.fate = ({ what }) => {
        if (!what.startsWith("register")) return "pass"
        world.fate = () => "pass"
        return "after"
      }
      person.put(v1)
      yield* pass(5)
      world.admin.start(name, 600_000, 100)
      yield* pass(5)
      person.put(v3, { url: newUrl })
      yield* pass(40)
      assert.strictEqual(person.pods(v1), 1)
    }),
  )

  attack("is another name of the same server: nothing is deregistered, and a rollback goes on", (person) =>
    Effect.gen(function* () {
      const respelt = { url: "http://admin.default.svc:9070" }
      person.put(v1)
      yield* pass(20)
      person.world.admin.start(name, 86_400_000, 100)
      yield* pass(1)
      person.put(v3, respelt)
      yield* pass(30)
      person.put(v1, respelt)
      yield* pass(3600)
      assert.strictEqual(person.world.admin.latest(name), "dp_1")
    }),
  )

  attack("is followed although the old server is dead", (person) =>
    Effect.gen(function* () {
      const there = person.world.another(newUrl)
      person.put(v1)
      yield* pass(20)
      person.world.network.gone.add(oldUrl)
      person.put(v1, { url: newUrl })
      yield* pass(120)
      assert.isDefined(there.latest(name))
    }),
  )

  attack("from a ServiceCluster that was deleted since does not hold a deletion", (person) =>
    Effect.gen(function* () {
      const { world } = person
      for (const cluster of ["a", "b"]) {
        world.api.make({ kind: "cluster", name: cluster }, { spec: {}, status: { conditions: [{ type: "Ready", status: "True" }] } })
        world.another(`http://service.${cluster}.svc.cluster.local:9070`)
      }
      person.put(v1, { cluster: "a" })
      yield* pass(20)
      person.put(v1, { cluster: "b" })
      yield* pass(60)
      world.api.delete({ kind: "cluster", name: "a" })
      world.network.gone.add("http://service.a.svc.cluster.local:9070")
      yield* pass(60)
      world.delete(name)
      yield* pass(3600)
      assert.isFalse(person.isThere)
    }),
  )
})

describe("one answer", () => {
  attack("of an empty server, for longer than the drain delay, does not end a version", (person) =>
    Effect.gen(function* () {
      const { world } = person
      const patient = { drainDelaySeconds: 300 }
      person.put({ ...v1, ...patient })
      yield* pass(20)
      world.admin.start(name, 3_000_000, 100)
      yield* pass(1)
      person.put({ ...v3, ...patient })
      yield* pass(60)
      world.another(oldUrl)
      yield* pass(900)
      assert.include(
        world.api.all("Event").map((event) => event["reason"]),
        "ServerForgotVersions",
      )
      world.network.others.delete(oldUrl)
      yield* pass(7200)
      assert.strictEqual(person.first, "completed")
    }),
  )

  attack("that is too short does not end a deletion without a delay", (person) =>
    Effect.gen(function* () {
      const { world } = person
      person.put({ ...v1, drainDelaySeconds: 0 })
      yield* pass(20)
      world.admin.start(name, 60_000, 100)
      yield* pass(1)
      world.network.forge = () => {
        world.network.forge = (usage) => usage
        return new Map()
      }
      world.delete(name)
      yield* pass(3600)
      assert.deepStrictEqual([person.first, person.isThere], ["completed", false])
    }),
  )

  attack("that lacks a version does not end it in a rollout without a delay", (person) =>
    Effect.gen(function* () {
      const { world } = person
      const hasty = { drainDelaySeconds: 0 }
      person.put({ ...v1, ...hasty })
      yield* pass(20)
      world.admin.start(name, 600_000, 100)
      yield* pass(1)
      person.put({ ...v3, ...hasty })
      yield* pass(60)
      world.network.forge = (usage) => {
        world.network.forge = (real) => real
        return new Map([...usage].slice(1))
      }
      yield* pass(3600)
      assert.strictEqual(person.first, "completed")
    }),
  )
})

describe("a removal", () => {
  attack("by force ends with the force: what has not gone yet stays", (person) =>
    Effect.gen(function* () {
      const { world } = person
      const last = { ...v1, image: `${name}:d` }
      for (const letter of ["a", "b", "c", "d"]) {
        person.put({ ...v1, image: `${name}:${letter}` })
        yield* pass(20)
        world.admin.start(name, 3_000_000, 100)
        yield* pass(1)
      }
      person.put({ ...last, deletePolicy: "force" })
      yield* pass(5)
      world.slow = 1_500
      let gone = 0
      world.onWrite = (write) => {
        if (write._tag === "Forget" && (gone += 1) === 1) world.after(10, () => person.put({ ...last, deletePolicy: "drain" }))
      }
      world.delete(name)
      yield* pass(60)
      assert.strictEqual(world.admin.invocations.filter(({ state }) => state === "lost").length, 1)
    }),
  )

  attack("without a delay deregisters oldest first, so that the server never falls back to what goes next", (person) =>
    Effect.gen(function* () {
      const { world } = person
      const busy: Array<string> = []
      for (const version of ["v1", "v3", "v4", "v5"]) {
        person.put({ ...v1, drainDelaySeconds: 0, image: `${name}:${version}` })
        yield* pass(20)
      }
      let gone = 0
      world.onWrite = (write) => {
        if (write._tag !== "Forget") return
        if ((gone += 1) > 1 && gone < 4 && world.admin.workOf(write.id).length > 0) busy.push(write.id)
        world.after(2, () => world.admin.start(name, 1000, 100))
      }
      world.delete(name)
      yield* pass(60)
      assert.deepStrictEqual(busy, [])
    }),
  )
})

describe("work without pods", () => {
  attack("gets them back when the object that was scaled to zero is scaled up with a new template", (person) =>
    Effect.gen(function* () {
      person.put(v1)
      yield* pass(20)
      person.world.admin.start(name, 60_000, 100)
      yield* pass(1)
      person.put({ ...v1, replicas: 0 })
      yield* pass(30)
      person.put(v3)
      yield* pass(7200)
      assert.strictEqual(person.first, "completed")
    }),
  )

  attack("gets them back when an object in deletion is scaled up", (person) =>
    Effect.gen(function* () {
      person.put(v1)
      yield* pass(20)
      person.world.admin.start(name, 60_000, 100)
      yield* pass(1)
      person.put({ ...v1, replicas: 0 })
      yield* pass(10)
      person.world.delete(name)
      yield* pass(60)
      person.put(v1)
      yield* pass(7200)
      assert.isFalse(person.isThere)
    }),
  )

  attack("can be reached again when its Service is deleted during a deletion", (person) =>
    Effect.gen(function* () {
      person.put(v1)
      yield* pass(20)
      person.world.admin.start(name, 60_000, 100)
      yield* pass(1)
      person.world.delete(name)
      yield* pass(10)
      person.world.api.delete({ kind: "Service", namespace: "default", name: meta(person.set(v1)).name })
      yield* pass(7200)
      assert.isFalse(person.isThere)
    }),
  )
})

describe("a person", () => {
  attack("who wrote nonsense into the record of the server gets rid of the object by force", (person) =>
    Effect.gen(function* () {
      person.put(v1)
      yield* pass(20)
      person.annotate(v1, { [annotations.registeredWith]: "nonsense" })
      yield* pass(5)
      person.put({ ...v1, deletePolicy: "force" })
      yield* pass(5)
      person.world.delete(name)
      yield* pass(3600)
      assert.isFalse(person.isThere)
    }),
  )

  attack("who shortens the drain delay need not wait for the old deadline", (person) =>
    Effect.gen(function* () {
      const month = { drainDelaySeconds: 2_592_000 }
      person.put({ ...v1, ...month })
      yield* pass(20)
      person.put({ ...v3, ...month })
      yield* pass(20)
      person.put(v3)
      yield* pass(60)
      person.world.delete(name)
      yield* pass(7200)
      assert.isFalse(person.isThere)
    }),
  )
})
