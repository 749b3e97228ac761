import { createRequire } from "node:module"
import { join } from "node:path"
import { build } from "esbuild"
import { baseSystem, sharedLibraries } from "./base.ts"
import type { ImageConfig, ImageRecipe } from "./image.ts"

const versions = ["v1", "v2"] as const

/** Where the program listens. */
const port = 9080

const source = join(import.meta.dirname, "..", "endpoints", "greeter.ts")

/**
 * `greeter:v1` and `greeter:v2`, one SDK endpoint that answers with its version: Node, and the program of
 * `sandbox/endpoints/greeter.ts` bundled with the SDK into one file.
 */
export const greeterRecipe = async (): Promise<ImageRecipe> => {
  const node = nodeBinary()
  return {
    title: "greeter",
    layers: [
      [...baseSystem, ...(await sharedLibraries(node))],
      [{ kind: "file", path: "usr/local/bin/node", from: node }],
      [{ kind: "text", path: "app/greeter.mjs", text: await bundle() }],
    ],
    images: Object.fromEntries(versions.map((version) => [`docker.io/library/greeter:${version}`, config(version)])),
  }
}

const config = (version: string): ImageConfig => ({
  Entrypoint: ["/usr/local/bin/node", "/app/greeter.mjs"],
  Env: ["PATH=/usr/local/bin", "NODE_ENV=production", `VERSION=${version}`, `PORT=${port}`],
  WorkingDir: "/app",
  User: "65534:65534",
  ExposedPorts: { [`${port}/tcp`]: {} },
})

/** The Node that the project pins, not the one that happens to run this. */
const nodeBinary = (): string => join(createRequire(import.meta.url).resolve("node/package.json"), "..", "bin", "node")

const bundle = async (): Promise<string> => {
  const result = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    minify: true,
    platform: "node",
    target: "node24",
    format: "esm",
    // The SDK's dependencies are partly CommonJS, which calls `require`, which an ES module does not have.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "silent",
  })
  const [file] = result.outputFiles
  if (file === undefined) throw new Error(`esbuild made nothing of ${source}`)
  return file.text
}
