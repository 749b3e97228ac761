/**
 * Servers that a version was registered with before the register target moved (operator.md §3.14). Their callers and their
 * delayed calls go on: each of them holds the version as its own server does, until it has no unfinished work there; then
 * it is deregistered there.
 */
import type { Action } from "../engine/action.ts"
import { type Case, type Fate, unknown } from "./fate.ts"
import { forget } from "./forget.ts"
import { needUsage, provenSince, tooSlow, usageOf } from "./proof.ts"
import { claim } from "./replica-set.ts"
import { unasked } from "./snapshot.ts"
import { serverOf } from "./target.ts"
import { idOn } from "./version.ts"

/** The next former server to leave; undefined when there is none left. */
export const leaveFormer = (of: Case): Fate | undefined => {
  const { settings, snapshot, version } = of
  const [key] = version.former
  if (key === undefined) return undefined
  const older = { ...unknown(version), version: `${version.name} on ${key}` }
  const server = serverOf(key, settings.addresses)
  if (snapshot.gone.has(key) || (server === undefined && of.mode === "force")) return left(of, key, [])
  if (server === undefined)
    return { older, missing: { because: `${version.name} was registered with "${key}", which is no server`, rejected: false } }
  const look = usageOf(snapshot, server)
  if (look._tag === "Stale") return { older, need: needUsage(snapshot, server) }
  if (look._tag === "Unknown") return { older: { ...older, silent: true }, missing: look, watch: { server, id: undefined } }
  // By its address: the recorded id may be the one that another server gave.
  const id = idOn({ name: version.name, id: undefined }, snapshot.deployment.metadata.namespace ?? "", look.value)
  const known = id === undefined ? undefined : look.value.get(id)
  if (id === undefined || known === undefined) return left(of, key, [])
  const same = knows(of, id)
  if (same === undefined) return { older, watch: { server, id } }
  // The same server under another name: to deregister there would be to deregister here.
  if (same) return left(of, key, [])
  const busy = { ...older, state: "InUse", id, pinned: known.pinned, unpinned: known.unpinned, example: known.example } as const
  if (of.mode !== "force" && known.pinned + known.unpinned > 0) return { older: busy, watch: { server, id } }
  const since = provenSince(snapshot, server, undefined)
  if (look.askedAt < since) {
    const missing = tooSlow(server, look)
    return { older, ...(missing === undefined ? { need: needUsage(snapshot, server) } : { missing, watch: { server, id } }) }
  }
  return {
    ...left(of, key, [forget(snapshot, server, id, known)]),
    older,
    ...(known.pinned + known.unpinned > 0 ? { forced: busy } : {}),
  }
}

/** Whether the server that the version is registered with now knows that id, too. Ids are never given twice. */
const knows = ({ snapshot, version }: Case, id: string): boolean | undefined => {
  const { usage } = snapshot.admin.get(version.server?.key ?? "") ?? unasked
  const { routing } = snapshot.admin.get(version.server?.key ?? "") ?? unasked
  if (usage._tag === "Seen") return usage.value.has(id)
  return routing._tag === "Seen" ? routing.value.deployments.has(id) : undefined
}

const left = ({ settings, snapshot, version }: Case, key: string, actions: ReadonlyArray<Action>): Fate => ({
  older: { ...unknown(version), version: `${version.name} on ${key}` },
  steps: [
    {
      why: `${version.name} leaves ${key}`,
      actions: [
        ...actions,
        claim(
          snapshot.deployment,
          version.name,
          version.server?.key ?? key,
          version.former.filter((other) => other !== key),
          settings.vocabulary,
        ),
      ],
      onFailure: "next",
    },
  ],
})
