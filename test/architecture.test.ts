/** Who may import whom, and where names may stand: the walls of the house, as ARCHITECTURE.md draws them. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { describe, expect, it } from "vitest"
import { vocabularies } from "#src/vocabulary.ts"

const root = join(import.meta.dirname, "..")

/** Rooms by the files in them; the first that matches counts. */
const rooms: ReadonlyArray<readonly [room: string, files: RegExp]> = [
  ["names", /^src\/(vocabulary|errors)\.ts$/],
  ["resources", /^src\/resources\//],
  ["engine act", /^src\/engine\/(act|reconcile)\.ts$/],
  ["engine data", /^src\/engine\//],
  ["kubernetes", /^src\/kubernetes\/(kubernetes|access)\.ts$/],
  ["kubernetes live", /^src\/kubernetes\//],
  ["admin", /^src\/admin\/(admin|endpoint|provisioner)\.ts$/],
  ["admin live", /^src\/admin\//],
  ["formats", /^src\/formats\//],
  ["runtime", /^src\/runtime\//],
  ["telemetry", /^src\/telemetry\//],
  ["kind observe", /^src\/(deployment|cluster|cloud-environment)\/observe\.ts$/],
  ["kind controller", /^src\/(deployment|cluster|cloud-environment)\/controller\.ts$/],
  ["kind", /^src\/(deployment|cluster|cloud-environment)\//],
  ["settings", /^src\/settings\.ts$/],
  ["main", /^src\/main\.ts$/],
]

const everything = rooms.map(([room]) => room)
const outside = ["effect", "node", "libraries"]

/** Besides its own room. `effect`, `node` and `libraries` are what comes from elsewhere. */
const allowed: { readonly [room: string]: ReadonlyArray<string> } = {
  names: ["effect"],
  resources: [],
  "engine data": ["names", "resources", "kubernetes", "admin", "effect"],
  kubernetes: ["names", "resources", "engine data", "effect"],
  admin: ["names", "engine data", "effect"],
  "engine act": ["names", "resources", "engine data", "kubernetes", "admin", "effect"],
  "kubernetes live": ["names", "resources", "engine data", "kubernetes", "runtime", "formats", ...outside],
  "admin live": ["names", "engine data", "admin", ...outside],
  // Pure functions from text to values, whoever wrote them.
  formats: ["node", "libraries"],
  runtime: ["names", "resources", "engine data", "kubernetes", "telemetry", "effect"],
  telemetry: ["names", "engine data", "runtime", ...outside],
  // Pure: not even Effect.
  kind: ["names", "resources", "formats", "engine data", "admin"],
  "kind observe": ["names", "resources", "engine data", "kubernetes", "admin", "kind", "effect"],
  "kind controller": ["resources", "engine data", "kind", "kind observe"],
  settings: ["names", "telemetry", "effect"],
  main: [...everything, ...outside],
}

const files = globSync("src/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"))

const roomOf = (file: string): string => rooms.find(([, pattern]) => pattern.test(file))?.[0] ?? `no room for ${file}`

/** Without comments. */
const codeOf = (file: string): string =>
  readFileSync(join(root, file), "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "")

const importsOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(join(root, file), "utf8").matchAll(/^(?:import|export) [^"']*?from "([^"]+)"|^import "([^"]+)"/gms)].map(
    (match) => match[1] ?? match[2] ?? "",
  )

const target = (file: string, specifier: string): string => {
  if (specifier.startsWith(".")) return roomOf(normalize(join(dirname(file), specifier)).replaceAll("\\", "/"))
  if (specifier.startsWith("node:")) return "node"
  return specifier === "effect" || specifier.startsWith("effect/") ? "effect" : "libraries"
}

describe("the walls of the house", () => {
  it.each(files)("%s imports only what its room may", (file) => {
    const room = roomOf(file)
    const wrong = importsOf(file).filter((specifier) => {
      if (specifier.endsWith("package.json")) return room !== "main"
      const to = target(file, specifier)
      return to !== room && allowed[room]?.includes(to) !== true
    })
    expect(wrong.map((specifier) => `${room} must not import ${specifier}`)).toEqual([])
  })

  it("has a row for every room", () => {
    expect(Object.keys(allowed).toSorted()).toEqual(everything.toSorted())
  })

  it.each(files)("%s imports only where this test can see it", (file) => {
    expect(codeOf(file)).not.toMatch(/\bimport\(|\brequire\(/)
  })

  it.each(files.filter((file) => roomOf(file) === "kind"))("%s decides by its arguments alone, and always", (file) => {
    expect(codeOf(file)).not.toMatch(
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\b(process|performance|crypto|console|globalThis)\.|\bthrow\b|\bawait\b|\bset(Timeout|Interval)\b/,
    )
  })

  it("keeps kinds apart", () => {
    const kinds = ["deployment", "cluster", "cloud-environment"]
    const crossing = files.flatMap((file) =>
      importsOf(file).flatMap((specifier) => {
        const [from, to] = [file, normalize(join(dirname(file), specifier))].map((path) =>
          kinds.find((kind) => path.startsWith(`src/${kind}/`)),
        )
        return from !== undefined && to !== undefined && from !== to ? [`${file} imports ${specifier}`] : []
      }),
    )
    expect(crossing).toEqual([])
  })
})

describe("names that differ between the vocabularies", () => {
  const leaves = (value: unknown): ReadonlyArray<string> =>
    typeof value === "string" ? [value] : typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : []
  const service = leaves(vocabularies.service)
  const restate = leaves(vocabularies.restate)
  // The bare words are also English, and names of fields that are the same in both.
  const differing = [...service.filter((name) => !restate.includes(name)), ...restate.filter((name) => !service.includes(name))].filter(
    (name) => /[^a-z]/.test(name),
  )

  /** Look like names of one vocabulary, but somebody else has given them: they are the same in both. */
  const ofOthers: ReadonlyMap<string, string> = new Map([
    ["src/settings.ts", "ghcr.io/restatedev/restate-cloud-tunnel-client:0.6.0"],
    ["src/cloud-environment/parts/variables.ts", "RUST_LOG"],
  ])

  it("are many enough for this test to mean something", () => {
    expect(differing.length).toBeGreaterThan(60)
  })

  it.each(files.filter((file) => file !== "src/vocabulary.ts" && !file.startsWith("src/resources/generated/")))(
    "are not literals in %s",
    (file) => {
      const literals = [...codeOf(file).matchAll(/"([^"\n]*)"|'([^'\n]*)'|`([^`]*)`/g)].map(
        (match) => match[1] ?? match[2] ?? match[3] ?? "",
      )
      // Keys of Effect's context begin with the project's name and end with that of a class; files are ours to name.
      const names = literals.filter(
        (literal) => literal !== ofOthers.get(file) && !/^service-operator\/[a-z-]+\/[A-Z]\w+$|^\.{1,2}\/.*\.ts$/.test(literal),
      )
      const found = names.filter((literal) => differing.some((name) => literal.includes(name)) || /durable\.dev|restate\.dev/.test(literal))
      expect(found).toEqual([])
    },
  )
})
