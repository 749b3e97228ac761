/** Numbers that look random and are the same in every run, so that a failing case can be named by its seed. */
export interface Dice {
  /** 0 to n − 1. */
  readonly below: (n: number) => number
  readonly pick: <T>(values: readonly [T, ...Array<T>]) => T
  /** True in one of n cases. */
  readonly oneIn: (n: number) => boolean
  /** Some of the values, in their order. */
  readonly some: <T>(values: ReadonlyArray<T>) => ReadonlyArray<T>
}

export const dice = (seed: number): Dice => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number) => Math.floor(next() * n)
  return {
    below,
    pick: (values) => values[below(values.length)] ?? values[0],
    oneIn: (n) => below(n) === 0,
    some: (values) => values.filter(() => next() < 0.5),
  }
}
