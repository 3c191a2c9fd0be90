import { assert, describe, it } from "@effect/vitest"
import { Cache } from "../../src/internal/jsonSchema/cache.js"
import { type Compiled, neverDecided } from "../../src/internal/jsonSchema/compiler.js"

const sized = (size: number) => (): Compiled => ({ ...neverDecided("x"), size })

describe("V05: what was compiled lately", () => {
  it("the least lately used goes first", () => {
    const cache = new Cache(2, 1000)
    const a = cache.get("a", sized(1))
    cache.get("b", sized(1))
    assert.strictEqual(cache.get("a", sized(1)), a)
    cache.get("c", sized(1))
    assert.strictEqual(cache.get("a", sized(1)), a)
    let made = 0
    cache.get("b", () => {
      made++
      return sized(1)()
    })
    assert.strictEqual(made, 1)
  })

  it("neither many nor large ones are kept beyond the bound", () => {
    const cache = new Cache(100, 1000)
    const small = cache.get("small", sized(10))
    cache.get("large", sized(999))
    assert.notStrictEqual(cache.get("small", sized(10)), small)
    const larger = cache.get("larger", sized(5000))
    assert.notStrictEqual(cache.get("larger", sized(5000)), larger)
  })
})
