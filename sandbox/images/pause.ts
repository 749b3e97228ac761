import { join } from "node:path"
import type { GoModule } from "../go-programs.ts"
import type { ImageRecipe } from "./image.ts"

/** The name under which the container runtime is told to look for it. */
export const pauseImage = "registry.k8s.io/pause:3.10"

/** Built with Go, which the sandbox needs anyway, so that no C compiler has to be on the machine. */
export const pauseModule: GoModule = {
  name: "pause",
  directory: join(import.meta.dirname, "pause"),
  ldflags: "-s -w",
  programs: { pause: "." },
}

/** The image that every pod's first container runs. */
export const pauseRecipe = (binaries: string): ImageRecipe => ({
  title: "pause",
  layers: [[{ kind: "file", path: "pause", from: join(binaries, "pause") }]],
  images: { [pauseImage]: { Entrypoint: ["/pause"], User: "65534:65534" } },
})
