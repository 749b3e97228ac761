/** Provisioning, on the real durable-execution server. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer } from "#src/admin/live-provisioner.ts"
import { Provisioner } from "#src/admin/provisioner.ts"
import { answersQueries, type DurableServer, startDurableServer } from "../../sandbox/durable-server.ts"
import { freePorts } from "../../sandbox/ports.ts"
import { Processes } from "../../sandbox/processes.ts"
import { waitFor } from "../../sandbox/wait.ts"

const directory = mkdtempSync(join(tmpdir(), "provisioner-"))
const processes = new Processes(directory)
process.once("exit", () => processes.killAllNow())
let durable: DurableServer

beforeAll(async () => {
  durable = await startDurableServer({ directory, processes, unprovisioned: true })
}, 60_000)

afterAll(async () => {
  await processes.stopAll()
  rmSync(directory, { recursive: true, force: true })
})

const provision = (address: string) =>
  Effect.flatMap(Provisioner, (provisioner) => provisioner.provision(address)).pipe(Effect.provide(layer))

it.live(
  "a server that waits to be provisioned answers once it is, and a second time is no failure (scenario 29)",
  () =>
    Effect.gen(function* () {
      yield* provision(durable.nodeUrl)
      yield* Effect.promise(() => waitFor("the server to answer", () => answersQueries(durable.adminUrl)))
      yield* provision(durable.nodeUrl)
    }),
  60_000,
)

it.live(
  "an address where nobody listens, and one where somebody else does, are told by name",
  () =>
    Effect.gen(function* () {
      const [port = 0] = yield* Effect.promise(() => freePorts(1))
      const nobody = yield* Effect.flip(provision(`http://127.0.0.1:${port}`))
      assert.strictEqual(nobody._tag, "Unavailable")
      assert.include(nobody.detail, `http://127.0.0.1:${port}`)
      const web = createServer((_, response) => void response.end("<html>"))
      const { port: webPort }: Pick<AddressInfo, "port"> = yield* Effect.promise(
        () => new Promise<AddressInfo>((resolve) => web.listen(0, "127.0.0.1", () => resolve(web.address() as AddressInfo))),
      )
      const other = yield* Effect.flip(provision(`http://127.0.0.1:${webPort}`))
      web.close()
      assert.strictEqual(other._tag, "Unavailable")
    }),
  30_000,
)
