/** Scenarios of the behaviour's catalogue that are stories: the real controller in memory, in virtual time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { settings } from "../support/given.ts"
import { deploymentRef, statusOf, type Wish, World } from "../support/world.ts"
import { list, meta, text } from "../support/world-kubernetes.ts"
import { imageOf, replicasOf } from "../support/world-pods.ts"
import { type Tree, treeOf } from "../support/world-tree.ts"
import { Laws } from "./laws.ts"

const name = "greeter"
const { annotations } = settings.vocabulary
const v1: Wish = { image: `${name}:v1`, replicas: 1, drainDelaySeconds: 5, revisionHistoryLimit: 10 }
const v3: Wish = { ...v1, image: `${name}:v3` }
const bad: Wish = { ...v1, image: `${name}:bad` }

const pass = (seconds: number) => TestClock.adjust(seconds * 1000)

/** One world and the questions that people ask of it. */
class Story {
  readonly world: World
  readonly laws: Laws
  readonly #wishes = new Map<string, Wish>()

  constructor(world: World) {
    this.world = world
    this.laws = new Laws(world)
  }

  wish(wish: Wish): void {
    this.#wishes.set(name, wish)
    this.world.apply(name, wish)
  }

  /** Edits the object as a person does. */
  edit(patch: Tree): void {
    this.world.api.edit(deploymentRef(name), patch)
  }

  get object(): Tree {
    return this.world.api.get(deploymentRef(name)) ?? {}
  }

  get status(): Tree {
    return statusOf(this.object)
  }

  get ready(): Tree {
    return treeOf(list(this.status["conditions"]).find((condition) => treeOf(condition)["type"] === "Ready"))
  }

  version(wish: Wish): Tree {
    return this.world.versions(name).find((set) => imageOf(set) === wish.image) ?? {}
  }

  id(wish: Wish): string {
    return text(meta(this.version(wish)).annotations[annotations.deploymentId])
  }

  pods(wish: Wish): number {
    return replicasOf(this.version(wish))
  }

  events(reason: string): ReadonlyArray<Tree> {
    return this.world.api.all("Event").filter((event) => event["reason"] === reason)
  }

  /** Admin writes so far, as the trace has them. */
  get registrations(): ReadonlyArray<string> {
    return this.world.trace.flatMap((line) => / admin ((?:register|promote) .*)$/.exec(line)?.[1] ?? [])
  }

  end(): void {
    assert.deepStrictEqual(this.laws.broken, [])
  }
}

const story = (title: string, tell: (story: Story) => Effect.Effect<void>) =>
  it.effect(title, () =>
    Effect.gen(function* () {
      const told = new Story(yield* World.make({ seed: 21, startup: () => 1_000 }))
      yield* tell(told)
      told.end()
    }),
  )

