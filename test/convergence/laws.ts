/** The laws, checked against the true state of both servers at the moment of each write, and again at the end. */
import { freshness } from "#src/engine/policies.ts"
import { settings } from "../support/given.ts"
import { deploymentRef, servicesOf, statusOf, type Wish, type World } from "../support/world.ts"
import type { Invocation } from "../support/world-admin.ts"
import { list, meta, text } from "../support/world-kubernetes.ts"
import type { Link, Write } from "../support/world-network.ts"
import { replicasOf } from "../support/world-pods.ts"
import { type Tree, treeOf } from "../support/world-tree.ts"

const { vocabulary } = settings
const { finalizer } = vocabulary.resources.deployment

/** Milliseconds between a decision and the last write that rests on it: latencies, and quick tries of the steps before. */
const carryingOut = 3_000

/** Name of the ServiceDeployment behind a version. */
const ownerOf = (version: string): string => version.replace(/-[^-]*$/, "")

export class Laws {
  readonly broken: Array<string> = []
  /** Invocations that came after their object's deletion, and after the operator had asked for the last time: nobody can save them. */
  readonly raced = new Set<Invocation>()
  /** How often an object has counted a collision. */
  collisions = 0
  readonly #world: World
  /** Objects that had a drain delay of zero at some time: their versions may go without a deadline. */
  readonly #immediate = new Set<string>()
  /** Object → when somebody deleted it. */
  readonly #deletedAt = new Map<string, number>()
  /** Id → when new work last went there. */
  readonly #served = new Map<string, number>()
  /** UID of a ReplicaSet → its removal deadline, and when that was written. */
  readonly #stamps = new Map<string, { readonly value: unknown; readonly at: number }>()
  /** UID of a ReplicaSet → the id that was recorded on it. */
  readonly #ids = new Map<string, string>()

