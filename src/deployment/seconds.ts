/** A field of the spec that counts seconds. It is an int64: decide must not stop at what no date can hold. */

/** Ten years. */
const most = 315_360_000

/** Milliseconds; `standard` (seconds) where nothing is given or what is given is no number. Beyond 2^53 it is raw JSON, which only its text tells. */
export const milliseconds = (given: unknown, standard: number): number => {
  const seconds = Number(JSON.stringify(given ?? standard))
  return (Number.isNaN(seconds) ? standard : Math.min(Math.max(0, seconds), most)) * 1000
}
