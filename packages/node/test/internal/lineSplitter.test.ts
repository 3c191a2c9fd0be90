import { assert, describe, it, vi } from "@effect/vitest"
import { FastCheck } from "effect"
import { LineSplitter } from "../../src/internal/stdio/lineSplitter.js"

const split = (max: number, chunks: Iterable<Buffer>) => {
  const lines: Array<string> = []
  let overflows = 0
  const splitter = new LineSplitter(
    max,
    (line) => lines.push(line),
    (line) => lines.push(line.toString()),
    () => overflows++
  )
  for (const chunk of chunks) splitter.push(chunk)
  splitter.end()
  return { lines, overflows }
}

const cut = (bytes: Buffer, sizes: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const chunks: Array<Buffer> = []
  let at = 0
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : sizes[i % sizes.length]!
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

describe("LineSplitter", () => {
  it("S14: what a line in many chunks takes of memory grows with its length, not with its square", () => {
    const chunk = Buffer.alloc(4096, "x")
    const chunks = 1000
    const spies = [vi.spyOn(Buffer, "allocUnsafe"), vi.spyOn(Buffer, "allocUnsafeSlow")]
    try {
      assert.deepStrictEqual(split(1e9, Array.from({ length: chunks }, () => chunk)).lines, ["x".repeat(4096 * chunks)])
      const sizes = spies.flatMap((_) => _.mock.calls).map(([size]) => size)
      assert.isBelow(sizes.reduce((sum, size) => sum + size, 0), 5 * 4096 * chunks)
      assert.isAbove(sizes.length, 3)
    } finally {
      for (const spy of spies) spy.mockRestore()
    }
  })

  it("S15: lines do not depend on where the output is cut", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.string({ unit: "binary", maxLength: 40 })),
        FastCheck.array(FastCheck.integer({ min: 1, max: 30 }), { maxLength: 10 }),
        (texts, sizes) => {
          const lines = texts.map((_) => Buffer.from(_.replaceAll(/[\r\n]/g, "")).toString())
          const { lines: found, overflows } = split(1000, cut(Buffer.from(lines.map((_) => `${_}\n`).join("")), sizes))
          assert.deepStrictEqual(found, lines.filter((_) => _ !== ""))
          assert.strictEqual(overflows, 0)
        }
      )
    )
  })

  it("S14: the limit is exact, however the output is cut; what came before is heard, what comes after is not", () => {
    for (const size of [1, 2, 3, 7, 100]) {
      const chunks = cut(Buffer.from("a\n0123456789\nb\n01234567890\nc\n"), [size])
      assert.deepStrictEqual(split(10, chunks), { lines: ["a", "0123456789", "b"], overflows: 1 })
    }
  })

  it("S14: the limit is one of bytes", () => {
    assert.deepStrictEqual(split(4, [Buffer.from("üü\n")]), { lines: ["üü"], overflows: 0 })
    assert.deepStrictEqual(split(3, [Buffer.from("üü\n")]), { lines: [], overflows: 1 })
  })

  it("S14: an endless line is noticed before it ends", () => {
    assert.deepStrictEqual(split(10, [Buffer.from("0123456"), Buffer.from("789ab")]), { lines: [], overflows: 1 })
  })

  it("S13: empty lines and carriage returns are nothing", () => {
    assert.deepStrictEqual(split(10, [Buffer.from("\n\r\n\na\r\n"), Buffer.from("\r"), Buffer.from("\n")]).lines, [
      "a\r"
    ])
  })

  it("nothing is heard after stop, not even from the same chunk", () => {
    const lines: Array<string> = []
    const splitter = new LineSplitter(
      10,
      (line) => {
        lines.push(line)
        splitter.stop()
      },
      () => {},
      () => {}
    )
    splitter.push(Buffer.from("a\nb\nc"))
    splitter.push(Buffer.from("d\n"))
    splitter.end()
    assert.deepStrictEqual(lines, ["a"])
  })

  it("S14: a long line that comes byte by byte is not copied again with each byte", () => {
    // Four million copies of ever longer buffers would not end within the time a test has.
    const length = 4_000_000
    let found = 0
    const splitter = new LineSplitter(1e9, () => {}, (line) => found = line.length, () => {})
    const byte = Buffer.from("x")
    for (let i = 0; i < length; i++) splitter.push(byte)
    splitter.end()
    assert.strictEqual(found, length)
  })
})
