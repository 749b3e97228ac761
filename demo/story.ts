/** The story: v1, a slow invocation on it, v2 while it runs, back to v1, and the end. Each step is checked. */
import { join } from "node:path"
import { documents } from "../sandbox/install.ts"
import type { KubernetesObject } from "../sandbox/kubernetes-types.ts"
import type { Sandbox } from "../sandbox/sandbox.ts"
import { nameServer } from "../sandbox/server-name.ts"
import { User } from "../sandbox/user.ts"
import { waitFor } from "../sandbox/wait.ts"
import { promise } from "./narrator.ts"

const example = join(import.meta.dirname, "..", "examples", "greeter.yaml")
/** Long enough to see v2 arrive, the drain delay pass by, and v1 still there. */
const slowSeconds = 20

/** Whom the story is told to. */
export interface Narrator {
  chapter(title: string): void
  fact(text: string): void
  shows(text: string): void
}

export const story = async (sandbox: Sandbox, narrator: Narrator): Promise<void> => {
  const user = new User(sandbox, "service")
  await first(sandbox, user, narrator)
  const slow = await rollOver(user, narrator)
  await drain(user, narrator, slow)
  await rollBack(user, narrator)
  await end(sandbox, user, narrator)
}

const first = async (sandbox: Sandbox, user: User, narrator: Narrator): Promise<void> => {
  narrator.chapter("Version 1: kubectl apply -f examples/greeter.yaml")
  if (sandbox.proxyUrl !== undefined) await nameServer(sandbox)
  for (const object of documents(example))
    await sandbox.client.apply(sandbox.proxyUrl === undefined ? byAddress(object, sandbox.adminUrl) : object)
  const object = await user.ready("greeter:v1")
  narrator.fact(`Ready: its pod is up and registered as ${object.status?.deploymentId ?? ""}`)
  const answer = await user.call("greet", "Ada")
  promise(answer === "v1: hello Ada", `the ingress answered "${answer}" instead of "v1: hello Ada"`)
  narrator.fact(`a call through the ingress answers "${answer}"`)
}

/** The host does not know the cluster's names: the operator, a process of the host, is told the address. */
const byAddress = (object: KubernetesObject, adminUrl: string): KubernetesObject => {
  const copy: KubernetesObject & { spec?: { restate?: { register?: unknown } } } = structuredClone(object)
  if (copy.spec?.restate !== undefined) copy.spec.restate.register = { url: adminUrl }
  return copy
}

const rollOver = async (user: User, narrator: Narrator): Promise<string> => {
  narrator.chapter("Version 2, while an invocation runs on version 1")
  const slow = await user.send("slow", { seconds: slowSeconds })
  await waitFor("the slow invocation to be pinned", async () => (await user.work()).some(({ pinned }) => pinned === 1))
  narrator.fact(`started a slow invocation (${slowSeconds} s): ${slow}`)
  await user.setImage("greeter:v2")
  await user.ready("greeter:v2")
  const answer = await user.call("greet", "Ada")
  promise(answer === "v2: hello Ada", `new invocations answer "${answer}" instead of "v2: hello Ada"`)
  narrator.fact(`the image is greeter:v2 now, and new invocations answer "${answer}"`)
  return slow
}

const drain = async (user: User, narrator: Narrator, slow: string): Promise<void> => {
  const old = await user.version("greeter:v1")
  const work = (await user.work()).find(({ id }) => id === old?.deploymentId)
  promise(old?.replicas === 1 && work?.pinned === 1, "version 1 was taken away while an invocation was running on it")
  const message = await waitFor("the status to name the draining version", async () => {
    const text = (await user.get())?.status?.conditions?.find(({ type }) => type === "Ready")?.message
    return text?.includes("draining") === true ? text : undefined
  })
  narrator.fact("version 1 keeps its pod and its registration; kubectl shows why:")
  narrator.shows(message)
  // Look all the time: not for a moment may the version go before its work. Afterwards it stays for its drain delay.
  for (let running = true; running;) {
    const now = await user.version("greeter:v1")
    const held = (await user.work()).find(({ id }) => id === old?.deploymentId)
    promise(held !== undefined, "version 1 was deregistered while an invocation was running on it")
    running = (held?.pinned ?? 0) > 0
    promise(!running || now?.replicas === 1, "version 1 was scaled down while an invocation was running on it")
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const answer = await user.result(slow)
  promise(answer === "v1 woke", `the slow invocation answered "${answer}": it did not finish on version 1`)
  narrator.fact(`the slow invocation finished where it began: "${answer}"`)
  await gone(user, "greeter:v1")
  const known = (await user.work()).some(({ id }) => id === old?.deploymentId)
  promise(!known, "version 1 is still registered although its pods are gone")
  narrator.fact("version 1 has no work left: after the drain delay of 5 s it was deregistered and removed")
}

const rollBack = async (user: User, narrator: Narrator): Promise<void> => {
  narrator.chapter("Back to version 1, and back again while both are there")
  const slow = await user.send("slow", { seconds: 12 })
  await waitFor("the slow invocation to be pinned", async () => (await user.work()).some(({ pinned }) => pinned === 1))
  const before = (await user.version("greeter:v2"))?.deploymentId
  await user.setImage("greeter:v1")
  await user.ready("greeter:v1")
  promise((await user.call("greet", "Ada")) === "v1: hello Ada", "new invocations do not go to version 1 after the rollback")
  narrator.fact("the image is greeter:v1 again, and new invocations go there")
  await user.setImage("greeter:v2")
  const object = await user.ready("greeter:v2")
  promise(object.status?.deploymentId === before, "version 2 was registered anew instead of being promoted")
  promise((await user.routedTo()) === before, "the server does not route to version 2 after its promotion")
  narrator.fact(`greeter:v2 once more: its version was still draining, so it was promoted under its old id ${before ?? ""}`)
  const answer = await user.result(slow)
  promise(answer === "v2 woke", `the invocation that began on version 2 answered "${answer}"`)
  narrator.fact("the invocation that began on version 2 finished on version 2")
}

const end = async (sandbox: Sandbox, user: User, narrator: Narrator): Promise<void> => {
  narrator.chapter("The end: kubectl delete servicedeployment greeter")
  const slow = await user.send("slow", { seconds: 8 })
  await user.delete()
  const blocked = await user.condition("DeploymentInUse")
  narrator.fact("the deletion waits for unfinished work:")
  narrator.shows(blocked.message ?? "")
  promise((await user.result(slow)) === "v2 woke", "the deletion interrupted an invocation")
  await waitFor("the object to go", async () => (await user.get()) === undefined, { timeoutMs: 60_000 })
  await waitFor("its versions to go", async () => (await user.versions()).length === 0)
  const left = await user.work()
  promise(left.length === 0, `the server still knows ${left.map(({ endpoint }) => endpoint).join(", ")}`)
  const services = await sandbox.client.list(
    `/api/v1/namespaces/${user.namespace}/services?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dservice-operator`,
  )
  await waitFor(
    "its Services to go",
    async () =>
      services.length === 0 ||
      (
        await sandbox.client.list(
          `/api/v1/namespaces/${user.namespace}/services?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dservice-operator`,
        )
      ).length === 0,
  )
  narrator.fact("the work finished, then everything went: object, versions, Services, registrations")
}

const gone = (user: User, image: string): Promise<unknown> =>
  waitFor(`${image} to go`, async () => (await user.version(image)) === undefined, { timeoutMs: 60_000 })
