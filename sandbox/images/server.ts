import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { authorities, baseSystem } from "./base.ts"
import type { ImageRecipe } from "./image.ts"

const require = createRequire(import.meta.url)

const installed = (): { readonly binary: string; readonly version: string } => {
  const manifest = require.resolve("@restatedev/restate-server/package.json")
  const platform = `@restatedev/restate-server-linux-${process.arch}`
  // Resolved from the wrapper, whose optional dependency it is, so that their versions belong together.
  const folder = dirname(createRequire(manifest).resolve(`${platform}/package.json`))
  const { version }: { readonly version: string } = JSON.parse(readFileSync(manifest, "utf8"))
  return { binary: join(folder, "bin", "restate-server"), version }
}

/** The name that pod templates use for the durable-execution server; it is also that of the public image. */
export const serverImage = (): string => `restatedev/restate:${installed().version}`

/** The real durable-execution server out of its npm package: one static program, so the image has little else. */
export const serverRecipe = (): ImageRecipe => ({
  title: "server",
  // The authorities because the server refuses to start where it finds none.
  layers: [[...baseSystem, authorities, { kind: "file", path: "usr/local/bin/restate-server", from: installed().binary }]],
  images: {
    [`docker.io/${serverImage()}`]: {
      Entrypoint: ["/usr/local/bin/restate-server"],
      Env: ["PATH=/usr/local/bin"],
      WorkingDir: "/",
      ExposedPorts: { "8080/tcp": {}, "9070/tcp": {}, "5122/tcp": {} },
    },
  },
})
