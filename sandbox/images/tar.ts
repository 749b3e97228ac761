import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { open, stat, type FileHandle } from "node:fs/promises"

/** One entry of an archive: a folder, a file from memory or from disk, or a symbolic link. */
export type TarEntry =
  | { readonly kind: "folder"; readonly path: string; readonly mode?: number }
  | { readonly kind: "text"; readonly path: string; readonly text: string; readonly mode?: number }
  | { readonly kind: "file"; readonly path: string; readonly from: string; readonly mode?: number }
  | { readonly kind: "link"; readonly path: string; readonly to: string }

/** What has been written: its digest and size. */
export interface Written {
  /** Hexadecimal SHA-256 of all bytes. */
  readonly sha256: string
  readonly bytes: number
}

const block = 512

/**
 * Writes a tar archive (ustar) in the given order, owned by root and without times, so that the same entries always
 * give the same bytes and therefore the same digest.
 */
export const writeTar = async (file: string, entries: ReadonlyArray<TarEntry>): Promise<Written> => {
  const hash = createHash("sha256")
  let bytes = 0
  const output = await open(file, "w")
  const put = async (chunk: Buffer): Promise<void> => {
    hash.update(chunk)
    bytes += chunk.length
    await writeAll(output, chunk)
  }
  try {
    for (const entry of entries) {
      const size = await sizeOf(entry)
      await put(header(entry, size))
      if (entry.kind === "text") await put(Buffer.from(entry.text))
      if (entry.kind === "file") {
        for await (const chunk of chunksOf(entry.from)) await put(chunk)
      }
      const rest = size % block
      if (rest > 0) await put(Buffer.alloc(block - rest))
    }
    // Two empty blocks are the end of an archive.
    await put(Buffer.alloc(2 * block))
  } finally {
    await output.close()
  }
  return { sha256: hash.digest("hex"), bytes }
}

/** A file in pieces of 1 MiB: some of these files have 200, and the usual 64 KiB would mean sixteen times as many turns. */
export const chunksOf = (file: string): AsyncIterable<Buffer> => createReadStream(file, { highWaterMark: 1 << 20 })

const writeAll = async (output: FileHandle, chunk: Buffer): Promise<void> => {
  let offset = 0
  while (offset < chunk.length) offset += (await output.write(chunk, offset)).bytesWritten
}

const sizeOf = async (entry: TarEntry): Promise<number> => {
  if (entry.kind === "text") return Buffer.byteLength(entry.text)
  return entry.kind === "file" ? (await stat(entry.from)).size : 0
}

const typeFlags = { folder: "5", text: "0", file: "0", link: "2" } as const
const defaultModes = { folder: 0o755, text: 0o644, file: 0o755, link: 0o777 } as const

const header = (entry: TarEntry, size: number): Buffer => {
  const name = entry.kind === "folder" ? `${entry.path}/` : entry.path
  // Longer names need a prefix field or an extension header; no image here has any.
  if (Buffer.byteLength(name) > 100) throw new Error(`a path of more than 100 bytes does not fit into this archive: ${name}`)
  const bytes = Buffer.alloc(block)
  const octal = (value: number, at: number, width: number): void => {
    bytes.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, "latin1")
  }
  bytes.write(name, 0)
  octal(entry.kind === "link" ? defaultModes.link : (entry.mode ?? defaultModes[entry.kind]), 100, 8)
  octal(0, 108, 8) // user id
  octal(0, 116, 8) // group id
  octal(size, 124, 12)
  octal(0, 136, 12) // time of modification
  bytes.write(typeFlags[entry.kind], 156)
  if (entry.kind === "link") bytes.write(entry.to, 157)
  bytes.write("ustar\u000000", 257, "latin1")
  // The checksum is taken with its own field filled with spaces.
  bytes.fill(" ", 148, 156)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1")
  return bytes
}
