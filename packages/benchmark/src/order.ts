/**
 * In which order the clients take their turns.
 */

/**
 * Another order in each round, by Williams' design: each has every place, and comes after every other one, equally often. The garbage
 * of who came before may still be collected meanwhile, and should not always disturb the same one.
 */
export const orderOf = <A>(members: ReadonlyArray<A>, round: number): ReadonlyArray<A> => {
  const count = members.length
  // An odd number needs every other block of rounds the other way around.
  const isReversed = count % 2 === 1 && Math.floor(round / count) % 2 === 1
  return members.map((_, i) => {
    const at = isReversed ? count - 1 - i : i
    // From both ends in turns: so each distance from one to the next is there once.
    return members[((at % 2 === 1 ? (at + 1) / 2 : count - at / 2) + round) % count]!
  })
}
