import { createServer } from "node:net"

// Below the range from which the kernel takes the ports of outgoing connections (32768 on), so that no connection made
// between the choice and the bind can take the port away.
const lowest = 20_000
const highest = 31_999

const isFree = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })

/** Given out by this process. They are bound later, so eight sandboxes that start at once would meet every few runs. */
const given = new Set<number>()

/** Different ports that nobody listens on, chosen at random so that sandboxes of other processes seldom meet. */
export const freePorts = async (count: number, host = "127.0.0.1"): Promise<ReadonlyArray<number>> => {
  const ports = new Set<number>()
  for (let attempt = 0; ports.size < count; attempt += 1) {
    if (attempt > 1_000) throw new Error(`no ${count} free ports between ${lowest} and ${highest} on ${host}`)
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1))
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port, host)) ports.add(port)
  }
  return [...ports]
}

/** One port that nobody listens on. */
export const freePort = async (host = "127.0.0.1"): Promise<number> => {
  const [port] = await freePorts(1, host)
  if (port === undefined) throw new Error("no free port")
  return port
}
