/**
 * The service of the sandbox's `greeter` image. Its answers name the version, so a caller sees which one ran.
 *
 * VERSION  what the answers begin with (default `v0`)
 * HOST     address to listen on (default 0.0.0.0)
 * PORT     port to listen on (default 9080)
 */
import { createServer } from "node:http2"
import * as restate from "@restatedev/restate-sdk"

const version = process.env["VERSION"] ?? "v0"
const host = process.env["HOST"] ?? "0.0.0.0"
const port = Number(process.env["PORT"] ?? "9080")

const greeter = restate.service({
  name: "Greeter",
  handlers: {
    /** Answers at once. */
    greet: async (_context: restate.Context, name: string): Promise<string> => `${version}: hello ${name}`,
    /** Sleeps durably: the invocation may outlive this process, but ends on this version. */
    slow: async (context: restate.Context, input: { readonly seconds: number }): Promise<string> => {
      await context.sleep({ seconds: input.seconds })
      return `${version} woke`
    },
    /** Sleeps durably, then tells a ledger once that it is done: whoever counts there sees an invocation that ran twice. */
    tell: async (context: restate.Context, input: { readonly seconds: number; readonly ledger: string }): Promise<string> => {
      await context.sleep({ seconds: input.seconds })
      await context.run("tell", async () => {
        const answer = await fetch(input.ledger, { method: "POST", body: version })
        if (!answer.ok) throw new Error(`the ledger answered ${answer.status}`)
      })
      return `${version} told`
    },
    /** Waits until somebody resolves the awakeable whose id is in the invocation's journal. */
    hold: async (context: restate.Context): Promise<string> => {
      const { promise } = context.awakeable<string>()
      return `${version} got ${await promise}`
    },
  },
})

const server = createServer(restate.createEndpointHandler({ services: [greeter] }))
server.listen(port, host, () => console.log(`greeter ${version} listens on ${host}:${port}`))

// As process 1 of a container a program without this handler ignores SIGTERM. Open streams are cut: the server that
// holds their journal resumes them elsewhere.
process.on("SIGTERM", () => process.exit(0))
