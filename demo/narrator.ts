/** Prints the demo as a person would want to read it, with the time each step took. */
export class Narrator {
  readonly #begun = Date.now()
  #last = Date.now()
  #overwriting = false

  chapter(title: string): void {
    this.#line(`\n${title}`)
  }

  /** Something that was done, and seen to be so. */
  fact(text: string): void {
    const seconds = ((Date.now() - this.#last) / 1000).toFixed(1)
    this.#last = Date.now()
    this.#line(`  ✓ ${text}  (${seconds} s)`)
  }

  /** What people see with their own tools. */
  shows(text: string): void {
    this.#line(text.replace(/^/gm, "      "))
  }

  /** Long work: one line that changes on a terminal, lines elsewhere. */
  progress(text: string): void {
    if (!process.stdout.isTTY) return this.#line(`    ${text}`)
    process.stdout.write(`\r\u001B[K    ${text.slice(0, (process.stdout.columns || 80) - 6)}`)
    this.#overwriting = true
  }

  end(): void {
    this.#line(`\nEvery promise was kept. ${((Date.now() - this.#begun) / 1000).toFixed(0)} s in all.`)
  }

  broken(error: unknown): void {
    this.#line(`\n  ✗ ${error instanceof Error ? error.message : String(error)}\n\nA promise was broken.`)
  }

  #line(text: string): void {
    if (this.#overwriting) process.stdout.write("\r\u001B[K")
    this.#overwriting = false
    console.log(text)
  }
}

/** Fails the demo, in the words of the promise. */
export const promise = (kept: boolean, broken: string): void => {
  if (!kept) throw new Error(broken)
}
