/** The real API server of a test run, as tests use it. Needs `global-sandbox.ts` as vitest's globalSetup. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { inject } from "vitest"
import { parse } from "yaml"
import { ApiError, KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"
import { type OwnKind, type Vocabulary, vocabularies } from "#src/vocabulary.ts"

/** A JSON object of a test's own making; wrong ones are what many tests are about. */
export interface JsonObject {
  readonly [key: string]: unknown
}

/** A custom resource definition as far as tests look into it. */
export interface Crd extends KubernetesObject {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string; readonly kind: string }
    readonly scope: string
    readonly versions: ReadonlyArray<{ readonly name: string; readonly schema: { readonly openAPIV3Schema: JsonObject } }>
  }
}

/** Both vocabularies, for `describe.each`. */
export const editions: ReadonlyArray<Vocabulary> = [vocabularies.service, vocabularies.restate]

/** A client with the administrator's rights. */
export const connect = (): Promise<KubernetesClient> => KubernetesClient.fromKubeconfig(inject("kubeconfig"))

/** Runs `kubectl` against the API server and gives what it prints. */
export const kubectl = async (...args: ReadonlyArray<string>): Promise<string> => {
  const binaries = inject("kubernetesBinaries")
  const program = binaries === "" ? "kubectl" : join(binaries, "kubectl")
  const { stdout } = await promisify(execFile)(program, ["--kubeconfig", inject("kubeconfig"), ...args])
  return stdout
}

/** The committed definition of one of our resources. */
export const committedCrd = ({ edition, resources }: Vocabulary, role: OwnKind): Crd => {
  const { plural, group } = resources[role]
  const file = join(import.meta.dirname, "../../dist-manifests", edition, "crds", `${plural}.${group}.yaml`)
  const crd: Crd = parse(readFileSync(file, "utf8"))
  return crd
}

/** Applies a definition and waits until its resource can be listed. */
export const install = async (client: KubernetesClient, crd: Crd): Promise<void> => {
  await client.apply(crd)
  await eventually(() => client.list(`/apis/${crd.spec.group}/${crd.spec.versions[0]?.name}/${crd.spec.names.plural}`))
}

/** What the API server says when it refuses; fails when it accepts. */
export const refusal = async (attempt: Promise<unknown>): Promise<ApiError> => {
  try {
    await attempt
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error("the API server accepted what it should refuse")
}

/** Repeats an attempt until it succeeds, for at most half a minute. */
export const eventually = async <T>(attempt: () => Promise<T>, timeoutMs = 30_000): Promise<T> => {
  const end = Date.now() + timeoutMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > end) throw error
      await sleep(50)
    }
  }
}
