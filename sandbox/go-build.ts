import { execFile, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { buildFlags, type GoModule } from "./go-programs.ts"
import type { Progress } from "./progress.ts"

const run = promisify(execFile)
const oldestMinor = 26
const otherwise =
  "or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl, " +
  "or set CLUSTER=current to use the cluster of your kubeconfig"

// CGO off: static binaries, no C compiler. GOFLAGS empty: a user's own flags must not change what is built.
const goEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" })

/** Fails with one clear sentence when there is no Go, or one too old for this module. */
export const requireGo = async (module: GoModule): Promise<void> => {
  const needed = `Go 1.${oldestMinor} or newer is needed to build the sandbox's programs`
  let text: string
  try {
    // In the module's folder, where a Go that may fetch a newer one for itself answers with that.
    text = (await run("go", ["env", "GOVERSION"], { cwd: module.directory, env: goEnvironment() })).stdout.trim()
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT"
    const found = missing ? "there is none here" : error instanceof Error ? error.message.trim() : String(error)
    throw new Error(`${needed}, and ${found}: install it, ${otherwise}`, { cause: error })
  }
  const [major, minor] = text
    .replace(/^go/, "")
    .split(".")
    .map((part) => Number.parseInt(part, 10))
  if (!(major === 1 && minor !== undefined && minor >= oldestMinor)) {
    throw new Error(`${needed}, and this is ${text}: install it, ${otherwise}`)
  }
}

const countPackages = async (module: GoModule, packages: ReadonlyArray<string>): Promise<number> => {
  const { stdout } = await run("go", ["list", "-deps", ...packages], {
    cwd: module.directory,
    env: goEnvironment(),
    maxBuffer: 64 << 20,
  })
  return stdout.trim().split("\n").length
}

/**
 * Builds programs of one module into a folder. One `go build` for all of them, because their linkers overlap.
 * `go build -v` names each package as it is compiled, which is what the progress is counted by.
 */
export const goBuild = async (
  module: GoModule,
  programs: ReadonlyArray<readonly [name: string, packagePath: string]>,
  output: string,
  progress: Progress,
): Promise<void> => {
  const names = programs.map(([name]) => name).join(", ")
  const packages = programs.map(([, path]) => path)
  const started = Date.now()
  const elapsed = (): string => `${Math.round((Date.now() - started) / 1000)} s`
  progress(`building ${names}: reading the modules (the first time downloads some hundred megabytes)`)
  const total = await countPackages(module, packages)

  // A package that is the only one may have any last element (etcd's is `v3`), so its file name is given.
  const [only] = programs
  const target = programs.length === 1 && only !== undefined ? `${output}/${only[0]}` : `${output}/`
  const child = spawn("go", ["build", "-v", ...buildFlags(module), "-o", target, ...packages], {
    cwd: module.directory,
    env: goEnvironment(),
    stdio: ["ignore", "ignore", "pipe"],
  })
  const endWithUs = (): void => void child.kill()
  process.once("exit", endWithUs)

  let compiled = 0
  const tail: string[] = []
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (/^[a-z0-9][^\s:]*$/i.test(line)) compiled += 1
    tail.push(line)
    if (tail.length > 20) tail.shift()
  })
  const ticker = setInterval(() => {
    progress(`building ${names}: ${compiled} of at most ${total} packages, ${elapsed()} (the first build takes about 5 minutes on 2 cores)`)
  }, 5_000)
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject)
      child.once("close", resolve)
    })
    if (code !== 0) throw new Error(`go build of ${names} failed:\n${tail.join("\n")}`)
  } finally {
    clearInterval(ticker)
    process.removeListener("exit", endWithUs)
  }
  progress(`built ${names} in ${elapsed()}`)
}
