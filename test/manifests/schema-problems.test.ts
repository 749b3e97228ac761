/** A wrong schema is refused with the file, the path and the reason, and nothing else. */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseDocument } from "yaml"
import { afterAll, describe, expect, it } from "vitest"
import { root } from "../../synth/output.ts"
import { SchemaProblems } from "../../synth/problems.ts"
import { parseResource, readTypes } from "../../synth/schema-file.ts"

const file = "schemas/service-deployment.yaml"
const source = readFileSync(join(root, file), "utf8")

type Path = ReadonlyArray<string | number>

interface Mutation {
  readonly wrong: string
  readonly at: Path
  /** What stands there instead; undefined removes it. */
  readonly value?: unknown
  /** The line that is printed, after the file's name. */
  readonly line: string
}

const spec: Path = ["spec", "properties"]
const restate: Path = [...spec, "restate", "properties"]

const mutations: ReadonlyArray<Mutation> = [
  { wrong: "a property without type", at: [...spec, "replicas", "type"], line: "spec.properties.replicas: type is missing" },
  {
    wrong: "a property without description",
    at: [...spec, "replicas", "description"],
    line: "spec.properties.replicas: description is missing",
  },
  {
    wrong: "an unknown type",
    at: [...spec, "replicas", "type"],
    value: "int",
    line: "spec.properties.replicas.type: must be one of object, array,",
  },
  {
    wrong: "an unknown keyword",
    at: [...spec, "replicas", "mininum"],
    value: 0,
    line: "spec.properties.replicas.mininum: unknown keyword",
  },
  {
    wrong: "a keyword of another type",
    at: [...spec, "replicas", "items"],
    value: { type: "string" },
    line: "spec.properties.replicas.items: only for type array",
  },
  {
    wrong: "a minimum in words",
    at: [...spec, "replicas", "minimum"],
    value: "zero",
    line: "spec.properties.replicas.minimum: must be a number",
  },
  {
    wrong: "a default of another type",
    at: [...spec, "replicas", "default"],
    value: "one",
    line: "spec.properties.replicas.default: one is not of type integer",
  },
  {
    wrong: "a default that may be null",
    at: [...spec, "replicas", "nullable"],
    value: true,
    line: "spec.properties.replicas: default and nullable exclude each other",
  },
  {
    wrong: "an enum that may be null",
    at: [...restate, "tunnelMode", "nullable"],
    value: true,
    line: "spec.properties.restate.properties.tunnelMode: enum and nullable exclude each other",
  },
  {
    wrong: "a default outside its enum",
    at: [...restate, "tunnelMode", "default"],
    value: "other",
    line: "spec.properties.restate.properties.tunnelMode.default: other is not in enum",
  },
  {
    wrong: "a broken pattern",
    at: [...spec, "knative", "properties", "tag", "pattern"],
    value: "[a-",
    line: "spec.properties.knative.properties.tag.pattern: is not a regular expression",
  },
  {
    wrong: "a required name that does not exist",
    at: ["spec", "required"],
    value: ["template", "server"],
    line: "spec.required: server is not a property",
  },
  {
    wrong: "an array without items",
    at: [...spec, "selector", "properties", "matchExpressions", "items"],
    line: "spec.properties.selector.properties.matchExpressions: items is missing",
  },
  {
    wrong: "an object of nothing",
    at: [...spec, "template", "properties", "spec", "x-kubernetes-preserve-unknown-fields"],
    line: "spec.properties.template.properties.spec: an object needs properties",
  },
  {
    wrong: "an object without title",
    at: [...restate, "drain", "title"],
    line: "spec.properties.restate.properties.drain: title is missing",
  },
  {
    wrong: "a title twice",
    at: [...restate, "drain", "title"],
    value: "Knative",
    line: "spec.properties.restate.properties.drain.title: Knative is already the title of spec.properties.knative",
  },
  {
    wrong: "a rule without message",
    at: ["spec", "x-kubernetes-validations", 0, "message"],
    line: "spec.x-kubernetes-validations[0]: message is missing",
  },
  {
    wrong: "an empty message",
    at: ["spec", "x-kubernetes-validations", 0, "message"],
    value: " ",
    line: "spec.x-kubernetes-validations[0].message: must be text that is not empty",
  },
  {
    wrong: "a rule on a field that does not exist",
    at: ["spec", "x-kubernetes-validations", 0, "fieldPath"],
    value: ".mode",
    line: "spec.x-kubernetes-validations[0].fieldPath: .mode is not a field",
  },
  {
    wrong: "a rule that forgets old violators",
    at: ["rules", 0, "rule"],
    value: "self.metadata.name.size() <= 52",
    line: "rules[0]: optionalOldSelf without oldSelf",
  },
  {
    wrong: "an unknown placeholder in a description",
    at: ["description"],
    value: "A {deploymnet.kind}.",
    line: "description: unknown placeholder {deploymnet.kind}",
  },
  {
    wrong: "an unknown placeholder in a message",
    at: ["rules", 0, "message"],
    value: "no {name}",
    line: "rules[0].message: unknown placeholder {name}",
  },
  { wrong: "an unknown role", at: ["role"], value: "deployments", line: "role: must be one of cluster, deployment, environment" },
  { wrong: "no scope", at: ["scope"], line: "scope is missing" },
  {
    wrong: "a printer column of another type",
    at: ["printerColumns", 0, "type"],
    value: "text",
    line: "printerColumns[0].type: must be one of",
  },
]

