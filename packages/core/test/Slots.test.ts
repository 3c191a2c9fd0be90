/** Where a session keeps what holds a socket, and what may stay for a while. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { Slots } from "../src/internal/slots.js"

describe("Slots", () => {
  it("does what a set does, also where there are hundreds", () => {
    const more = { weight: 3, arbitrary: FastCheck.constant(undefined) }
    const fewer = { weight: 2, arbitrary: FastCheck.nat() }
    const steps = FastCheck.array(FastCheck.oneof(more, fewer), { maxLength: 800, size: "max" })
    FastCheck.assert(FastCheck.property(steps, (steps) => {
      const slots = new Slots<object>()
      const model = new Set<object>()
      for (const step of steps) {
        const item = step === undefined ? {} : [...model][step % model.size]
        if (step === undefined) {
          slots.add(item!)
          model.add(item!)
        } else if (item !== undefined) {
          model.delete(item)
          assert.isTrue(slots.delete(item))
          assert.isFalse(slots.delete(item))
        }
        assert.strictEqual(slots.size, model.size)
      }
      assert.deepStrictEqual(new Set(slots.all()), model)
      assert.strictEqual(slots.all().length, model.size)
      for (const item of slots.all()) slots.delete(item)
      assert.deepStrictEqual([slots.size, slots.all()], [0, []])
    }))
  })

  it("what is added or leaves while all are gone through changes nothing of that", () => {
    const slots = new Slots<object>()
    const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }]
    slots.add(a)
    slots.add(b)
    const seen: Array<object> = []
    for (const item of slots.all()) {
      seen.push(item)
      slots.delete(item)
      slots.add(c)
    }
    assert.deepStrictEqual(seen, [a, b])
  })

  it("one place is used over and over, and those of a crowd are given up when it has gone", () => {
    const slots = new Slots<object>()
    const places = () => (slots as unknown as { readonly slots: ReadonlyArray<unknown> }).slots.length
    for (let i = 0; i < 1000; i++) {
      const item = {}
      slots.add(item)
      slots.delete(item)
    }
    assert.strictEqual(places(), 1)
    const crowd = Array.from({ length: 1000 }, () => ({}))
    for (const item of crowd) slots.add(item)
    assert.strictEqual(places(), 1000)
    for (const item of crowd) slots.delete(item)
    assert.strictEqual(places(), 0)
  })
})
