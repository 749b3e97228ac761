import { execFile } from "node:child_process"

/** How a command differs from one without input and with this process's environment. */
export interface CommandOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a command to its end and answers with its standard output; fails with what it wrote to standard error. */
export const command = (file: string, args: ReadonlyArray<string>, options: CommandOptions = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(
      file,
      [...args],
      // Debian keeps ip, nft and the like in sbin, which is not in everybody's PATH.
      {
        env: { ...process.env, PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`, ...options.env },
        maxBuffer: 64 << 20,
      },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout)
        else reject(new Error(`${file} ${args.join(" ")}: ${stderr.trim() === "" ? error.message : stderr.trim()}`))
      },
    )
    // A command that ends without reading its input is no reason to fail; its exit code says what happened.
    child.stdin?.on("error", () => {})
    child.stdin?.end(options.input ?? "")
  })

/** Runs a command that may fail because there is nothing to do, such as a removal. */
export const attempt = async (file: string, args: ReadonlyArray<string>): Promise<boolean> => {
  try {
    await command(file, args)
    return true
  } catch {
    return false
  }
}
