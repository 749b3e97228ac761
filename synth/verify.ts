/** `node synth/verify.ts`: ends with 1 and names the files when what is committed is not what the schemas generate. */
import { join } from "node:path"
import { differences, generate, root } from "./output.ts"
import { SchemaProblems } from "./problems.ts"

try {
  const different = differences(await generate(join(root, "schemas")), root)
  for (const path of different) console.error(`${path} is not what the schemas generate: run \`make synth\``)
  if (different.length > 0) process.exitCode = 1
} catch (error) {
  console.error(error instanceof SchemaProblems ? error.message : `synth: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
