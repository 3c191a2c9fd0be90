/**
 * In which order the clients take their turns.
 */

/** Numbers that look random, and are the same in each run. */
const numbers = (seed: number) => {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

/**
 * Another order in each round: nobody is to come after the same one every time, whose garbage may still be collected beside it.
 */
export const orderOf = <A>(members: ReadonlyArray<A>, round: number): ReadonlyArray<A> => {
  const next = numbers(round)
  const order = [...members]
  for (let last = order.length - 1; last > 0; last--) {
    const chosen = next(last + 1)
    const member = order[last]!
    order[last] = order[chosen]!
    order[chosen] = member
  }
  return order
}
