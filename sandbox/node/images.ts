import { join } from "node:path"
import { cacheDirectory } from "../binaries.ts"
import { greeterRecipe } from "../images/greeter.ts"
import { imageArchive, type ImageRecipe } from "../images/image.ts"
import { pauseRecipe } from "../images/pause.ts"
import { serverRecipe } from "../images/server.ts"
import type { Progress } from "../progress.ts"
import { importImages } from "./containerd.ts"

const bring = async (recipe: ImageRecipe): Promise<void> => importImages(await imageArchive(recipe, join(cacheDirectory(), "images")))

/** Makes the images that pods of the sandbox use, or takes them from the cache, and gives them to the container runtime. */
export const bringImages = async (binaries: string, progress: Progress): Promise<void> => {
  const begun = Date.now()
  await Promise.all([bring(pauseRecipe(binaries)), bring(serverRecipe()), greeterRecipe().then(bring)])
  progress(`images imported in ${((Date.now() - begun) / 1000).toFixed(1)} s`)
}
