/** The objects in `examples/*.yaml`. */
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { parseAllDocuments } from "yaml"
import type { OwnKind, Vocabulary } from "#src/vocabulary.ts"
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"

/** One YAML document and where it stands. */
export interface Example {
  readonly file: string
  readonly object: KubernetesObject
}

const folder = join(import.meta.dirname, "../../examples")

/** All documents, in order of file; none when there are no examples. */
export const examples = (): ReadonlyArray<Example> =>
  (existsSync(folder) ? readdirSync(folder) : [])
    .filter((file) => file.endsWith(".yaml"))
    .toSorted()
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(folder, file), "utf8")).flatMap((document) => {
        const object: KubernetesObject | null = document.toJS()
        return object === null ? [] : [{ file: `examples/${file}`, object }]
      }),
    )

/** The examples that are of this kind. */
export const examplesOf = ({ resources }: Vocabulary, role: OwnKind): ReadonlyArray<Example> => {
  const { group, version, kind } = resources[role]
  return examples().filter(({ object }) => object.apiVersion === `${group}/${version}` && object.kind === kind)
}
