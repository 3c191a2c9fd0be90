/**
 * Turns: who comes when.
 */
import { assert, describe, it } from "@effect/vitest"
import { orderOf } from "../src/order.js"

const roundsOf = (count: number, rounds: number): ReadonlyArray<ReadonlyArray<number>> => {
  const members = Array.from({ length: count }, (_, member) => member)
  return Array.from({ length: rounds }, (_, round) => orderOf(members, round))
}

/** How often each member had each place, or came after each other one. */
const tally = (
  rounds: ReadonlyArray<ReadonlyArray<number>>,
  of: (order: ReadonlyArray<number>, at: number) => string
) => {
  const counts = new Map<string, number>()
  for (const order of rounds) {
    for (let at = 0; at < order.length; at++) {
      const key = of(order, at)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  return counts
}

describe("the order of a round", () => {
  for (const count of [1, 2, 3, 5, 6, 7, 12]) {
    it(`of ${count}: in twice as many rounds each has each place twice, and comes after each other one twice`, () => {
      const rounds = roundsOf(count, 2 * count)
      const places = tally(rounds, (order, at) => `${order[at]} at ${at}`)
      assert.strictEqual(places.size, count * count)
      assert.deepStrictEqual(new Set(places.values()), new Set([2]))
      const pairs = tally(rounds, (order, at) => `${order[at]} after ${at === 0 ? "none" : order[at - 1]}`)
      assert.strictEqual(pairs.size, count * count)
      assert.deepStrictEqual(new Set(pairs.values()), new Set([2]))
    })
  }

  it("in three rounds of two, each comes first; in seven of three, each at least twice", () => {
    assert.deepStrictEqual(roundsOf(2, 3), [[0, 1], [1, 0], [0, 1]])
    const first = roundsOf(3, 7).map((_) => _[0])
    for (const member of [0, 1, 2]) assert.isAtLeast(first.filter((_) => _ === member).length, 2)
  })

  it("of nobody is empty", () => {
    assert.deepStrictEqual(orderOf([], 3), [])
  })
})
