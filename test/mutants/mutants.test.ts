/** A mutant whose text is gone from the code is a test that cannot fail; `make mutants` would tell, but hours later. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { mutants } from "./mutants.ts"

it.each(mutants)("the mutant '$name' changes one place of the code", ({ file, from, to }) => {
  const code = readFileSync(join(import.meta.dirname, "../..", file), "utf8")
  expect(code.split(from)).toHaveLength(2)
  expect(to).not.toBe(from)
})
