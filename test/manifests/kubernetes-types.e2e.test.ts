/** The types of Kubernetes that stand in our definitions are those of the API server that everything here is run against. */
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { askForTypes, kept } from "../../synth/kubernetes-types.ts"
import { root } from "../../synth/output.ts"
import { readTypes } from "../../synth/schema-file.ts"
import type { Schema } from "../../synth/schema.ts"
import { connect } from "../support/api-server.ts"

const committed = readTypes(join(root, "schemas"))

// A cluster of the user's own may have any version.
it.skipIf(process.env["CLUSTER"] === "current")("are what `node synth/kubernetes-schemas.ts` writes", async () => {
  const client = await connect()
  const told = await askForTypes((path) => client.get<object>(path))
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(committed))
})

describe.each(Object.keys(kept))("the type %s", (name) => {
  const parts = (schema: Schema): ReadonlyArray<Schema> => [
    schema,
    ...[...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties].flatMap((part) =>
      part === undefined ? [] : parts(part),
    ),
  ]
  const all = parts(committed.get(name) ?? {})

  it("says of every part what it is", () => {
    expect(all.filter(({ type, "x-kubernetes-int-or-string": either }) => type === undefined && either !== true)).toEqual([])
  })

  it("lets nothing unknown through", () => {
    const open = all.filter(
      ({ type, properties, additionalProperties }) => type === "object" && properties === undefined && additionalProperties === undefined,
    )
    expect(open).toEqual([])
  })

  it("describes every field", () => {
    const fields = all.flatMap(({ properties }) => Object.entries(properties ?? {}))
    expect(fields.filter(([, { description }]) => description === undefined).map(([field]) => field)).toEqual([])
  })
})
