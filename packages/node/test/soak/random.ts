/**
 * Chance that can be had again: a number for each seed and place, whoever asks first.
 */

/** From 0 up to 1. `salt` tells questions about the same place apart. */
export const chance = (seed: number, place: number, salt: number): number => {
  let x = (seed ^ Math.imul(place + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b)) >>> 0
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32
}

export type Weighted<A> = readonly [weight: number, value: A]

/** One of several, by weight. */
export const pick = <A>(weighted: ReadonlyArray<Weighted<A>>, at: number): A => {
  const total = weighted.reduce((sum, [weight]) => sum + weight, 0)
  let rest = at * total
  for (const [weight, value] of weighted) {
    rest -= weight
    if (rest < 0) return value
  }
  return weighted.at(-1)![1]
}