describe("a rollout", () => {
  story("makes the objects of a version, registers it without force and says so (scenario 44)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      const version = meta(it.version(v1)).name
      assert.match(version, /^greeter-[4-9bcdf]{1,10}$/)
      assert.isDefined(it.world.api.get({ kind: "Service", namespace: "default", name: version }))
      assert.deepStrictEqual(it.registrations, [`register http://${version}.default.svc.cluster.local:9080/`])
      assert.deepInclude(it.ready, { status: "True", reason: "Deployed" })
      assert.strictEqual(it.status["deploymentId"], "dp_1")
    }),
  )

  story("scales the old version to zero after its delay, and keeps it registered (scenario 47)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.wish(v3)
      yield* pass(3)
      assert.deepStrictEqual([it.pods(v1), it.world.admin.latest(name)], [1, "dp_2"])
      yield* pass(1)
      assert.match(text(meta(it.version(v1)).annotations[annotations.removeAt]), /^2026-/)
      yield* pass(30)
      assert.deepStrictEqual([it.pods(v1), it.world.admin.knows("dp_1")], [0, true])
    }),
  )

  story("leaves a version with work at its full size until the work is done (scenario 48)", (it) =>
    Effect.gen(function* () {
      it.wish({ ...v1, replicas: 3 })
      yield* pass(10)
      it.world.admin.start(name, 120_000, 100)
      yield* pass(1)
      it.wish({ ...v3, replicas: 2 })
      yield* pass(100)
      assert.deepStrictEqual([it.pods(v1), it.pods(v3)], [3, 2])
      yield* pass(60)
      assert.strictEqual(it.pods(v1), 0)
      assert.deepStrictEqual(
        it.world.admin.invocations.map(({ on, state }) => [on, state]),
        [["dp_1", "completed"]],
      )
    }),
  )

  story("brings a kept version back by promotion, with its ReplicaSet and its id (scenario 49)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      const { uid } = meta(it.version(v1))
      it.wish(v3)
      yield* pass(60)
      assert.strictEqual(it.pods(v1), 0)
      it.wish(v1)
      yield* pass(10)
      assert.deepStrictEqual([meta(it.version(v1)).uid, it.id(v1), it.world.admin.latest(name)], [uid, "dp_1", "dp_1"])
      assert.match(it.registrations.at(-1) ?? "", /^promote /)
      assert.lengthOf(it.events("Promoted"), 1)
      assert.deepInclude(it.ready, { status: "True", reason: "Deployed" })
    }),
  )

  story("goes back in the middle of a drain, and undisturbs what is pinned (scenario 50)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.admin.start(name, 60_000, 100)
      yield* pass(1)
      it.wish(v3)
      yield* pass(8)
      it.wish(v1)
      yield* pass(4)
      assert.deepStrictEqual([it.world.admin.latest(name), it.pods(v1)], ["dp_1", 1])
      assert.isUndefined(meta(it.version(v1)).annotations[annotations.removeAt])
      yield* pass(80)
      assert.deepStrictEqual(
        it.world.admin.invocations.map(({ state }) => state),
        ["completed"],
      )
    }),
  )

  story("ends on the last of many changes of mind, with one registration a version and one event a flip (scenario 51)", (it) =>
    Effect.gen(function* () {
      for (const wish of [v1, v3, v1, v3]) {
        it.wish(wish)
        yield* pass(4)
      }
      yield* pass(60)
      assert.strictEqual(it.status["deploymentId"], it.id(v3))
      assert.deepStrictEqual(
        it.registrations.map((line) => line.split(" ")[0]),
        ["register", "register", "promote", "promote"],
      )
      assert.lengthOf(it.events("Promoted"), 2)
    }),
  )

  story("takes another name when its own is taken, once (scenario 52)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      const taken = meta(it.version(v1)).name
      it.world.delete(name)
      yield* pass(40)
      it.world.api.make({ kind: "ReplicaSet", namespace: "default", name: taken }, { spec: { replicas: 0, selector: {} } })
      it.wish(v1)
      yield* pass(15)
      assert.strictEqual(it.status["collisionCount"], 1)
      assert.notStrictEqual(meta(it.version(v1)).name, taken)
      assert.deepInclude(it.ready, { status: "True", reason: "Deployed" })
    }),
  )

  story("lets a drained version go although the new one cannot start (scenario 69)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.wish(v3)
      yield* pass(3)
      it.wish(bad)
      yield* pass(60)
      assert.deepStrictEqual([it.pods(v1), it.pods(v3)], [0, 1])
    }),
  )

  story("does not touch a version that serves while the new one cannot start (scenario 70)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.wish(bad)
      yield* pass(600)
      assert.deepStrictEqual([it.pods(v1), it.world.admin.latest(name)], [1, "dp_1"])
      assert.deepInclude(it.ready, { status: "False", reason: "ReplicaSetPodNotReady" })
    }),
  )

  story("takes a version that was never registered away at once, without a word to the server (scenario 121)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.wish(bad)
      yield* pass(5)
      it.wish({ ...v3, drainDelaySeconds: 300 })
      yield* pass(4)
      assert.strictEqual(it.pods(bad), 0)
      assert.isTrue(it.world.trace.every((line) => !line.includes("admin forget")))
    }),
  )

  story("removes at once with a delay of zero, and does not spin (scenario 94)", (it) =>
    Effect.gen(function* () {
      const hasty = { drainDelaySeconds: 0, revisionHistoryLimit: 0 }
      it.wish({ ...v1, ...hasty })
      yield* pass(10)
      it.wish({ ...v3, ...hasty })
      yield* pass(4)
      assert.lengthOf(it.world.versions(name), 1)
      const before = it.world.writes
      yield* pass(60)
      assert.strictEqual(it.world.writes, before)
    }),
  )
})

