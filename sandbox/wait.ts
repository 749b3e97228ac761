import { setTimeout as sleep } from "node:timers/promises"

/** What to wait for and for how long. */
export interface WaitOptions {
  readonly timeoutMs?: number
  /** By default often at first, when the answer is near, and four times a second later: eight worlds that ask 20 times do nothing else. */
  readonly everyMs?: number
  /** Asked before each try; a sentence ends the wait at once, because it says why it is hopeless. */
  readonly hopeless?: () => string | undefined
}

/**
 * Tries until the answer is neither `undefined` nor `false`, and returns it. An exception counts as "not yet"; the last
 * one is part of the message when the time is over.
 */
export const waitFor = async <T>(
  what: string,
  attempt: () => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions = {},
): Promise<T> => {
  const timeoutMs = options.timeoutMs ?? 30_000
  const deadline = Date.now() + timeoutMs
  let last: unknown
  for (let pause = 25; ; pause = Math.min(pause * 1.3, 250)) {
    const reason = options.hopeless?.()
    if (reason !== undefined) throw new Error(`gave up waiting for ${what}: ${reason}`)
    try {
      const answer = await attempt()
      if (answer !== undefined && answer !== false) return answer
      last = undefined
    } catch (error) {
      last = error
    }
    if (Date.now() >= deadline) {
      const why = last instanceof Error ? `: ${last.message}` : ""
      throw new Error(`waited ${Math.round(timeoutMs / 1000)} s in vain for ${what}${why}`, { cause: last })
    }
    await sleep(options.everyMs ?? pause)
  }
}
