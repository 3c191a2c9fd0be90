/**
 * Two generations of processes in one row.
 */
import { assert, describe, it } from "@effect/vitest"
import { joined } from "../src/rows/work.js"

describe("two generations", () => {
  it("have the rounds of both, of those who took part in both", () => {
    const one = { values: { sdk: [1, 2], connection: [3, 4], openai: [5, 6] }, cpu: { sdk: [7, 8] }, failures: {} }
    const other = {
      values: { sdk: [9], connection: [10] },
      cpu: { sdk: [11] },
      failures: { openai: "it did not answer" }
    }
    assert.deepStrictEqual(joined(one, other), {
      values: { sdk: [1, 2, 9], connection: [3, 4, 10] },
      cpu: { sdk: [7, 8, 11] },
      failures: { openai: "it did not answer" }
    })
    assert.deepStrictEqual(joined(other, one).values, { sdk: [9, 1, 2], connection: [10, 3, 4] })
  })
})
