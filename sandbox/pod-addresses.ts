import { createServer, type Server } from "node:net"

/**
 * Addresses for pods that are local processes.
 *
 * Every pod listens on a loopback address of its own, 127.b.c.d, which on Linux needs neither root nor set-up. The API
 * server refuses loopback addresses in EndpointSlices, so what Kubernetes is told is 10.b.c.d; the two differ in the
 * first byte only, and the router translates back.
 *
 * The second byte belongs to one sandbox at a time, so that several may run side by side: who listens on port 10250 of
 * 127.b.0.1 owns it, and the kernel gives it back when the owner ends in whatever way.
 */
export class PodAddresses {
  readonly #claim: Server
  readonly #block: number
  readonly #used = new Set<number>()
  #next = 0

  private constructor(claim: Server, block: number) {
    this.#claim = claim
    this.#block = block
  }

  /** Claims a block of addresses that no other sandbox uses. */
  static async claim(): Promise<PodAddresses> {
    for (let attempt = 0; attempt < lastBlock - firstBlock; attempt += 1) {
      const block = firstBlock + ((process.pid + attempt) % (lastBlock - firstBlock))
      const claim = await listen(`127.${block}.0.1`)
      if (claim !== undefined) return new PodAddresses(claim, block)
    }
    throw new Error("no free block of loopback addresses: too many sandboxes run")
  }

  /** The address of the stand-in node itself, as Kubernetes is told. */
  get nodeIp(): string {
    return `10.${this.#block}.0.1`
  }

  /** An address for a new pod, as Kubernetes is told. Numbers are used again as late as possible. */
  take(): string {
    for (let attempt = 0; attempt < size; attempt += 1) {
      const number = this.#next
      this.#next = (this.#next + 1) % size
      if (this.#used.has(number)) continue
      this.#used.add(number)
      return `10.${this.#block}.${1 + (number >> 8)}.${number & 0xff}`
    }
    throw new Error("no free pod address")
  }

  /** Gives a pod's address back. */
  release(podIp: string): void {
    const [, , third = 0, fourth = 0] = podIp.split(".").map(Number)
    this.#used.delete(((third - 1) << 8) | fourth)
  }

  /** Gives the block back. */
  close(): void {
    this.#claim.close()
  }
}

// 10.96 is the range of Services and 10.244 that of a real node's pods: stay clear of both.
const firstBlock = 128
const lastBlock = 240
const size = 254 * 256
const claimPort = 10_250

/** The loopback address behind a pod address of {@link PodAddresses}. */
export const loopbackOf = (podIp: string): string => podIp.replace(/^10\./, "127.")

const listen = (host: string): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once("error", () => resolve(undefined))
    server.listen({ host, port: claimPort, exclusive: true }, () => {
      server.unref()
      resolve(server)
    })
  })
