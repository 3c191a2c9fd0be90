/**
 * Turns: who comes when.
 */
import { assert, describe, it } from "@effect/vitest"
import { orderOf } from "../src/order.js"

const members = ["a", "b", "c", "d", "e", "f", "g"]
const rounds = Array.from({ length: 21 }, (_, round) => orderOf(members, round))

describe("the order of a round", () => {
  it("has everybody once", () => {
    for (const order of rounds) assert.deepStrictEqual([...order].sort(), members)
    assert.deepStrictEqual(orderOf([], 0), [])
  })

  it("is the same in each run", () => {
    assert.deepStrictEqual(orderOf(members, 3), orderOf(members, 3))
  })

  it("lets nobody come first or after the same one all the time", () => {
    const places = new Map<string, number>()
    for (const order of rounds) {
      order.forEach((member, at) => {
        const place = `${order[at - 1] ?? "first"} ${member}`
        places.set(place, (places.get(place) ?? 0) + 1)
      })
    }
    assert.isAtMost(Math.max(...places.values()), rounds.length / 3)
  })
})