describe("what people write on the object", () => {
  const child = (it: Story) => meta(it.version(v1))
  const service = (it: Story) => meta(it.world.api.get({ kind: "Service", namespace: "default", name: child(it).name }) ?? {})

  story("reaches the children, leaves them again, and makes no version (scenario 53)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.edit({ metadata: { annotations: { team: "a" } } })
      yield* pass(2)
      assert.deepStrictEqual([child(it).annotations["team"], service(it).annotations["team"]], ["a", "a"])
      it.edit({ metadata: { annotations: { team: null } } })
      yield* pass(2)
      assert.deepStrictEqual([child(it).annotations["team"], service(it).annotations["team"]], [undefined, undefined])
      assert.lengthOf(it.world.versions(name), 1)
    }),
  )

  story("stays off the children when it belongs to a pruning tool (scenario 54)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      it.edit({ metadata: { labels: { "applyset.kubernetes.io/part-of": "x" }, annotations: { "applyset.kubernetes.io/id": "x" } } })
      yield* pass(10)
      for (const { annotations: given, labels } of [child(it), service(it)])
        assert.deepStrictEqual(
          [...Object.keys(given), ...Object.keys(labels)].filter((key) => key.startsWith("applyset")),
          [],
        )
    }),
  )

  story("is not believed when it looks like a record of the operator's (scenario 55)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      it.edit({ metadata: { annotations: { [annotations.deploymentId]: "dp_x" } } })
      yield* pass(10)
      assert.deepStrictEqual([it.id(v1), it.status["deploymentId"]], ["dp_1", "dp_1"])
    }),
  )

  story("about replicas changes the latest version only, and no name (scenario 56)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.admin.start(name, 600_000, 100)
      yield* pass(1)
      it.wish(v3)
      yield* pass(10)
      it.edit({ spec: { replicas: 4 } })
      yield* pass(5)
      assert.deepStrictEqual([it.pods(v1), it.pods(v3)], [1, 4])
      assert.lengthOf(it.world.versions(name), 2)
      yield* pass(700)
    }),
  )

  story("keeps a version without pods from being registered, until it has some (scenario 57)", (it) =>
    Effect.gen(function* () {
      it.wish({ ...v1, replicas: 0 })
      yield* pass(60)
      assert.deepStrictEqual([it.registrations, it.ready["reason"]], [[], "ReplicaSetScaledToZero"])
      it.wish(v1)
      yield* pass(10)
      assert.deepInclude(it.ready, { status: "True", reason: "Deployed" })
    }),
  )

  story("may take the pods of a deployed version, and not its registration (scenario 58)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.wish({ ...v1, replicas: 0 })
      yield* pass(60)
      assert.deepStrictEqual([it.pods(v1), it.world.admin.latest(name)], [0, "dp_1"])
      assert.lengthOf(it.registrations, 1)
    }),
  )

  story("in another order is the same template (scenario 123)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.edit({ spec: { template: { spec: { containers: [{ image: v1.image, name: "app" }] } } } })
      yield* pass(10)
      assert.lengthOf(it.world.versions(name), 1)
    }),
  )
})

