import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { StderrRing } from "../../src/internal/stdio/stderrRing.js"

const tailOf = (capacity: number, chunks: ReadonlyArray<string>) => {
  const ring = new StderrRing(capacity)
  for (const chunk of chunks) ring.push(Buffer.from(chunk))
  return ring.tail()
}

describe("StderrRing", () => {
  it("S16: keeps the last bytes, however they come", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 20 }),
        FastCheck.array(FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "c"), maxLength: 50 }), {
          minLength: 1
        }),
        (capacity, chunks) => assert.strictEqual(tailOf(capacity, chunks), chunks.join("").slice(-capacity))
      )
    )
  })

  it("S16: nothing was written", () => assert.strictEqual(new StderrRing(10).tail(), undefined))

  it("S16: starts with a whole line, so that half of a URL is not taken for text", () => {
    assert.strictEqual(tailOf(20, ["https://me:hunter2@host/\nsecond\nthird\n"]), "second\nthird")
  })

  it("S16: a character that was cut is left out, and bytes that are no text do no harm", () => {
    assert.strictEqual(tailOf(5, ["aa😀b"]), "😀b")
    assert.strictEqual(tailOf(4, ["aa😀b"]), "b")
    const ring = new StderrRing(10)
    ring.push(Buffer.from([0x61, 0xff, 0xfe, 0x62]))
    assert.strictEqual(ring.tail(), "a\ufffd\ufffdb")
  })

  it("S16: what goes round is told from what never did, when the buffer has grown chunk by chunk", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1000, max: 9000 }),
        FastCheck.array(FastCheck.integer({ min: 1, max: 6000 }), { minLength: 1, maxLength: 8 }),
        (capacity, lengths) => {
          const chunks = lengths.map((length, i) => String(i).repeat(length))
          assert.strictEqual(tailOf(capacity, chunks), chunks.join("").slice(-capacity))
        }
      )
    )
  })

  it("S16: a huge bound costs what is written, not what may be, and throws nothing", () => {
    const before = process.memoryUsage().arrayBuffers
    const ring = new StderrRing(2 ** 40)
    for (let i = 0; i < 10; i++) ring.push(Buffer.from(`line ${i}\n`))
    assert.isBelow(process.memoryUsage().arrayBuffers - before, 1024 * 1024)
    assert.match(ring.tail()!, /^line 0.*line 9$/s)
    ring.push(Buffer.alloc(17 * 1024 * 1024, "x"))
    assert.strictEqual(ring.tail()!.length, 16 * 1024 * 1024)
  })

  it("S16: no control characters, no colours, no secrets of URLs", () => {
    const chunk = "\u001b[31mhttps://me:hunter2@host/p?key=hunter3 \u001b[0mwas\u0007 refused"
    assert.strictEqual(tailOf(100, [chunk]), "https://host/p  was  refused")
  })
})
