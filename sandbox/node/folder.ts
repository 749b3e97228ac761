import { readdirSync, rmdirSync } from "node:fs"

/** Removes a folder unless somebody else keeps something in it. */
export const removeIfEmpty = (folder: string): void => {
  try {
    rmdirSync(folder)
  } catch {
    // Not ours alone, or never made.
  }
}

/** What a folder holds; nothing when there is none. */
export const namesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
