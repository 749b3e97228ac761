/**
 * The catalogue of behaviours has numbered scenarios. Each number of the ranges that this project claims is in the title of
 * at least one test, as "(scenario N)". The table is printed, and a number without a test fails.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { describe, expect, it } from "vitest"

const root = import.meta.dirname

/** First and last number of what is claimed. */
const claimed: ReadonlyArray<readonly [number, number]> = [
  [13, 43],
  [44, 98],
  [109, 116],
  [121, 121],
  [123, 123],
]

/** Numbers in these ranges that nothing is claimed of, and why. */
const without: ReadonlyMap<number, string> = new Map([
  [24, "needs a SecretProviderClass, which is not supported yet"],
  [37, "needs the identity of a cloud, which is not supported yet"],
  [38, "needs the identity of a cloud, which is not supported yet"],
  [39, "needs the identity of a cloud, which is not supported yet"],
  [40, "needs the identity of a cloud, which is not supported yet"],
  [41, "needs the identity of a cloud, which is not supported yet"],
  [84, "needs register.cloud, which is not supported yet"],
  [85, "needs register.cloud, which is not supported yet"],
  [112, "needs register.cloud, which is not supported yet"],
  [113, "needs register.cloud, which is not supported yet"],
  [114, "needs register.cloud, which is not supported yet"],
  [115, "needs register.cloud, which is not supported yet"],
])

const files = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? files(path) : entry.name.endsWith(".ts") ? [path] : []
  })

/** Scenario → titles of tests, with their files. */
const titles = (): ReadonlyMap<number, ReadonlyArray<string>> => {
  const found = new Map<number, Array<string>>()
  for (const file of files(root)) {
    if (file === import.meta.filename) continue
    for (const [, title = "", number = ""] of readFileSync(file, "utf8").matchAll(/"([^"\n]*) \(scenario (\d+)\)"/g)) {
      const of = found.get(Number(number)) ?? []
      found.set(Number(number), [...of, `${relative(root, file)}: ${title}`])
    }
  }
  return found
}

describe("the catalogue of scenarios", () => {
  it("has a test for every number that is claimed", () => {
    const found = titles()
    const numbers = claimed.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index))
    const lines = numbers.flatMap((number) => (found.get(number) ?? [without.get(number) ?? "NO TEST"]).map((text) => `${number}  ${text}`))
    console.log(lines.join("\n"))
    expect(numbers.filter((number) => !found.has(number) && !without.has(number))).toEqual([])
    expect([...without.keys()].filter((number) => found.has(number))).toEqual([])
  })
})
