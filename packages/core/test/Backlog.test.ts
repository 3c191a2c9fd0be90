/** What waits for a slow reader: how much of it, and which. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { Backlog } from "../src/internal/backlog.js"

/** Values are as large as they say. */
const of = (bounds: { readonly count: number; readonly size: number }) =>
  new Backlog<number>({ ...bounds, sizeOf: (value) => value })

const addAll = (backlog: Backlog<number>, values: ReadonlyArray<number>) => values.map((_) => backlog.add(_))

describe("Backlog", () => {
  it("the oldest make room, as many as it takes, and each is counted", () => {
    const backlog = of({ count: 100, size: 10 })
    assert.deepStrictEqual(addAll(backlog, [1, 2, 3, 4]), [0, 0, 0, 0])
    assert.strictEqual(backlog.add(5), 3)
    assert.deepStrictEqual(backlog.takeAll(), [4, 5])
  })

  it("the newest is kept, however large it is", () => {
    const backlog = of({ count: 100, size: 10 })
    assert.deepStrictEqual(addAll(backlog, [1, 2, 1000]), [0, 0, 2])
    assert.strictEqual(backlog.add(1), 1)
    assert.deepStrictEqual(backlog.takeAll(), [1])
  })

  it("what was taken has room again, one by one or all at once", () => {
    const backlog = of({ count: 3, size: 10 })
    for (let round = 0; round < 3; round++) {
      assert.deepStrictEqual(addAll(backlog, [4, 5, 1]), [0, 0, 0])
      assert.strictEqual(backlog.take(), 4)
      assert.strictEqual(backlog.add(4), 0)
      assert.deepStrictEqual(backlog.takeAll(), [5, 1, 4])
      assert.strictEqual(backlog.take(), undefined)
      addAll(backlog, [4, 5, 1])
      backlog.clear()
    }
  })

  it("is never beyond its bounds, loses only the oldest, and no more than it must", () => {
    const steps = FastCheck.array(FastCheck.option(FastCheck.nat({ max: 12 }), { freq: 4 }), { maxLength: 200 })
    FastCheck.assert(FastCheck.property(steps, (steps) => {
      const bounds = { count: 4, size: 20 }
      const backlog = of(bounds)
      let model: Array<number> = []
      const fits = (values: ReadonlyArray<number>) =>
        values.length <= bounds.count && values.reduce((sum, _) => sum + _, 0) <= bounds.size
      for (const step of steps) {
        if (step === null) {
          assert.strictEqual(backlog.take(), model.shift())
          continue
        }
        const before = model.length
        model.push(step)
        while (model.length > 1 && !fits(model)) model = model.slice(1)
        assert.strictEqual(backlog.add(step), before + 1 - model.length)
      }
      assert.deepStrictEqual(backlog.takeAll(), model)
    }))
  })
})