describe("autoscaling", () => {
  const scaled: Wish = { ...v1, autoscaling: { maxReplicas: 5 } }
  const autoscalers = (it: Story) => it.world.api.all("HorizontalPodAutoscaler").map((object) => meta(object).name)

  story("belongs to the older version, and goes before its pods do (scenario 59)", (it) =>
    Effect.gen(function* () {
      it.wish(scaled)
      yield* pass(10)
      assert.deepStrictEqual(autoscalers(it), [])
      it.world.admin.start(name, 60_000, 100)
      yield* pass(1)
      it.wish({ ...v3, autoscaling: { maxReplicas: 5 } })
      yield* pass(20)
      assert.deepStrictEqual(autoscalers(it), [meta(it.version(v1)).name])
      yield* pass(90)
      assert.deepStrictEqual([autoscalers(it), it.pods(v1)], [[], 0])
      const gone = it.world.trace.findIndex((line) => line.includes("delete HorizontalPodAutoscaler"))
      const scaledDown = it.world.trace.findIndex((line) => line.includes("as scale-down"))
      assert.isTrue(gone > 0 && gone < scaledDown, it.world.trace.join("\n"))
    }),
  )

  story("costs no pass when its status beats every 15 s (scenario 63)", (it) =>
    Effect.gen(function* () {
      it.wish(scaled)
      yield* pass(10)
      it.world.admin.start(name, 3_600_000, 100)
      yield* pass(1)
      it.wish({ ...v3, autoscaling: { maxReplicas: 5 } })
      yield* pass(60)
      const before = it.world.writes
      for (let beat = 0; beat < 40; beat += 1) {
        it.world.api.edit(
          { kind: "HorizontalPodAutoscaler", namespace: "default", name: meta(it.version(v1)).name },
          { status: { currentReplicas: beat } },
        )
        yield* pass(15)
      }
      assert.strictEqual(it.world.writes, before)
      yield* pass(3_600)
    }),
  )
})

describe("the server", () => {
  story("may be away during a rollout: nothing is removed, the old version serves, and it goes on later (scenario 73)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.network.admin = "refusing"
      it.wish(v3)
      yield* pass(120)
      assert.deepInclude(it.ready, { status: "False", reason: "AdminCallFailed" })
      assert.lengthOf(it.events("AdminCallFailed"), 1)
      assert.strictEqual(it.pods(v1), 1)
      it.world.network.admin = "up"
      yield* pass(360)
      assert.deepStrictEqual([it.status["deploymentId"], it.pods(v1)], ["dp_2", 0])
    }),
  )

  story("may fail to say what is in use: no version is scaled or deregistered, and no finalizer goes (scenario 74)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.network.queries = false
      it.wish(v3)
      yield* pass(300)
      assert.strictEqual(it.pods(v1), 1)
      it.world.delete(name)
      yield* pass(600)
      assert.lengthOf(it.world.versions(name), 2)
      assert.strictEqual(it.ready["reason"], "AdminCallRejected")
      it.world.network.queries = true
      yield* pass(400)
      assert.isUndefined(it.world.api.get(deploymentRef(name)))
    }),
  )

  story("may be told by hand who serves, and nothing is done against it until that is gone (scenario 80)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      // Somebody registers the same service elsewhere.
      it.world.api.make(
        { kind: "ReplicaSet", namespace: "default", name: "other" },
        { spec: { replicas: 1, template: { spec: { containers: [{ image: v1.image }] } } } },
      )
      it.world.api.make({ kind: "Service", namespace: "default", name: "other" }, { spec: {} })
      yield* pass(5)
      const foreign = it.world.admin.register("http://other.default.svc.cluster.local:9080/", false)
      assert.isDefined(foreign)
      yield* pass(130)
      const before = it.registrations.length
      // A resync, as the person's edit brings it.
      it.edit({ metadata: { annotations: { touched: "1" } } })
      yield* pass(200)
      assert.deepInclude(it.ready, { status: "False", reason: "ForeignDeployment" })
      assert.deepStrictEqual([it.registrations.length, it.pods(v1)], [before, 1])
      it.world.admin.forget(foreign?.id ?? "")
      yield* pass(120)
      assert.deepInclude(it.ready, { status: "True", reason: "Deployed" })
    }),
  )

  story("may lose its service to another object: both say what happened within seconds, and the traffic stays where it went", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(30)
      // The likeliest mistake of all: the same image under a new name.
      it.world.apply("copy", v1)
      yield* pass(15)
      assert.deepInclude(it.ready, { status: "False", reason: "ForeignDeployment" })
      assert.include(text(it.ready["message"]), "http://copy-")
      const before = it.registrations.length
      yield* pass(600)
      assert.deepStrictEqual([it.registrations.length, it.pods(v1)], [before, 1])
      it.world.delete("copy")
      yield* pass(400)
      assert.deepInclude(it.ready, { status: "True", reason: "Deployed" })
    }),
  )

  story("may lose a registration by hand: it gets it again, under a new id (scenario 81)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.admin.forget("dp_1")
      it.edit({ metadata: { annotations: { touched: "1" } } })
      yield* pass(120)
      it.edit({ metadata: { annotations: { touched: "2" } } })
      yield* pass(60)
      assert.deepStrictEqual([it.id(v1), it.status["deploymentId"]], ["dp_2", "dp_2"])
    }),
  )

  story("has all services of a version given back to it, also when it had lost only one (scenario 82)", (it) =>
    Effect.gen(function* () {
      const v2 = { ...v1, image: `${name}:v2` }
      it.wish(v2)
      yield* pass(10)
      it.wish(v1)
      yield* pass(10)
      // v1 took the service that both have; the extra one stayed with v2.
      assert.deepStrictEqual([it.world.admin.latest(name), it.world.admin.latest(`${name}-extra`)], [it.id(v1), it.id(v2)])
      it.wish(v2)
      yield* pass(10)
      assert.deepStrictEqual([it.world.admin.latest(name), it.world.admin.latest(`${name}-extra`)], [it.id(v2), it.id(v2)])
    }),
  )
})

