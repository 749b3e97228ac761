/** Bugs that the harness must find: wrong versions of the operator, each with the runs in which it looks for it. */
import { fileURLToPath } from "node:url"
import type { Plugin } from "esbuild"
import { readFile } from "node:fs/promises"
import { bundle } from "../../build/bundle.ts"
import { mutants } from "../mutants/mutants.ts"

export interface Plant {
  /** Of the mutant. */
  readonly name: string
  /** Parts of titles, as on the command line of the harness; empty for all. */
  readonly story: string
  readonly trouble: string
  readonly call: string
}

export const plants: ReadonlyArray<Plant> = [
  { name: "a failed query is read as zero", story: "a rollover", trouble: "error", call: "POST /query" },
  { name: "the id is recorded after confirming", story: "a rollover", trouble: "crash", call: "GET /services" },
  { name: "a delete without UID", story: "a rollover", trouble: "", call: "" },
  { name: "a decision from a stale cache is carried out", story: "a rollback", trouble: "spec late", call: "" },
  { name: "a registered version is registered again", story: "a rollover", trouble: "", call: "" },
  { name: "a failed pass is not tried again", story: "a rollover", trouble: "error", call: "DELETE" },
]

/** Builds the operator with that bug into the file. */
export const plant = async (name: string, outfile: string): Promise<void> => {
  const mutant = mutants.find((one) => one.name === name)
  if (mutant === undefined) throw new Error(`there is no mutant "${name}"`)
  const file = fileURLToPath(new URL(`../../${mutant.file}`, import.meta.url))
  let times = 0
  const plugin: Plugin = {
    name: "plant",
    setup: (build) => {
      build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (path !== file) return undefined
        const code = await readFile(path, "utf8")
        times += code.split(mutant.from).length - 1
        return { contents: code.replace(mutant.from, () => mutant.to), loader: "ts" }
      })
    },
  }
  await bundle(outfile, [plugin])
  if (times !== 1) throw new Error(`the text of "${name}" is ${times} times in ${mutant.file}`)
}
