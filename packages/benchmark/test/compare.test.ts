/**
 * That a verdict is what the values say, also where it is bad for us.
 */
import { assert, describe, it } from "@effect/vitest"
import { aheadIn, allMet, hasOthers, judge, timesAsGood } from "../src/report/compare.js"
import type { Line } from "../src/row.js"
import { ratio, spread } from "../src/stats.js"

const line = (values: Line["values"], more: Partial<Line> = {}): Line => ({
  title: "a line",
  unit: "us",
  shows: "rate",
  targets: [],
  values,
  ...more
})

describe("a spread", () => {
  it("is the middle, and the quarter on each side", () => {
    assert.deepStrictEqual(spread([5, 1, 4, 2, 3]), { low: 2, median: 3, high: 4 })
    assert.deepStrictEqual(spread([1, 2]), { low: 1.25, median: 1.5, high: 1.75 })
    assert.deepStrictEqual(spread([7]), { low: 7, median: 7, high: 7 })
  })

  it("of a ratio is taken round by round: what slows both down is not seen", () => {
    assert.deepStrictEqual(ratio([2, 200, 6], [1, 100, 3]), { low: 2, median: 2, high: 2 })
  })
})

describe("how many times as good", () => {
  it("is one whose values are smaller", () => {
    const values = line({ connection: [5, 10], sdk: [10, 20] })
    assert.strictEqual(timesAsGood(values, "connection", "sdk")?.median, 2)
    assert.strictEqual(timesAsGood(values, "sdk", "connection")?.median, 0.5)
  })

  it("is not said where something is missing, or nothing at all", () => {
    assert.isUndefined(timesAsGood(line({ sdk: [1] }), "connection", "sdk"))
    assert.isUndefined(timesAsGood(line({ connection: [], sdk: [] }), "connection", "sdk"))
    assert.isUndefined(timesAsGood(line({ connection: [0], sdk: [1] }), "connection", "sdk"))
    assert.isUndefined(timesAsGood(line({ connection: [1], sdk: [0] }), "connection", "sdk"))
  })
})

describe("a target", () => {
  const judged = (one: Line) => judge(one).map(({ measured, met }) => [measured, met])

  it("of a rate is met from its bound on", () => {
    const targets = [{ of: "session", against: "sdk", bound: 1.25 }] as const
    assert.deepStrictEqual(judged(line({ session: [8], sdk: [10] }, { targets })), [[1.25, true]])
    assert.deepStrictEqual(judged(line({ session: [10], sdk: [10] }, { targets })), [[1, false]])
  })

  it("of a cost is met up to its bound", () => {
    const targets = [{ of: "toolset", against: "sdk", bound: 1.25 }] as const
    assert.deepStrictEqual(judged(line({ toolset: [10], sdk: [8] }, { shows: "cost", targets })), [[1.25, true]])
    assert.deepStrictEqual(judged(line({ toolset: [12], sdk: [8] }, { shows: "cost", targets })), [[1.5, false]])
  })

  it("of one alone is in the unit of the line; where nobody is named it is ours", () => {
    const targets = [{ most: 5 }]
    assert.deepStrictEqual(judged(line({ ours: [5] }, { targets })), [[5, true]])
    assert.deepStrictEqual(judged(line({ ours: [5100] }, { unit: "ms", targets })), [[5.1, false]])
  })

  it("that was not measured was not met", () => {
    const targets = [{ against: "sdk", bound: 1 }, { most: 5 }] as const
    const missing = line({ sdk: [1] }, { targets })
    assert.deepStrictEqual(judged(missing), [[undefined, false], [undefined, false]])
    assert.isFalse(allMet([line({}), missing]))
    assert.isTrue(allMet([line({})]))
  })
})

describe("who is ahead", () => {
  const ahead = (values: Line["values"]) => aheadIn(line(values)).map(({ other, ours }) => `${other} of ${ours}`)

  it("is another client that is better than one of ours, also if the other of ours is better still", () => {
    assert.deepStrictEqual(ahead({ connection: [8], toolset: [12], sdk: [10], openai: [11], mcporter: [13] }), [
      "sdk of toolset",
      "openai of toolset"
    ])
    assert.deepStrictEqual(ahead({ connection: [12], toolset: [12], aiSdk: [10] }), [
      "aiSdk of connection",
      "aiSdk of toolset"
    ])
  })

  it("is nobody by less than noise: in the median, or in too many rounds", () => {
    assert.deepStrictEqual(ahead({ connection: [102], sdk: [100] }), [])
    assert.deepStrictEqual(ahead({ connection: [103], sdk: [100] }), ["sdk of connection"])
    assert.deepStrictEqual(ahead({ connection: [150, 150, 90, 90], sdk: [100, 100, 100, 100] }), [])
  })

  it("is neither what is written by hand, nor a floor of ours below the connection", () => {
    assert.deepStrictEqual(ahead({ connection: [12], toolset: [12], limit: [1], session: [1] }), [])
  })

  it("is asked where others stand beside ours", () => {
    assert.isTrue(hasOthers(line({ toolset: [1] })))
    assert.isFalse(hasOthers(line({ ours: [1], sdk: [1], session: [1] })))
  })
})
