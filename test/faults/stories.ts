/** What a person does to one object while something goes wrong: the standard histories, on real servers. */
import { waitFor } from "../../sandbox/wait.ts"
import type { User } from "../../sandbox/user.ts"
import type { OperatorWorld } from "../support/operator-world.ts"

export interface Scene {
  readonly world: OperatorWorld
  readonly user: User
  /** When the last edit was taken, milliseconds since 1970. */
  editedAt: number
  /** From here on the operator's calls count. */
  begin(): void
}

export interface Story {
  readonly title: string
  /** Versions go with their work, because the spec says so. */
  readonly forced?: true
  readonly play: (scene: Scene) => Promise<void>
}

const [v1, v2, v3] = ["greeter:v1", "greeter:v2", "greeter:v3"] as const

/** Long enough for the next version to be up before it ends, short enough that its end is within the run. */
const slowSeconds = 4

/** Milliseconds. A call without an answer takes 30 s, and what failed comes back after 30 s. */
const patience = 120_000

/** Tried until the API server takes it: it may be the one that is away. */
const insist = async (scene: Scene, what: string, edit: () => Promise<unknown>): Promise<void> => {
  await waitFor(what, async () => (await edit(), true), { timeoutMs: 20_000, everyMs: 200 })
  scene.editedAt = Date.now()
}

const create = (scene: Scene, drainDelaySeconds = 1): Promise<void> =>
  insist(scene, "the creation", () => scene.world.apply(scene.user, (spec) => (spec.restate.drainDelaySeconds = drainDelaySeconds)))

/** v1 with an invocation that runs on it. */
const serve = async (scene: Scene, drainDelaySeconds?: number): Promise<string> => {
  const { user } = scene
  await create(scene, drainDelaySeconds)
  await user.ready(v1)
  const slow = await user.send("slow", { seconds: slowSeconds })
  await waitFor("the invocation to be pinned", async () => (await user.work()).some(({ pinned }) => pinned > 0))
  return slow
}

const roll = (scene: Scene, image: string): Promise<void> => insist(scene, `the change to ${image}`, () => scene.user.setImage(image))

const answers = async (user: User, invocation: string, image: string): Promise<void> => {
  const expected = `${image.replace("greeter:", "")} woke`
  const answer = await user.result(invocation)
  if (answer !== expected) throw new Error(`the invocation that began on ${image} answered "${answer}"`)
}

/** That version is the latest, and nothing is left of any other, on either server. */
const only = async ({ world, user }: Scene, image: string): Promise<void> => {
  const object = await user.ready(image, patience)
  await waitFor(`all versions but ${image} to go`, async () => (await user.versions()).length === 1, { timeoutMs: patience })
  const [version] = await user.versions()
  const routed = await user.routedTo()
  if (routed !== object.status?.deploymentId || routed !== version?.deploymentId)
    throw new Error(`the server routes to ${routed}, the status says ${object.status?.deploymentId ?? "nothing"}`)
  const registered = (await user.work()).map(({ id }) => id)
  if (registered.length !== 1) throw new Error(`registrations left: ${registered.join(", ")}`)
  const answer = await user.call("greet", "Ada")
  if (answer !== `${image.replace("greeter:", "")}: hello Ada`) throw new Error(`new invocations answer "${answer}"`)
  await waitFor("the Services of other versions to go", async () => (await services(world, user)).length === 1, { timeoutMs: patience })
}

/** Nothing is left, on either server. */
const none = async ({ world, user }: Scene): Promise<void> => {
  await waitFor("the object to go", async () => (await user.get()) === undefined, { timeoutMs: patience })
  await waitFor("its versions to go", async () => (await user.versions()).length === 0, { timeoutMs: 10_000 })
  await waitFor("its Services to go", async () => (await services(world, user)).length === 0, { timeoutMs: 30_000 })
  const registered = await user.work()
  if (registered.length > 0) throw new Error(`registrations left: ${registered.map(({ id }) => id).join(", ")}`)
}

const services = ({ sandbox }: OperatorWorld, { namespace }: User) =>
  sandbox.client.list(`/api/v1/namespaces/${namespace}/services?labelSelector=app.kubernetes.io%2Fmanaged-by`)

const pods = async (user: User, count: number): Promise<void> => {
  await waitFor(
    `${count} pods`,
    async () => {
      const status = (await user.get())?.status
      return status?.replicas === count && status.availableReplicas === count
    },
    { timeoutMs: patience },
  )
}

export const stories: ReadonlyArray<Story> = [
  {
    title: "a creation",
    play: async (scene) => {
      scene.begin()
      await create(scene)
      await only(scene, v1)
    },
  },
  {
    title: "a rollover",
    play: async (scene) => {
      const slow = await serve(scene)
      scene.begin()
      await roll(scene, v2)
      await answers(scene.user, slow, v1)
      await only(scene, v2)
    },
  },
  {
    title: "a rollback while the old version drains",
    play: async (scene) => {
      const { user } = scene
      // Without a delay no status is written between the last answer and the removal: its reply would show the new spec.
      const slow = await serve(scene, 0)
      scene.begin()
      await roll(scene, v2)
      await answers(user, slow, v1)
      // v1 has no work any more and its removal is near.
      await roll(scene, v1)
      await only(scene, v1)
    },
  },
  {
    title: "two rollovers in a row",
    play: async (scene) => {
      const slow = await serve(scene)
      scene.begin()
      await roll(scene, v2)
      await new Promise((resolve) => setTimeout(resolve, 500))
      await roll(scene, v3)
      await answers(scene.user, slow, v1)
      await only(scene, v3)
    },
  },
  {
    title: "a scaling",
    play: async (scene) => {
      const { user } = scene
      const slow = await serve(scene)
      scene.begin()
      await insist(scene, "three replicas", () => user.patch({ spec: { replicas: 3 } }))
      await pods(user, 3)
      await insist(scene, "one replica", () => user.patch({ spec: { replicas: 1 } }))
      await pods(user, 1)
      await answers(user, slow, v1)
      await only(scene, v1)
    },
  },
  {
    title: "a rollover with autoscaling",
    play: async (scene) => {
      const { user } = scene
      const slow = await serve(scene)
      scene.begin()
      await insist(scene, "autoscaling", () => user.patch({ spec: { autoscaling: { minReplicas: 1, maxReplicas: 2 } } }))
      await roll(scene, v2)
      await answers(user, slow, v1)
      await only(scene, v2)
      await waitFor("no autoscaler", async () => (await autoscalers(scene)) === 0, { timeoutMs: patience })
    },
  },
  {
    title: "a deletion with work",
    play: async (scene) => {
      const { user } = scene
      const slow = await serve(scene)
      scene.begin()
      await insist(scene, "the deletion", () => user.delete())
      await answers(user, slow, v1)
      await none(scene)
    },
  },
  {
    title: "a deletion by force",
    forced: true,
    play: async (scene) => {
      const { user, world } = scene
      const slow = await serve(scene)
      scene.begin()
      await insist(scene, "deletePolicy force", () => user.patch({ spec: { restate: { deletePolicy: "force" } } }))
      await insist(scene, "the deletion", () => user.delete())
      await none(scene)
      // It waits for its version for ever.
      await fetch(`${world.sandbox.adminUrl}/invocations/${slow}/kill`, { method: "PATCH" })
    },
  },
]

const autoscalers = async ({ world, user }: Scene): Promise<number> =>
  (await world.sandbox.client.list(`/apis/autoscaling/v2/namespaces/${user.namespace}/horizontalpodautoscalers`)).length
