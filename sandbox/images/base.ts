import { execFile } from "node:child_process"
import { realpath } from "node:fs/promises"
import { rootCertificates } from "node:tls"
import { promisify } from "node:util"
import type { TarEntry } from "./tar.ts"

const run = promisify(execFile)

/** Where programs look for the certificate authorities of the world; the bundle is the one that Node brings along. */
export const authorities: TarEntry = {
  kind: "text",
  path: "etc/ssl/certs/ca-certificates.crt",
  text: `${rootCertificates.join("\n")}\n`,
}

/** The files that C libraries and programs expect of any system: users, the order of name look-ups, a writable /tmp. */
export const baseSystem: ReadonlyArray<TarEntry> = [
  { kind: "folder", path: "etc" },
  { kind: "text", path: "etc/passwd", text: "root:x:0:0:root:/:/\nnobody:x:65534:65534:nobody:/:/\n" },
  { kind: "text", path: "etc/group", text: "root:x:0:\nnobody:x:65534:\n" },
  { kind: "text", path: "etc/nsswitch.conf", text: "hosts: files dns\n" },
  { kind: "folder", path: "tmp", mode: 0o1777 },
  { kind: "folder", path: "proc" },
  { kind: "folder", path: "sys" },
  { kind: "folder", path: "dev" },
]

/** The shared libraries that a program of this machine loads, its loader included, at the paths where it looks for them. */
export const sharedLibraries = async (program: string): Promise<ReadonlyArray<TarEntry>> => {
  // A line is "name => /path (address)", or "/path (address)" for the loader; what has no path is the kernel's own.
  const { stdout } = await run("ldd", [program], { env: { ...process.env, LC_ALL: "C" } })
  const missing = stdout.match(/^\s*(\S+) => not found/m)
  if (missing !== null) throw new Error(`${program} needs the shared library ${missing[1]}, which this machine does not have`)
  const paths = [...stdout.matchAll(/(?:=>\s+|^\s+)(\/\S+) \(0x/gm)].flatMap(([, path]) => (path === undefined ? [] : [path]))
  return Promise.all(
    [...new Set(paths)]
      .toSorted()
      .map(async (path): Promise<TarEntry> => ({ kind: "file", path: path.slice(1), from: await realpath(path) })),
  )
}
