/**
 * What one admin server that takes every call and answers none costs the objects of nine others: a rollout of all
 * objects, timed until those of the nine are Ready; before, while, and after the tenth hangs.
 */
import { performance } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { waitFor } from "../sandbox/wait.ts"
import { serverName } from "./fleet.ts"
import { round } from "./phase.ts"
import { Recorder } from "./recorder.ts"
import { World } from "./world.ts"

const servers = 10
const perServer = 10
const limit = 1.2

const count = servers * perServer
const others = count - perServer
const hung = serverName(servers - 1)
const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length
const say = (line: string): void => console.error(line)

const world = await World.open({ count, drainDelaySeconds: 2, servers, recorder: new Recorder(), progress: say })
const until = (what: string, attempt: () => boolean | Promise<boolean>): Promise<unknown> =>
  waitFor(what, attempt, { timeoutMs: 180_000, everyMs: 20, hopeless: () => world.hopeless })

/** Seconds until the objects of the nine are Ready with that image. */
const roll = async (image: string): Promise<number> => {
  const begun = performance.now()
  await world.fleet.rollTo(image)
  await until("the objects of the other servers to be Ready", () => world.fleet.readyBeside(hung) === others)
  return (performance.now() - begun) / 1000
}
/** All objects Ready, and every old version gone. */
const settled = async (): Promise<void> => {
  await until("all objects to be Ready", () => world.fleet.ready === count)
  await until("the old versions to go", () => world.controllers.versions === count)
  await sleep(3_000)
}

try {
  await world.startOperator()
  await world.fleet.create("image:0")
  await settled()
  // The first rollouts of a process are slower than the later ones.
  await roll("image:1")
  await settled()
  const before: Array<number> = []
  const during: Array<number> = []
  for (const turn of [2, 4, 6]) {
    before.push(await roll(`image:${turn}`))
    await settled()
    say(`undisturbed: ${before.at(-1)?.toFixed(2)} s`)
    world.hanging = hung
    // Long enough for the looks at it to have found out.
    await sleep(2_000)
    during.push(await roll(`image:${turn + 1}`))
    say(`one of ${servers} hangs: ${during.at(-1)?.toFixed(2)} s; ${world.fleet.ready - others} objects of it are Ready`)
    world.hanging = undefined
    await settled()
  }
  const ratio = mean(during) / mean(before)
  console.log(
    `${others} objects of ${servers - 1} servers, seconds until Ready: undisturbed ${before.map(round).join(" ")}; one more server hangs ${during.map(round).join(" ")}`,
  )
  console.log(`${ratio <= limit ? "PASS" : "FAIL"}  ${round(ratio)} times the undisturbed, of ${limit}`)
} finally {
  await world.close()
}