describe("a deletion", () => {
  const gone = (it: Story) => it.world.api.get(deploymentRef(name)) === undefined

  story("without work takes its delay, deregisters everything and is done (scenario 87)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.wish(v3)
      yield* pass(40)
      it.world.delete(name)
      yield* pass(3)
      assert.isFalse(gone(it))
      assert.lengthOf(it.events("DeleteRequested"), 1)
      yield* pass(30)
      assert.isTrue(gone(it))
      assert.deepStrictEqual([it.world.admin.knows("dp_1"), it.world.admin.knows("dp_2")], [false, false])
    }),
  )

  story("names the work that holds it, and goes on when that is done (scenario 88)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.admin.start(name, 120_000, 100)
      it.world.admin.start(name, 120_000, 100)
      yield* pass(1)
      it.world.delete(name)
      yield* pass(60)
      const [event] = it.events("DeploymentInUse")
      assert.include(text(event?.["note"]), `${meta(it.version(v1)).name} (2 pinned, 0 unpinned invocations)`)
      assert.deepInclude(treeOf(it.status["deletion"]), { policy: "drain", phase: "Draining", totalPendingInvocations: 2 })
      yield* pass(100)
      assert.isTrue(gone(it))
    }),
  )

  story("waits for the server to come back, and then ends (scenario 91)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.network.admin = "refusing"
      it.world.delete(name)
      yield* pass(300)
      assert.isFalse(gone(it))
      it.world.network.admin = "up"
      yield* pass(360)
      assert.isTrue(gone(it))
    }),
  )

  story("by force takes everything away at once, and names what is lost (scenario 95)", (it) =>
    Effect.gen(function* () {
      it.wish({ ...v1, deletePolicy: "force" })
      yield* pass(10)
      it.world.admin.start(name, 600_000, 100)
      yield* pass(1)
      it.world.delete(name)
      yield* pass(5)
      assert.isTrue(gone(it))
      assert.include(text(it.events("ForcedDeletion")[0]?.["note"]), "(1 pinned invocations)")
      // That is what it was told to do: the laws do not hold here.
      it.laws.broken.length = 0
    }),
  )

  story("that waits is forced by an edit (scenario 97)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.world.admin.start(name, 600_000, 100)
      yield* pass(1)
      it.world.delete(name)
      yield* pass(60)
      assert.isFalse(gone(it))
      it.edit({ spec: { restate: { deletePolicy: "force" } } })
      yield* pass(5)
      assert.isTrue(gone(it))
      it.laws.broken.length = 0
    }),
  )
})

describe("a suspended object", () => {
  story("has nothing but its status written, and goes on when the mark is gone (scenario 98)", (it) =>
    Effect.gen(function* () {
      it.wish(v1)
      yield* pass(10)
      it.edit({ metadata: { annotations: { [annotations.reconcile]: "disabled" } } })
      it.wish(v3)
      yield* pass(60)
      assert.lengthOf(it.world.versions(name), 1)
      assert.strictEqual(it.status["reconciliation"], "Disabled")
      it.edit({ metadata: { annotations: { [annotations.reconcile]: null } } })
      yield* pass(30)
      assert.deepStrictEqual([it.status["reconciliation"], it.status["deploymentId"]], ["Reconciling", "dp_2"])
    }),
  )
})
