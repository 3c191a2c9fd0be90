import { assert, describe, it } from "@effect/vitest"
import { type Machine, Vigil } from "../../src/internal/stdio/vigil.js"

/** A machine whose time stands still unless it is told otherwise. */
const setup = (processors = 2) => {
  let now = 0
  const turns: Array<() => void> = []
  const machine: Machine = { processors, now: () => now, nextTurn: (run) => void turns.push(run) }
  const vigil = new Vigil(machine)
  return {
    vigil,
    /** Whether the loop is kept from sleeping. */
    isAwake: () => turns.length > 0,
    pass: (millis: number) => {
      now += millis
    },
    turn: () => turns.splice(0).forEach((run) => run()),
    /** So many requests, each answered after so long. */
    exchange: (times: number, millis: number) => {
      for (let i = 0; i < times; i++) {
        vigil.written()
        now += millis
        vigil.heard()
        turns.splice(0).forEach((run) => run())
      }
    }
  }
}

const quick = 0.1
const slow = 1

/** Quick answers that earn it. */
const earned = 16
const penalty = 64

describe("waiting awake", () => {
  it("is earned by quick answers in a row", () => {
    const { exchange, isAwake, vigil } = setup()
    exchange(earned - 1, quick)
    vigil.written()
    assert.isFalse(isAwake())
    vigil.heard()
    vigil.written()
    assert.isTrue(isAwake())
  })

  it("is not earned by slow ones, nor by some quick ones among them", () => {
    const { exchange, isAwake, vigil } = setup()
    for (let i = 0; i < 20; i++) {
      exchange(earned - 1, quick)
      exchange(1, slow)
    }
    vigil.written()
    assert.isFalse(isAwake())
  })

  it("lasts while the answer may still be a quick one, and ends with it", () => {
    const { exchange, isAwake, pass, turn, vigil } = setup()
    exchange(earned, quick)
    vigil.written()
    for (let i = 0; i < 4; i++) {
      pass(0.04)
      turn()
      assert.isTrue(isAwake())
    }
    vigil.heard()
    turn()
    assert.isFalse(isAwake())
  })

  it("ends by itself, and must be earned anew, and more dearly", () => {
    const { exchange, isAwake, pass, turn, vigil } = setup()
    exchange(earned, quick)
    vigil.written()
    for (let i = 0; i < 6; i++) {
      pass(0.04)
      turn()
    }
    assert.isFalse(isAwake())
    vigil.heard()
    exchange(penalty + earned - 1, quick)
    vigil.written()
    assert.isFalse(isAwake())
    vigil.heard()
    vigil.written()
    assert.isTrue(isAwake())
  })

  it("ends at once where others have had the processor", () => {
    const { exchange, isAwake, pass, turn, vigil } = setup()
    exchange(earned, quick)
    vigil.written()
    pass(0.06)
    turn()
    assert.isFalse(isAwake())
  })

  it("never has more than one turn waiting, however many requests are written", () => {
    const { exchange, turn, vigil } = setup()
    let waiting = 0
    exchange(earned, quick)
    const counting = new Vigil({ processors: 2, now: () => 0, nextTurn: () => void waiting++ })
    for (let i = 0; i < earned; i++) {
      counting.written()
      counting.heard()
    }
    for (let i = 0; i < 64; i++) counting.written()
    assert.strictEqual(waiting, 1)
    vigil.stop()
    turn()
  })

  it("keeps nothing awake after the end", () => {
    const { exchange, isAwake, turn, vigil } = setup()
    exchange(earned, quick)
    vigil.written()
    vigil.stop()
    turn()
    assert.isFalse(isAwake())
  })

  it("is not for a machine with one processor, which the server needs", () => {
    const { exchange, isAwake, vigil } = setup(1)
    exchange(10 * earned, quick)
    vigil.written()
    assert.isFalse(isAwake())
  })
})
