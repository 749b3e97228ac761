import { relative } from "node:path"
import { defineConfig, type Plugin } from "vitest/config"
import { mutants } from "./mutants.ts"

const root = new URL("../..", import.meta.url).pathname
const mutant = mutants.find(({ name }) => name === process.env["MUTANT"])

/** Replaces the text while the module is loaded; no file is written. */
const mutate: Plugin = {
  name: "mutant",
  enforce: "pre",
  transform: (code, id) =>
    mutant !== undefined && relative(root, id.split("?")[0] ?? "") === mutant.file
      ? { code: code.replace(mutant.from, () => mutant.to), map: null }
      : undefined,
}

// The cache of transformed modules does not know of mutants: it would hand out the last one, or none.
export default defineConfig({ root, plugins: [mutate], test: { include: ["test/**/*.test.ts"], fsModuleCache: false } })
