import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { parseLong } from "../../src/internal/stdio/longJson.js"

const long = "0123456789abcdef".repeat(4096)
const parsed = (text: string) => parseLong(Buffer.from(text))

describe("parseLong", () => {
  it("gives what JSON.parse gives", () => {
    const values: ReadonlyArray<unknown> = [
      long,
      [long, "short", long],
      { a: { b: [{ text: long }], c: long }, [long]: 1 },
      { content: [{ type: "image", data: long, mimeType: "image/png" }] },
      { escaped: `${long}\n"\\` },
      { wide: `${long}ü€😀` },
      { mark: "@mcp-runtime/cut/0", long },
      { "@mcp-runtime/cut/0": 1, long },
      { many: Array.from({ length: 1000 }, (_, i) => `x${i}`), long },
      JSON.parse(`{"__proto__":"${long}","constructor":{"prototype":"${long}"}}`)
    ]
    for (const value of values) {
      const text = JSON.stringify(value)
      assert.deepStrictEqual(parsed(text), JSON.parse(text))
    }
  })

  it("gives what JSON.parse gives for any value with long texts in it", () => {
    const text = FastCheck.oneof(
      FastCheck.string({ maxLength: 20 }),
      FastCheck.constantFrom(long, `${long}x`, "@mcp-runtime/cut/1")
    )
    const { value } = FastCheck.letrec((tie) => ({
      value: FastCheck.oneof(
        { maxDepth: 4 },
        text,
        FastCheck.integer(),
        FastCheck.constant(null),
        FastCheck.array(tie("value"), { maxLength: 4 }),
        FastCheck.dictionary(text, tie("value"), { maxKeys: 4 })
      )
    }))
    FastCheck.assert(
      FastCheck.property(value, (value) => {
        const json = JSON.stringify(value)
        assert.deepStrictEqual(parsed(json), JSON.parse(json))
      }),
      { numRuns: 300 }
    )
  })

  it("S13: refuses what JSON.parse refuses", () => {
    for (const text of [`{"a":"${long}"`, `{"a":"${long}`, `"${long}" x`, `{'a':"${long}"}`, `{"${long}"}`, long]) {
      assert.throws(() => parsed(text), SyntaxError)
    }
  })

  it("a text that lies very deep is still found", () => {
    const text = `${"[".repeat(5000)}"${long}"${"]".repeat(5000)}`
    let value = parsed(text)
    while (Array.isArray(value)) value = value[0]
    assert.strictEqual(value, long)
  })
})
