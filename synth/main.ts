/**
 * `node synth/main.ts [--out DIR] [--schemas DIR]`: from the schema files to TypeScript types and manifests. Prints a
 * line for each mistake and ends with 1 when the schemas are wrong; nothing is written then.
 */
import { join } from "node:path"
import { parseArgs } from "node:util"
import { generate, root, write } from "./output.ts"
import { SchemaProblems } from "./problems.ts"

try {
  const { values } = parseArgs({
    options: { out: { type: "string", default: root }, schemas: { type: "string", default: join(root, "schemas") } },
  })
  write(await generate(values.schemas), values.out)
} catch (error) {
  // A trace helps nobody who edits YAML; what is no mistake in the schemas still says where it comes from.
  console.error(error instanceof SchemaProblems ? error.message : `synth: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
