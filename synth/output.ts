/** Everything that is generated, as path and text: written by `make synth`, compared by `make verify` and by the tests. */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { App, type ApiObject, Chart } from "cdk8s"
import { type Vocabulary, vocabularies } from "#src/vocabulary.ts"
import { addCrd, crdName } from "./crds.ts"
import { addOperator } from "./operator.ts"
import { rights } from "./rbac.ts"
import type { Resource } from "./schema.ts"
import { readResources } from "./schema-file.ts"
import { typesOf } from "./types.ts"
import { toYaml } from "./yaml.ts"

/** Generated text by path below the root, in order of path. */
export type Output = ReadonlyMap<string, string>

/** The project's own folder. */
export const root = dirname(import.meta.dirname)

const typesFolder = "src/resources/generated"
const manifests = "dist-manifests"
const editions = [vocabularies.service, vocabularies.restate]

/** Reads the schema files of a folder and generates all files; the same input gives the same bytes. */
export const generate = async (schemas: string): Promise<Output> => {
  const resources = readResources(schemas)
  const files: Array<readonly [string, string]> = []
  for (const resource of resources) {
    files.push([`${typesFolder}/${basename(resource.file, ".yaml")}.ts`, await typesOf(resource)])
  }
  for (const vocabulary of editions) {
    for (const resource of resources) files.push([crdPath(resource, vocabulary), crd(resource, vocabulary)])
    files.push([`${manifests}/${vocabulary.edition}/install.yaml`, install(vocabulary)])
  }
  return new Map(files.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Where the custom resource definition of a resource is written. */
export const crdPath = (resource: Resource, vocabulary: Vocabulary): string =>
  `${manifests}/${vocabulary.edition}/crds/${crdName(resource, vocabulary)}.yaml`

const chart = (name: string): Chart => new Chart(new App(), name, { disableResourceNameHashes: true })

const heading = (source: string): string => `# Generated from ${source} by \`make synth\`. Do not edit.\n`

const crd = (resource: Resource, vocabulary: Vocabulary): string =>
  heading(resource.file) + toYaml(addCrd(chart("crds"), resource, vocabulary).toJson())

const install = (vocabulary: Vocabulary): string => {
  const operator = chart("operator")
  addOperator(operator, vocabulary, packageVersion())
  const { cluster, namespace } = rights(vocabulary)
  const comments = (object: ApiObject) => {
    const rules = object.kind === "ClusterRole" ? cluster : object.kind === "Role" ? namespace : []
    return new Map(rules.map(({ why }, index) => [`rules/${index}`, why]))
  }
  const documents = operator.apiObjects.map((object) => toYaml(object.toJson(), comments(object)))
  return heading("synth/operator.ts and src/kubernetes/access.ts") + documents.join("---\n")
}

const packageVersion = (): string => {
  const value: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const version = typeof value === "object" && value !== null && "version" in value ? value.version : undefined
  return typeof version === "string" ? version : "0.0.0"
}

/** Writes the files below a folder and removes what an earlier run wrote there and this one did not. */
export const write = (output: Output, folder: string): void => {
  for (const path of present(folder)) if (!output.has(path)) rmSync(join(folder, path))
  for (const [path, text] of output) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** Paths at which the files below a folder are not what is generated: changed, missing or left over. */
export const differences = (output: Output, folder: string): Array<string> => {
  const paths = new Set([...output.keys(), ...present(folder)])
  return [...paths].toSorted().filter((path) => textOf(join(folder, path)) !== output.get(path))
}

const textOf = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, "utf8") : undefined)

/** Files of the folders that only the synthesis writes to. */
const present = (folder: string): Array<string> =>
  [typesFolder, ...editions.flatMap(({ edition }) => [`${manifests}/${edition}`, `${manifests}/${edition}/crds`])].flatMap((inner) =>
    existsSync(join(folder, inner))
      ? readdirSync(join(folder, inner), { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [`${inner}/${entry.name}`] : []))
      : [],
  )
