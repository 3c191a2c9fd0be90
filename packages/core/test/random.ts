/** Choices at random that a seed makes again. */

/** Numbers at random that are the same each time (mulberry32). */
export const randomOf = (seed: number) => {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (n: number) => Math.floor(next() * n)
  const one = <A>(all: ReadonlyArray<A>): A => all[below(all.length)]!
  const isIn = (share: number): boolean => next() < share
  /** Each of them as often as its weight says. */
  const pick = <A>(...choices: ReadonlyArray<readonly [weight: number, value: A]>): A => {
    let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    return (choices.find(([weight]) => (left -= weight) < 0) ?? choices.at(-1)!)[1]
  }
  return { below, isIn, one, pick }
}

export type Random = ReturnType<typeof randomOf>
