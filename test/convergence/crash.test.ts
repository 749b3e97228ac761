/**
 * One fault at every call of the standard stories, in memory and in virtual time. Whatever the call, no law is broken and
 * the world ends as it should. This is a sample of {@link sweep.ts}, which plays all stories with all troubles.
 */
import { assert, describe, it } from "vitest"
import { stories, tell, troubles } from "./stories.ts"

describe.for(Object.keys(stories))("%s", (title) => {
  it("goes well when nothing goes wrong", async () => assert.deepStrictEqual((await tell(title, "pass", -1)).broken, []))
})

const sample = ["a rollover", "a rollback while the old version drains", "a deletion with work", "a rollover with autoscaling"]
const often = troubles.filter(([, trouble]) => trouble === "before" || trouble === "after" || trouble === "lost" || trouble === "twice")

describe.for(sample)("%s", (title) => {
  it.for(often)("survives this, at every call: %s", { timeout: 60_000 }, async ([, trouble], { expect }) => {
    const { calls } = await tell(title, "pass", -1)
    expect(calls.length).toBeGreaterThan(10)
    const broken: Array<string> = []
    for (const [index, { what }] of calls.entries()) {
      const told = await tell(title, trouble, index)
      broken.push(...told.broken.map((law) => `${index + 1}. ${what}: ${law}`))
    }
    expect(broken).toEqual([])
  })
})
