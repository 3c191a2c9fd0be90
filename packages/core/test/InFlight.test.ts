/** Where the engine finds the requests that are under way. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { Pending } from "../src/internal/engine/pending.js"
import { InFlight } from "../src/internal/inFlight.js"

const request = (id: number) =>
  new Pending(
    id,
    "ping",
    undefined,
    (value) => ({ value }),
    () => {},
    { idle: 1, total: 1, progress: false, onProgress: undefined },
    0
  )

const ids = (inFlight: InFlight<{ readonly id: number }>) => inFlight.all().map((_) => _.id).sort((a, b) => a - b)

describe("InFlight", () => {
  it("does what a map does, also where many wait and one waits for very long", () => {
    // Ids are counted up; what leaves is any of those that are there, or one that has left.
    const more = { weight: 3, arbitrary: FastCheck.constant(undefined) }
    const steps = FastCheck.array(FastCheck.oneof(more, { weight: 2, arbitrary: FastCheck.nat() }), {
      minLength: 400,
      maxLength: 800
    })
    FastCheck.assert(FastCheck.property(steps, (steps) => {
      const inFlight = new InFlight<Pending>()
      const model = new Map<number, Pending>()
      const gone: Array<Pending> = []
      let lastId = 0
      for (const step of steps) {
        if (step === undefined || model.size === 0) {
          const pending = request(++lastId)
          model.set(pending.id, pending)
          inFlight.add(pending)
        } else {
          const pending = [...model.values()][step % model.size]!
          model.delete(pending.id)
          assert.isTrue(inFlight.delete(pending))
          gone.push(pending)
        }
        assert.strictEqual(inFlight.size, model.size)
      }
      assert.deepStrictEqual(ids(inFlight), [...model.keys()])
      for (let id = 0; id <= lastId + 64; id++) assert.strictEqual(inFlight.get(id), model.get(id))
      for (const pending of gone) assert.isFalse(inFlight.delete(pending))
      assert.strictEqual(inFlight.size, model.size)
      inFlight.clear()
      assert.deepStrictEqual(ids(inFlight), [])
      assert.strictEqual(inFlight.size, 0)
      for (const pending of model.values()) assert.isUndefined(inFlight.get(pending.id))
    }))
  })

  it("tells ids that are texts from numbers, as a map does", () => {
    const requests = [{ id: 1 }, { id: "1" }, { id: 65 }, { id: "" }, { id: -1 }, { id: 63 }, { id: 1.5 }, {
      id: 1 + 2 ** 32
    }]
    const inFlight = new InFlight<{ readonly id: string | number }>()
    for (const request of requests) inFlight.add(request)
    for (const request of requests) assert.strictEqual(inFlight.get(request.id), request)
    assert.strictEqual(inFlight.size, requests.length)
    for (const request of requests) {
      assert.isTrue(inFlight.delete(request))
      assert.isFalse(inFlight.delete(request))
      assert.isUndefined(inFlight.get(request.id))
    }
    assert.strictEqual(inFlight.size, 0)
  })

  it("knows nothing by what is no id of ours", () => {
    const inFlight = new InFlight<Pending>()
    for (let id = 1; id <= 130; id++) inFlight.add(request(id))
    for (const id of ["1", "65", 0, -1, -63, 1.5, 131, 1 + 2 ** 32, Number.NaN, Infinity, null, undefined, {}, true]) {
      assert.isUndefined(inFlight.get(id))
    }
    assert.strictEqual(inFlight.get(130)?.id, 130)
  })
})
