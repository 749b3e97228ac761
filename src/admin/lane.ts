/** One lane of registrations: who is in it, whose turn it is, who waits. No clock and no effects: lanes.ts has those. */
import type { Key } from "../engine/wake.ts"

/** A registration on its way. */
export interface Flight {
  /** It has taken longer than a healthy one ever does; the endpoint behind it probably hangs. */
  hung: boolean
}

interface Turn {
  readonly key: Key
  /** The pass that asked for the turn has not ended yet, so its end does not mean that the turn is not used. */
  samePass: boolean
}

/**
 * One registration at a time, in the order of asking. A free place is reserved for the key that has waited longest,
 * because its pass has to come round again first; while it is reserved nobody else takes it.
 */
export class Lane {
  /** How many hung registrations may be in flight beside the one that counts. */
  readonly #excused: number
  readonly #flights = new Set<Flight>()
  /** In the order of asking; each key once, so the lane is never longer than there are objects. */
  readonly #waiting = new Map<Key, Turn>()
  #reserved: Turn | undefined

  constructor(excused: number) {
    this.#excused = excused
  }

  /** How many wait for their turn, or have it and have not used it yet. */
  get depth(): number {
    return this.#waiting.size + (this.#reserved === undefined ? 0 : 1)
  }

  get reserved(): Key | undefined {
    return this.#reserved?.key
  }

  /** Takes the place if it is this key's turn, else puts the key in the queue. */
  enter(key: Key): Flight | undefined {
    if (this.#reserved?.key === key) this.#reserved = undefined
    else if (this.#reserved !== undefined || this.#waiting.size > 0 || !this.#room()) {
      const turn = this.#waiting.get(key)
      if (turn === undefined) this.#waiting.set(key, { key, samePass: true })
      else turn.samePass = true
      return undefined
    }
    const flight = { hung: false }
    this.#flights.add(flight)
    return flight
  }

  /** A registration has come to its end. */
  leave(flight: Flight): void {
    this.#flights.delete(flight)
  }

  /** The next turn, if there is room for one: the key has to be woken. */
  grant(): Key | undefined {
    if (this.#reserved !== undefined || !this.#room()) return undefined
    const [turn] = this.#waiting.values()
    if (turn === undefined) return undefined
    this.#waiting.delete(turn.key)
    this.#reserved = turn
    return turn.key
  }

  /** A pass of the key is over. Whoever had the turn before that pass, and did not use it, loses it. */
  settled(key: Key): void {
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) waiting.samePass = false
    if (this.#reserved?.key !== key) return
    if (this.#reserved.samePass) this.#reserved.samePass = false
    else this.#reserved = undefined
  }

  /** Takes the turn away from a key that does not come, and the place in the queue too when `entirely`. */
  drop(key: Key, entirely: boolean): void {
    if (this.#reserved?.key === key) this.#reserved = undefined
    if (entirely) this.#waiting.delete(key)
  }

  #room(): boolean {
    let hung = 0
    let healthy = 0
    for (const flight of this.#flights) {
      if (flight.hung) hung += 1
      else healthy += 1
    }
    return healthy + Math.max(0, hung - this.#excused) === 0
  }
}
