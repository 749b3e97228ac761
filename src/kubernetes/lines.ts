/** Lines of an answer that goes on: pulled, so that a slow reader slows the server instead of filling the memory. */
import { Effect } from "effect"
import type { IncomingMessage } from "node:http"
import { Unavailable } from "../errors.ts"
import { oneLine } from "./answers.ts"

export interface Lines {
  /** The whole lines of what has arrived, at least one; undefined when the server ended the answer. One caller at a time. */
  readonly next: Effect.Effect<ReadonlyArray<string> | undefined, Unavailable>
}

const newline = 10

/** Reads an answer line by line. An unfinished last line is dropped: it is half an event. */
export const linesOf = (message: IncomingMessage): Lines => {
  let rest: Array<Buffer> = []
  let failure: Error | undefined
  let ended = false
  let waiting: (() => void) | undefined
  const wake = () => {
    const resume = waiting
    waiting = undefined
    resume?.()
  }
  message.on("error", (error) => {
    failure ??= error
    wake()
  })
  message.on("end", () => {
    ended = true
    wake()
  })
  message.on("close", () => {
    if (!ended) failure ??= new Error("the connection was closed in the middle of an answer")
    wake()
  })
  message.on("readable", wake)

  const take = (): ReadonlyArray<string> => {
    const lines: Array<string> = []
    for (;;) {
      const chunk: unknown = message.read()
      if (!Buffer.isBuffer(chunk)) return lines
      let from = 0
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        rest.push(chunk.subarray(from, at))
        const line = Buffer.concat(rest).toString()
        rest = []
        from = at + 1
        if (line !== "") lines.push(line)
      }
      if (from < chunk.length) rest.push(chunk.subarray(from))
    }
  }

  return {
    next: Effect.callback<ReadonlyArray<string> | undefined, Unavailable>((resume) => {
      const attempt = () => {
        const lines = take()
        if (lines.length > 0) resume(Effect.succeed(lines))
        else if (failure !== undefined)
          resume(Effect.fail(new Unavailable({ server: "kubernetes", detail: oneLine(`the watch broke off: ${failure.message}`) })))
        else if (ended) resume(Effect.undefined)
        else waiting = attempt
      }
      attempt()
      return Effect.sync(() => {
        waiting = undefined
      })
    }),
  }
}