  constructor(world: World) {
    this.#world = world
    world.onWrite = (write, link) => this.#judge(write, link)
    world.api.listen(({ kind, object, type }) => {
      if (type !== "Upserted") return
      const { deleting, name } = meta(object)
      if (kind === "deployment" && Number(statusOf(object)["collisionCount"] ?? 0) > 0) this.collisions += 1
      if (kind === "deployment" && !deleting) this.#deletedAt.delete(name)
      if (kind === "deployment" && deleting && !this.#deletedAt.has(name)) this.#deletedAt.set(name, world.now())
      if (kind === "deployment" && treeOf(treeOf(object["spec"])["restate"])["drainDelaySeconds"] === 0) this.#immediate.add(name)
      if (kind === "ReplicaSet") this.#remember(object)
    })
  }

  break(law: string): void {
    this.#world.note(`BROKEN: ${law}`)
    this.broken.push(law)
  }

  /** A rollback re-adopts the earlier registration while it exists. */
  #remember(set: Tree): void {
    const { annotations, name, uid } = meta(set)
    const id = text(annotations[vocabulary.annotations.deploymentId])
    const before = this.#ids.get(uid)
    const removeAt = annotations[vocabulary.annotations.removeAt]
    if (this.#stamps.get(uid)?.value !== removeAt) this.#stamps.set(uid, { value: removeAt, at: this.#world.now() })
    if (id === "" && before !== undefined) this.break(`the record that ${name} is ${before} was removed`)
    if (before !== undefined && before !== id && this.#world.admin.knows(before))
      this.break(`${name} was re-registered as ${id} although it is still registered as ${before}`)
    if (id !== "") this.#ids.set(uid, id)
  }

  #judge(write: Write, link: Link): void {
    const { admin, now } = this.#world
    if (write._tag !== "Kubernetes") for (const id of admin.routing().services.values()) this.#served.set(id, now())
    if (write._tag === "Register") return
    if (write._tag === "Forget") {
      const endpoint = admin.routing().deployments.get(write.id)?.endpoint
      if (endpoint !== undefined) this.#destroys(new URL(endpoint).host.split(".")[0] ?? "", "deregistered", link)
      return
    }
    const { body, manager, ref, subresource, verb } = write.understood
    const live = this.#world.api.get(ref)
    if (live === undefined) return
    if (ref.kind === "ReplicaSet") {
      if (verb !== "create" && meta(live).owners.length === 0) this.break(`${ref.name}, which is somebody else's, was written to`)
      if (subresource === "scale" && manager === vocabulary.managers.scaleDown && treeOf(body["spec"])["replicas"] === 0)
        this.#destroys(ref.name, "scaled to zero", link)
      if (verb === "delete" && treeOf(body["preconditions"])["uid"] === meta(live).uid) this.#destroys(ref.name, "deleted", link)
    }
    const { finalizers } = treeOf(body["metadata"])
    if (ref.kind === "deployment" && verb === "merge" && Array.isArray(finalizers) && !finalizers.includes(finalizer)) {
      const left = this.#world.versions(ref.name).filter((set) => meta(set).owners.includes(meta(live).uid))
      if (left.length > 0) this.break(`${ref.name} was released although ${left.map((set) => meta(set).name).join(", ")} is left`)
    }
  }

  /** A clean-up is about to take something from a version. */
  #destroys(version: string, how: string, link: Link): void {
    const { admin, api, now } = this.#world
    const object = api.get(deploymentRef(ownerOf(version)))
    const deleting = object === undefined || meta(object).deleting
    const forced = treeOf(treeOf(object?.["spec"])["restate"])["deletePolicy"] === "force"
    const ids = this.#world.idsOf(version)
    const tooLate = Math.max(link.askedAt, this.#deletedAt.get(ownerOf(version)) ?? 0)
    for (const id of ids) {
      for (const invocation of admin.workOf(id)) {
        if (deleting && (forced || invocation.since > tooLate)) this.raced.add(invocation)
        else this.break(`${version} (${id}) was ${how} although ${invocation.name} is ${invocation.state} there`)
      }
      const services = admin.servedBy(id)
      if (!deleting && services.length > 0) this.break(`${version} (${id}) was ${how} although it serves ${services.join(", ")}`)
    }
    const age = now() - link.askedAt
    if (age > freshness + carryingOut)
      this.break(`${version} was ${how} on an answer asked ${age === Infinity ? "never" : `${age / 1000} s ago`}`)
    const set = api.get({ kind: "ReplicaSet", namespace: "default", name: version })
    const removeAt = set === undefined ? undefined : meta(set).annotations[vocabulary.annotations.removeAt]
    const stampedAt = set === undefined ? undefined : this.#stamps.get(meta(set).uid)?.at
    const served = Math.max(0, ...ids.map((id) => this.#served.get(id) ?? 0))
    if (!deleting && removeAt !== undefined && stampedAt !== undefined && stampedAt < served)
      this.break(`${version} was ${how} by a removal deadline from before it served for the last time`)
    if (forced && deleting) return
    if (removeAt === undefined) {
      if (ids.length > 0 && !this.#immediate.has(ownerOf(version))) this.break(`${version} was ${how} without a removal deadline`)
      return
    }
    // Without a delay the deadline is written for the record, in whole seconds, together with the removal.
    const forTheRecord = this.#immediate.has(ownerOf(version)) && stampedAt !== undefined && now() - stampedAt <= carryingOut
    if (!forTheRecord && link.askedAt < Date.parse(text(removeAt)))
      this.break(`${version} was ${how} on an answer asked before its removal deadline`)
  }

  /** What keeps an object from being done, in words; undefined when it is as its spec wants it, or gone as it should be. */
  unsettled(name: string, wish: Wish | undefined): string | undefined {
    return wish === undefined ? this.#left(name) : this.#unlike(name, wish)
  }

  /** Nothing of a deleted object is left on either server. */
  #left(name: string): string | undefined {
    const refs = this.#world.api.refs().filter((ref) => ref.kind !== "Event" && (ref.name === name || ref.name.startsWith(`${name}-`)))
    const ids = this.#registrations(name)
    return refs.length + ids.length === 0 ? undefined : `left: ${[...refs.map(({ kind, name }) => `${kind} ${name}`), ...ids].join(", ")}`
  }

  #unlike(name: string, wish: Wish): string | undefined {
    const { admin, api } = this.#world
    const object = api.get(deploymentRef(name))
    const status = statusOf(object)
    const generation = treeOf(object?.["metadata"])["generation"]
    const ready = list(status["conditions"])
      .map(treeOf)
      .find((condition) => condition["type"] === "Ready")
    if (ready?.["status"] !== "True" || ready["observedGeneration"] !== generation || status["observedGeneration"] !== generation)
      return `Ready is ${JSON.stringify(ready)} of generation ${String(generation)}`
    const id = text(status["deploymentId"])
    const versions = this.#world.versions(name)
    const current = versions.find((set) => meta(set).annotations[vocabulary.annotations.deploymentId] === id)
    if (current === undefined) return `no version is recorded as ${id}`
    if (replicasOf(current) !== wish.replicas) return `${meta(current).name} has ${replicasOf(current)} pods, not ${wish.replicas}`
    const elsewhere = servicesOf(wish.image).filter((service) => admin.latest(service) !== id)
    if (elsewhere.length > 0) return `${elsewhere.join(", ")} is not routed to ${id}`
    const others = versions.filter((set) => set !== current)
    const serves = (set: Tree) => this.#world.idsOf(meta(set).name).some((other) => admin.servedBy(other).length > 0)
    const idle = others.filter((set) => replicasOf(set) > 0 && !serves(set))
    if (idle.length > 0) return `${idle.map((set) => meta(set).name).join(", ")} still has pods`
    const resting = others.filter((set) => replicasOf(set) === 0).length
    if (resting > wish.revisionHistoryLimit) return `${resting} old versions rest, not ${wish.revisionHistoryLimit}`
    const owned = new Set(versions.flatMap((set) => this.#world.idsOf(meta(set).name)))
    const orphans = this.#registrations(name).filter((other) => !owned.has(other))
    return orphans.length === 0 ? undefined : `${orphans.join(", ")} is registered and belongs to no version`
  }

  #registrations(name: string): ReadonlyArray<string> {
    return [...this.#world.admin.routing().deployments]
      .filter(([, { endpoint }]) => ownerOf(new URL(endpoint).host.split(".")[0] ?? "") === name)
      .map(([id]) => id)
  }

  /** Work that has not ended and that nothing but a wrong of the operator can keep from it. */
  unfinished(): ReadonlyArray<Invocation> {
    return this.#world.admin.invocations.filter(
      (invocation) => invocation.state !== "completed" && !(invocation.state === "lost" && this.raced.has(invocation)),
    )
  }
}
