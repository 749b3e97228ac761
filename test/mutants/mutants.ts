/** Wrong versions of the code that decides and acts, each with the test that must notice. */

export interface Mutant {
  readonly name: string
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly from: string
  readonly to: string
  /** A test file and the beginning of the title of the test that fails. */
  readonly killedBy: readonly [file: string, title: string]
}

const cleanup = "src/deployment/cleanup.ts"
const deletion = "src/deployment/deletion.ts"
const rollout = "src/deployment/rollout.ts"
const act = "src/engine/act.ts"
const drainTest = "test/deployment/drain.test.ts"
const deletionTest = "test/deployment/deletion.test.ts"
const rolloutTest = "test/deployment/rollout.test.ts"
const actTest = "test/engine/act.test.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "a failed query is read as zero",
    file: "src/deployment/snapshot.ts",
    from: `if (observed._tag === "Unseen") return {`,
    to: `if (observed._tag === "Unseen") return { _tag: "Known", value: new Map() as never, askedAt: observed.askedAt, took: 0 }; if (observed._tag === "Unseen") return {`,
    killedBy: [drainTest, "removes nothing while the server does not answer"],
  },
  {
    name: "the id is recorded after confirming",
    file: act,
    from: `const annotations = { [record.idAnnotation]: id, [record.serverAnnotation]: server.key }`,
    to: `yield* admin.confirm(key, server, id, endpoint, services); const annotations = { [record.idAnnotation]: id, [record.serverAnnotation]: server.key }`,
    killedBy: [actTest, "an id is recorded before its routing is confirmed"],
  },
  {
    name: "a delete without UID",
    file: "src/kubernetes/live-writer.ts",
    from: `preconditions: { uid }, `,
    to: ``,
    killedBy: ["test/kubernetes/writer.test.ts", "a deletion names the very object that it means"],
  },
  {
    name: "a decision from a stale cache is carried out",
    file: act,
    from: `live.metadata.generation === metadata.generation &&`,
    to: ``,
    killedBy: [actTest, "nothing is destroyed when the object "],
  },
  {
    name: "a registered version is registered again",
    file: rollout,
    from: `if (id === undefined) return register(current, undefined, false)`,
    to: `if (id === undefined || id !== "") return register(current, undefined, false)`,
    killedBy: [rolloutTest, "is left alone while all of its services are routed to it"],
  },
  {
    name: "a requeue is lost",
    file: rollout,
    from: `return requeue._tag === "After" && requeue.delay <= delay ? requeue : after(delay, "removal deadline")`,
    to: `return requeue`,
    killedBy: [drainTest, "waits for its deadline"],
  },
  {
    name: "a failed pass is not tried again",
    file: "src/deployment/status.ts",
    from: `if (failure !== undefined) return { _tag: "Retry", policy: policyOf(failure.error) }`,
    to: `if (failure !== undefined) return { _tag: "AwaitChange" }`,
    killedBy: ["test/deployment/status.test.ts", "that is a missing right has its own reason, one Warning and its own pace"],
  },
  {
    name: "a drain ignores pinned work",
    file: cleanup,
    from: `const active = pinned > 0 || (`,
    to: `const active = (`,
    killedBy: [drainTest, "is left alone while it has pinned work, and its numbers are watched"],
  },
  {
    name: "a removal deadline is ignored",
    file: cleanup,
    from: `if (version.removeAt > now) return { _tag: "Stays"`,
    to: `if (version.removeAt > now + 1e12) return { _tag: "Stays"`,
    killedBy: [drainTest, "waits for its deadline"],
  },
  {
    name: "the history keeps one too many",
    file: cleanup,
    from: `keep: room > 0 }`,
    to: `keep: room >= 0 }`,
    killedBy: [drainTest, "keeps the newest, and counts only finished versions"],
  },
  {
    name: "destruction on an old answer",
    file: "src/deployment/proof.ts",
    from: `snapshot.now - freshness, removeAt ?? 0, deletedAt(snapshot))`,
    to: `0)`,
    killedBy: [drainTest, "asks again rather than destroy on an answer older than 5 s"],
  },
  {
    name: "a server that forgot everything is believed",
    file: cleanup,
    from: `id !== undefined && !usage.has(id) && ![...owned].some((ownedId) => usage.has(ownedId))`,
    to: `false`,
    killedBy: [drainTest, "buries nothing when the server suddenly knows none of our versions"],
  },
  {
    name: "a version is deleted before it is deregistered",
    file: cleanup,
    from: `[forget(snapshot, server, id, known)] : []), remove(deployment, version)]`,
    to: `[forget(snapshot, server, id, known)] : []), remove(deployment, version)].toReversed()`,
    killedBy: [drainTest, "is forgotten before it is deleted, beyond the history limit"],
  },
  {
    name: "a promotion on an old answer",
    file: rollout,
    from: `if (isFresh(routing.askedAt, snapshot, freshness)) return register(current, action.supersedes, true)`,
    to: `return register(current, action.supersedes, true)`,
    killedBy: [rolloutTest, "does not take traffic away on an old answer"],
  },
  {
    name: "a foreign endpoint is superseded",
    file: "src/deployment/registration.ts",
    from: `if (foreign.length > 0) return`,
    to: `if (foreign.length > 99) return`,
    killedBy: [rolloutTest, "is nobody's business while somebody else serves one of its services"],
  },
  {
    name: "old versions are cleaned up under a conflict",
    file: rollout,
    from: `holders: action.holders }, id, [], after`,
    to: `holders: action.holders }, id, clean(current).steps, after`,
    killedBy: [rolloutTest, "removes nothing in a conflict"],
  },
  {
    name: "a plain registration is forced",
    file: rollout,
    from: `forgotten(current, routing.value)] }, undefined, false)`,
    to: `forgotten(current, routing.value)] }, undefined, true)`,
    killedBy: [rolloutTest, "is registered again when the server does not know its id"],
  },
  {
    name: "the finalizer is released while work is left",
    file: deletion,
    from: `const busy = left.filter(({ pinned, unpinned }) => pinned + unpinned > 0)`,
    to: `const busy = left.filter(({ pinned }) => pinned > 1e9)`,
    killedBy: [deletionTest, "is held by work at an address of its own although no ReplicaSet is to be seen"],
  },
  {
    name: "unpinned work is ignored by a deletion",
    file: cleanup,
    from: `(mode === "deletion" ? unpinned > 0 : latestFor > 0)`,
    to: `(mode === "deletion" ? false : latestFor > 0)`,
    killedBy: [deletionTest, "is held by work that is not pinned yet"],
  },
  {
    name: "force before it is written down",
    file: deletion,
    from: `!isForcing(deployment)`,
    to: `deployment.metadata.name === ""`,
    killedBy: ["test/deployment/force.test.ts", "is written down before the first version goes"],
  },
  {
    name: "a parked deregistration does not hold its deletion up",
    file: act,
    from: `if (result.success._tag === "Withheld" || result.success._tag === "Parked") return undefined`,
    to: `if (result.success._tag === "Withheld") return undefined`,
    killedBy: [actTest, "a version is not deleted when its deregistration waits for its turn"],
  },
  {
    name: "a suspended object is worked on",
    file: "src/deployment/decide.ts",
    from: `=== "disabled"`,
    to: `=== "off"`,
    killedBy: ["test/deployment/suspension.test.ts", "has nothing done to it, whatever is due"],
  },
  {
    name: "pods go before their autoscaler",
    file: cleanup,
    from: `const actions = [...stopAutoscaling(snapshot.autoscalers.get(version.name)), ...last]`,
    to: `const actions = [...last, ...stopAutoscaling(snapshot.autoscalers.get(version.name))]`,
    killedBy: ["test/deployment/autoscaling.test.ts", "keeps its autoscaler while it waits for its deadline, and loses it before its pods"],
  },
  {
    name: "a moved target forgets the old server",
    file: rollout,
    from: `target.server.key, former, settings.vocabulary)`,
    to: `target.server.key, [], settings.vocabulary)`,
    killedBy: [rolloutTest, "is followed at once, work or not, and first the old server is written down"],
  },
  {
    name: "the latest version is deregistered first",
    file: cleanup,
    from: `lastServed(snapshot, versions).flatMap(`,
    to: `versions.flatMap(`,
    killedBy: ["test/deployment/force.test.ts", "removes every version in one pass, registrations first"],
  },
  {
    name: "work without pods is left without pods",
    file: cleanup,
    from: `version.replicas === 0 && wantedReplicas(deployment) > 0`,
    to: `version.replicas < 0 && wantedReplicas(deployment) > 0`,
    killedBy: ["test/convergence/attacks.test.ts", "gets them back when the object that was scaled to zero"],
  },
  {
    name: "a deletion ends on an answer of 15 s ago",
    file: "src/deployment/deletion.ts",
    from: `look.askedAt < provenSince(snapshot, server, undefined)`,
    to: `look.askedAt < 0`,
    killedBy: ["test/deployment/deletion.test.ts", "is not released, and nothing deregistered, upon an answer of more than 5 s ago"],
  },
  {
    name: "a registration of an unrecorded version is no change of ours",
    file: "src/deployment/observe.ts",
    from: `hostOf(endpointOf(name, namespace, "", addresses)),`,
    to: `endpointOf(name, namespace, "", addresses),`,
    killedBy: ["test/deployment/observe.test.ts", "a registration of any address of ours counts as our own change"],
  },
]