const mutated = ({ at, value }: Mutation): string => {
  const document = parseDocument(source)
  if (value === undefined) document.deleteIn(at)
  else document.setIn(at, value)
  return document.toString()
}

describe("a schema with", () => {
  it.each(mutations)("$wrong is refused where it is wrong", (mutation) => {
    const attempt = () => parseResource(file, mutated(mutation))
    expect(attempt).toThrow(SchemaProblems)
    expect(attempt).toThrow(`${file}: ${mutation.line}`)
  })

  it.each([
    {
      wrong: "a type that is not kept",
      schema: { kubernetes: "EnvVra" },
      line: "kubernetes: no type EnvVra; known are Affinity, Container, EnvVar,",
    },
    {
      wrong: "a keyword beside a type",
      schema: { kubernetes: "EnvVar", minimum: 1 },
      line: "minimum: cannot be said of a type of Kubernetes",
    },
    {
      wrong: "a bound of a property that the type lacks",
      schema: { kubernetes: "EnvVar", properties: { key: { maxLength: 1 } } },
      line: "properties.key: EnvVar has no such property",
    },
    {
      wrong: "a rule on a field that the type lacks",
      schema: { kubernetes: "EnvVar", "x-kubernetes-validations": [{ rule: "true", message: "no", fieldPath: ".key" }] },
      line: "x-kubernetes-validations[0].fieldPath: .key is not a field",
    },
    {
      wrong: "an unknown placeholder in a rule",
      schema: { kubernetes: "EnvVar", "x-kubernetes-validations": [{ rule: "self.name != '{nobody}'", message: "no" }] },
      line: "x-kubernetes-validations[0].rule: unknown placeholder {nobody}",
    },
  ])("$wrong is refused where it is wrong", ({ schema, line }) => {
    const document = parseDocument(source)
    const at = [...spec, "selector", "properties", "matchExpressions", "items"]
    document.setIn(at, schema)
    const attempt = () => parseResource(file, document.toString(), readTypes(join(root, "schemas")))
    expect(attempt).toThrow(`${file}: spec.properties.selector.properties.matchExpressions.items.${line}`)
  })

  it("a type of Kubernetes without description is refused as any field", () => {
    const document = parseDocument(source)
    document.setIn([...spec, "selector"], { kubernetes: "EnvVar" })
    const attempt = () => parseResource(file, document.toString(), readTypes(join(root, "schemas")))
    expect(attempt).toThrow(`${file}: spec.properties.selector: description is missing`)
  })

  it("two mistakes shows both", () => {
    const document = parseDocument(source)
    document.deleteIn([...spec, "replicas", "type"])
    document.deleteIn([...spec, "knative", "description"])
    expect(() => parseResource(file, document.toString())).toThrow(
      /replicas: type is missing[^]*knative: description is missing|knative: description is missing[^]*replicas: type is missing/,
    )
  })

  it("broken YAML is refused with the line", () => {
    expect(() => parseResource(file, "role: deployment\n  scope: [\n")).toThrow(/^schemas\/service-deployment\.yaml: .* at line \d+/)
  })
})

describe("node synth/main.ts", () => {
  const folder = mkdtempSync(join(tmpdir(), "synth-"))
  afterAll(() => rmSync(folder, { recursive: true }))

  it("prints file, path and message, ends with 1 and writes nothing", () => {
    cpSync(join(root, "schemas"), join(folder, "schemas"), { recursive: true })
    writeFileSync(join(folder, file), source.replace("    replicas:\n      type: integer\n", "    replicas:\n"))
    const out = join(folder, "out")
    let failure: unknown
    try {
      execFileSync(process.execPath, [join(root, "synth/main.ts"), "--schemas", join(folder, "schemas"), "--out", out], { stdio: "pipe" })
    } catch (error) {
      failure = error
    }
    expect(failure).toMatchObject({ status: 1 })
    expect(String(failure instanceof Error && "stderr" in failure ? failure.stderr : "")).toBe(
      `${file}: spec.properties.replicas: type is missing\n`,
    )
    expect(existsSync(out)).toBe(false)
  })
})
