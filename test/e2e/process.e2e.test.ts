/** The operator as a program: what it says when it cannot run. */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, inject, it } from "vitest"

const folder = mkdtempSync(join(tmpdir(), "operator-process-"))
afterAll(() => rmSync(folder, { recursive: true }))

interface Ended {
  readonly code: number | string | null | undefined
  readonly stdout: string
  readonly stderr: string
}

const operator = (kubeconfig: string, ...args: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve) => {
    const bundle = join(import.meta.dirname, "../../dist/operator.mjs")
    const all = [bundle, "run", "--vocabulary", "service", "--operator-namespace", "default", "--http-address", "127.0.0.1:0", ...args]
    execFile(process.execPath, all, { env: { ...process.env, KUBECONFIG: kubeconfig }, timeout: 20_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
  })

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** Exit code 1 and one sentence that says what is wrong. */
const oneSentence = ({ code, stderr }: Ended, about: RegExp) => {
  expect(code).toBe(1)
  expect(stderr.trim().split("\n")).toHaveLength(1)
  expect(stderr).toMatch(about)
}

it("says in one sentence that the kubeconfig is broken", async () => {
  oneSentence(await operator(file("broken", "{ not: yaml: at: all")), /kubeconfig/i)
})

it("says in one sentence that the kubeconfig is missing", async () => {
  oneSentence(await operator(join(folder, "absent")), /kubeconfig/i)
})

it("says in one sentence that its credentials are refused", async () => {
  const config: { users: Array<{ user: object }> } = JSON.parse(readFileSync(inject("kubeconfig"), "utf8"))
  config.users = config.users.map((entry) => ({ ...entry, user: { token: "not-a-token" } }))
  oneSentence(await operator(file("refused", JSON.stringify(config))), /401|Unauthorized|credentials/)
})

it("refuses a DNS suffix that is none before it calls anybody", async () => {
  oneSentence(await operator(join(folder, "absent"), "--cluster-dns", "bad_dns!"), /cluster-dns/)
})

it("explains itself", async () => {
  const { code, stdout } = await operator("", "--help")
  expect(code).toBe(0)
  for (const flag of ["--vocabulary", "--http-address", "--cluster-dns", "--operator-namespace"]) expect(stdout).toContain(flag)
})
