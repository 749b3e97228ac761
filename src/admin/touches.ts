/** When the operator itself last changed who serves what: a look asked earlier proves nothing about it (law 3). */

/**
 * Milliseconds. In a server of several nodes a change reaches the others within 2–50 ms, and a question may meet any of
 * them: a change counts as done only this long after its answer.
 */
export const settling = 100

interface Touched {
  /** Time of the last change whose services are not known. */
  any: number
  /** Time of the last change of whatever. */
  last: number
  readonly services: Map<string, number>
  /** Changes on their way; undefined when it is not known what they touch. */
  readonly flights: Set<{ readonly services: ReadonlyArray<string> | undefined }>
}

/** A change on its way. `end` says what it touched in the end; undefined when that is not known. */
export interface Touch {
  readonly end: (now: number, services: ReadonlyArray<string> | undefined) => void
}

export class Touches {
  readonly #servers = new Map<string, Touched>()

  /** Epoch milliseconds of the last change of one of these services (undefined: of any), `Infinity` while one is on its way, 0 when never. */
  at(server: string, services: ReadonlyArray<string> | undefined): number {
    const touched = this.#servers.get(server)
    if (touched === undefined) return 0
    for (const flight of touched.flights) {
      if (flight.services === undefined || services === undefined || flight.services.some((service) => services.includes(service)))
        return Infinity
    }
    if (services === undefined) return touched.last
    return services.reduce((latest, service) => Math.max(latest, touched.services.get(service) ?? 0), touched.any)
  }

  begin(server: string, services: ReadonlyArray<string> | undefined): Touch {
    const touched = this.#of(server)
    const flight = { services }
    touched.flights.add(flight)
    return {
      end: (now, ended) => {
        if (!touched.flights.delete(flight)) return
        const at = now + settling
        touched.last = at
        if (ended === undefined) touched.any = at
        else for (const service of ended) touched.services.set(service, at)
      },
    }
  }

  #of(server: string): Touched {
    const known = this.#servers.get(server)
    if (known !== undefined) return known
    const touched: Touched = { any: 0, last: 0, services: new Map(), flights: new Set() }
    this.#servers.set(server, touched)
    return touched
  }
}
