import { createHash } from "node:crypto"
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { chunksOf, writeTar, type TarEntry, type Written } from "./tar.ts"

/** How a container of an image is started, in the terms of the OCI image specification. */
export interface ImageConfig {
  readonly Entrypoint: ReadonlyArray<string>
  readonly Env?: ReadonlyArray<string>
  readonly WorkingDir?: string
  readonly User?: string
  readonly ExposedPorts?: Readonly<Record<string, Record<string, never>>>
}

/** What images are made of: the same layers, and one configuration for each name. */
export interface ImageRecipe {
  /** Names the archive in the cache. */
  readonly title: string
  /** From the one that changes least to the one that changes most. */
  readonly layers: ReadonlyArray<ReadonlyArray<TarEntry>>
  /** Full names, registry and tag included, as containerd stores them. */
  readonly images: Readonly<Record<string, ImageConfig>>
}

/** Changed whenever this file writes archives differently, so that cached ones of the old form are not used. */
const format = 1

const layerType = "application/vnd.oci.image.layer.v1.tar"
const configType = "application/vnd.oci.image.config.v1+json"
const manifestType = "application/vnd.oci.image.manifest.v1+json"

/**
 * The path of an OCI archive of these images, which `ctr images import` reads: no daemon and no registry takes part.
 * It is made once for each content and kept in the folder; archives of the same title with other content are removed.
 */
export const imageArchive = async (recipe: ImageRecipe, folder: string): Promise<string> => {
  await mkdir(folder, { recursive: true })
  const name = `${recipe.title}-${(await fingerprint(recipe)).slice(0, 16)}.tar`
  const kept = await readdir(folder)
  if (kept.includes(name)) return join(folder, name)
  // What a run that was killed has left; no two runs make the same archive at one time.
  for (const other of kept) if (other.startsWith(`.${recipe.title}-`)) await rm(join(folder, other), { recursive: true, force: true })
  const work = await mkdtemp(join(folder, `.${recipe.title}-`))
  try {
    await writeArchive(recipe, work, join(work, "archive.tar"))
    // Renamed into place: a kill in the middle leaves no half archive under a name that is looked for.
    await rename(join(work, "archive.tar"), join(folder, name))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  const older = new RegExp(`^${recipe.title}-[0-9a-f]{16}\\.tar$`)
  for (const other of kept) if (older.test(other)) await rm(join(folder, other), { force: true })
  return join(folder, name)
}

/** How the parts of an image refer to one another. */
interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

const architecture = process.arch === "x64" ? "amd64" : process.arch

const writeArchive = async (recipe: ImageRecipe, work: string, file: string): Promise<void> => {
  const blobs = new Map<string, TarEntry>()
  const blob = (mediaType: string, written: Written, entry: TarEntry): Descriptor => {
    blobs.set(entry.path, entry)
    return { mediaType, digest: `sha256:${written.sha256}`, size: written.bytes }
  }
  const json = (mediaType: string, value: unknown): Descriptor => {
    const text = JSON.stringify(value)
    const sha256 = createHash("sha256").update(text).digest("hex")
    const written = { sha256, bytes: Buffer.byteLength(text) }
    return blob(mediaType, written, { kind: "text", path: `blobs/sha256/${sha256}`, text })
  }

  const layers: Descriptor[] = []
  for (const [index, entries] of recipe.layers.entries()) {
    const from = join(work, `layer-${index}.tar`)
    const written = await writeTar(from, entries)
    // Not compressed: the digest is then also the layer's diff id, and packing 200 MiB would cost more than it saves here.
    layers.push(blob(layerType, written, { kind: "file", path: `blobs/sha256/${written.sha256}`, from, mode: 0o644 }))
  }
  const platform = { os: "linux", architecture }
  const manifests = Object.entries(recipe.images).map(([name, config]) => ({
    ...json(manifestType, {
      schemaVersion: 2,
      mediaType: manifestType,
      config: json(configType, {
        ...platform,
        config,
        rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => digest) },
        history: [],
      }),
      layers,
    }),
    platform,
    annotations: {
      "io.containerd.image.name": name,
      "org.opencontainers.image.ref.name": name.slice(name.lastIndexOf(":") + 1),
    },
  }))
  await writeTar(file, [
    { kind: "text", path: "oci-layout", text: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
    { kind: "text", path: "index.json", text: JSON.stringify({ schemaVersion: 2, manifests }) },
    ...blobs.values(),
  ])
}

/** A digest over everything that decides the archive's bytes. */
const fingerprint = async (recipe: ImageRecipe): Promise<string> => {
  const hash = createHash("sha256").update(JSON.stringify([format, architecture, recipe.title, recipe.images]))
  for (const entries of recipe.layers) {
    for (const entry of entries) {
      if (entry.kind === "file") {
        const { from, ...rest } = entry
        hash.update(JSON.stringify([rest, await digestOf(from)]))
      } else hash.update(JSON.stringify(entry))
    }
    hash.update("\n")
  }
  return hash.digest("hex")
}

const digestOf = async (file: string): Promise<string> => {
  const hash = createHash("sha256")
  for await (const chunk of chunksOf(file)) hash.update(chunk)
  return hash.digest("hex")
}
