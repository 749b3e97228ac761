import { join } from "node:path"

/** The program that stands behind an image. */
export interface StandInImage {
  /** The image's entry point; a container's `command` replaces it. */
  readonly entrypoint: ReadonlyArray<string>
  /** The image's arguments; a container's `command` or `args` replaces them. */
  readonly args: ReadonlyArray<string>
  /** The image's own variables for a tag; a container's `env` wins. */
  readonly env: (tag: string) => Readonly<Record<string, string>>
  /** Which tags exist; pulling another one fails as it would from a registry. */
  readonly tags: RegExp
}

/** Image repositories by name. */
export type ImageTable = Readonly<Record<string, StandInImage>>

/** The images that every sandbox has. */
export const standInImages: ImageTable = {
  greeter: {
    entrypoint: [process.execPath],
    args: [join(import.meta.dirname, "endpoints", "greeter.ts")],
    env: (tag) => ({ VERSION: tag }),
    tags: /^v\d+$/,
  },
}

/** An image that was found. */
export interface PulledImage extends StandInImage {
  readonly tag: string
}

/** Looks an image up by its reference, as a pull would; `undefined` means that there is none. */
export const pull = (table: ImageTable, reference: string): PulledImage | undefined => {
  const withoutDigest = reference.replace(/@.*$/, "")
  const colon = withoutDigest.lastIndexOf(":")
  // A colon before the last slash is a registry's port.
  const tagged = colon > withoutDigest.lastIndexOf("/")
  const name = tagged ? withoutDigest.slice(0, colon) : withoutDigest
  const tag = tagged ? withoutDigest.slice(colon + 1) : "latest"
  const image = table[name.replace(/^(docker\.io\/)?(library\/)?/, "")]
  return image !== undefined && image.tags.test(tag) ? { ...image, tag } : undefined
}
