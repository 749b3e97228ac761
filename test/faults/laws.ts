/** The laws, checked against the true state of both servers before each request of the operator goes on to its server. */
import { waitFor } from "../../sandbox/wait.ts"
import { freshness } from "#src/engine/policies.ts"
import { isWrite, type ProxiedRequest } from "../support/fault-proxy.ts"
import type { Call } from "./call.ts"
import type { Scene, Story } from "./stories.ts"

/** Milliseconds between a decision, or the edit that it does not know of yet, and the last write that rests on it. */
const carryingOut = 3_000

interface Body {
  readonly spec?: { readonly replicas?: number }
  readonly preconditions?: { readonly uid?: string }
  readonly uri?: string
  readonly force?: boolean
}

interface Version {
  readonly name: string
  readonly id: string | undefined
  readonly image: string
}

interface Invocation {
  readonly id: string
  readonly status: string
  readonly pinned_deployment_id?: string
}

export class Laws {
  readonly broken = new Set<string>()
  readonly #scene: Scene
  readonly #story: Story
  /** The answers before this run. */
  readonly #adminFrom: number

  constructor(scene: Scene, story: Story) {
    this.#scene = scene
    this.#story = story
    this.#adminFrom = scene.world.admin.seen.length
  }

  /** Reads the truth first: the request waits meanwhile, so that nothing the operator does can come in between. */
  async judge(to: Call["to"], request: ProxiedRequest): Promise<void> {
    if (!isWrite(request)) return
    const path = new URL(request.url, "http://server").pathname
    if (to === "admin" && request.method === "DELETE") {
      const id = path.split("/").at(-1) ?? ""
      await this.#destroys((version) => version.id === id, id, "deregistered")
    }
    const name = /\/replicasets\/([^/]+)/.exec(path)?.[1]
    if (to === "kubernetes" && name !== undefined) {
      if (request.method === "DELETE") await this.#destroys((version) => version.name === name, undefined, "deleted")
      if (bodyOf(request).spec?.replicas === 0) await this.#destroys((version) => version.name === name, undefined, "scaled to zero")
    }
    if (to === "kubernetes" && request.method === "DELETE" && bodyOf(request).preconditions?.uid === undefined)
      this.broken.add(`DELETE ${path} names no UID: it may hit an object that was not meant`)
  }

  /** What only the whole of a run shows. `struck` is the call at which something went wrong. */
  end(struck: Call | undefined, apiServerKilled: boolean): void {
    const excused =
      apiServerKilled || struck?.what.startsWith("POST /deployments") === true || struck?.what.includes("/replicasets") === true
    const registrations = this.#answered().filter(
      ({ method, url, status, body }) =>
        method === "POST" && url.endsWith("/deployments") && status < 300 && bodyOf({ body }).force !== true,
    )
    for (const [uri, times] of Map.groupBy(registrations, ({ body }) => bodyOf({ body }).uri ?? ""))
      if (times.length > (excused ? 2 : 1)) this.broken.add(`${uri} was registered ${times.length} times`)
  }

  async #destroys(isIt: (version: Version) => boolean, knownId: string | undefined, how: string): Promise<void> {
    const now = Date.now()
    const { user, editedAt } = this.#scene
    // Read with the sandbox's own rights and past the proxies; while the API server is away nothing can be destroyed.
    const [object, versions, invocations, latest] = await waitFor(
      "the truth",
      () => Promise.all([user.get(), this.#versions(), this.#invocations(), user.routedTo()]),
      { timeoutMs: 20_000 },
    )
    const version = versions.find(isIt)
    const id = knownId ?? version?.id
    const what = `${version?.name ?? id ?? "a version"} was ${how}`
    const deleting = object === undefined || object.metadata.deletionTimestamp !== undefined
    if (!(deleting && this.#story.forced === true))
      for (const { id: invocation, status, pinned_deployment_id: pinned } of invocations)
        if (id !== undefined && (pinned === id || (pinned === undefined && latest === id)))
          this.broken.add(`${what} although ${invocation} is ${status} there`)
    if (!deleting && id !== undefined && latest === id) this.broken.add(`${what} although new invocations go there`)
    const [container] = (object?.spec.template.spec["containers"] as ReadonlyArray<{ readonly image: string }> | undefined) ?? []
    if (!deleting && version?.image === container?.image && now - editedAt > carryingOut)
      this.broken.add(`${what} although the spec asks for it since ${((now - editedAt) / 1000).toFixed(1)} s`)
    const asked = this.#answered().findLast(({ url, status }) => url.endsWith("/query") && status === 200)?.at ?? 0
    if (now - asked > freshness + carryingOut) this.broken.add(`${what} on an answer that is ${((now - asked) / 1000).toFixed(0)} s old`)
  }

  #answered() {
    return this.#scene.world.admin.seen.slice(this.#adminFrom)
  }

  async #versions(): Promise<ReadonlyArray<Version>> {
    return (await this.#scene.user.versions()).map(({ name, image, deploymentId }) => ({ name, image, id: deploymentId }))
  }

  async #invocations(): Promise<ReadonlyArray<Invocation>> {
    return this.#scene.user.query(
      "SELECT id, status, pinned_deployment_id FROM sys_invocation_status WHERE status <> 'completed' AND target_service_name = 'Greeter'",
    )
  }
}

const bodyOf = ({ body }: Pick<ProxiedRequest, "body">): Body => {
  try {
    const parsed: Body = JSON.parse(body)
    return parsed
  } catch {
    return {}
  }
}
