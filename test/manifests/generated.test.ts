/** What is committed is what the schemas generate, fits where it must fit, and grants what the access table says. */
import { join } from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { beforeAll, describe, expect, it } from "vitest"
import { type KindAccess, access } from "#src/kubernetes/access.ts"
import { vocabularies } from "#src/vocabulary.ts"
import { type Output, differences, generate, root } from "../../synth/output.ts"

let output: Output

beforeAll(async () => {
  output = await generate(join(root, "schemas"))
})

const text = (path: string): string => output.get(path) ?? ""

it("generates what is committed", () => {
  expect(differences(output, root)).toEqual([])
})

it("generates the same bytes again", async () => {
  expect(await generate(join(root, "schemas"))).toEqual(output)
})

describe.each([vocabularies.service, vocabularies.restate])("in the vocabulary $edition", (vocabulary) => {
  const folder = `dist-manifests/${vocabulary.edition}`

  it("writes one definition for each schema, under the vocabulary's names", () => {
    for (const { plural, group, kind, shortName, version } of Object.values(vocabulary.resources)) {
      expect(parse(text(`${folder}/crds/${plural}.${group}.yaml`))).toMatchObject({
        metadata: { name: `${plural}.${group}` },
        spec: { group, names: { kind, plural, shortNames: [shortName] }, versions: [{ name: version, served: true, storage: true }] },
      })
    }
  })

  // Client-side apply keeps the whole object in an annotation, and annotations end at 256 KiB.
  it("keeps every definition under 220 KiB of compact JSON", () => {
    for (const [path, content] of output) {
      const size = path.startsWith(`${folder}/crds/`) ? JSON.stringify(parse(content)).length : 0
      expect({ path, small: size < 220 * 1024 }).toEqual({ path, small: true })
    }
  })

  it("names nothing of the other vocabulary and leaves no placeholder", () => {
    const { group, operator, resources } = vocabulary === vocabularies.service ? vocabularies.restate : vocabularies.service
    const foreign = [group, operator, ...Object.values(resources).map(({ kind }) => kind)]
    const found = [...output].flatMap(([path, content]) =>
      path.startsWith(folder)
        ? [...foreign.filter((name) => content.includes(name)), ...(content.match(/\{[a-z]+(\.[a-zA-Z]+)?\}/g) ?? [])]
        : [],
    )
    expect(found).toEqual([])
  })

  it("grants exactly what the access table says, and each rule for one group", () => {
    const rules = installed(`${folder}/install.yaml`).flatMap((object) =>
      (object.kind === "ClusterRole" || object.kind === "Role") && object.rules !== undefined ? object.rules : [],
    )
    for (const { apiGroups, resources } of rules) expect([apiGroups.length, resources.length]).toEqual([1, 1])
    const granted = rules.flatMap(({ apiGroups, resources, verbs }) => verbs.map((verb) => `${verb} ${apiGroups[0]}/${resources[0]}`))
    // One resource may be read for two purposes.
    expect(granted.toSorted()).toEqual([...new Set(Object.values(access(vocabulary)).flatMap(needs))].toSorted())
  })

  it("starts the operator in this vocabulary and asks it for its health", () => {
    const deployment = installed(`${folder}/install.yaml`).find(({ kind }) => kind === "Deployment")
    expect(deployment).toMatchObject({
      metadata: { name: vocabulary.operator, namespace: vocabulary.operator },
      spec: {
        template: {
          spec: {
            containers: [
              {
                args: ["run", "--vocabulary", vocabulary.edition],
                livenessProbe: { httpGet: { path: "/health" } },
                readinessProbe: { httpGet: { path: "/ready" } },
              },
            ],
          },
        },
      },
    })
  })
})

interface Installed {
  readonly kind: string
  readonly rules?: ReadonlyArray<{
    readonly apiGroups: ReadonlyArray<string>
    readonly resources: ReadonlyArray<string>
    readonly verbs: ReadonlyArray<string>
  }>
}

const installed = (path: string): ReadonlyArray<Installed> => parseAllDocuments(text(path)).map((document): Installed => document.toJS())

const needs = ({ group, plural, verbs, subresources }: KindAccess): ReadonlyArray<string> => [
  ...verbs.map((verb) => `${verb} ${group}/${plural}`),
  ...Object.entries(subresources).flatMap(([name, allowed]) => allowed.map((verb) => `${verb} ${group}/${plural}/${name}`)),
]
