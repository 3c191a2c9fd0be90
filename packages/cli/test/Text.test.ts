import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import { pathsNear } from "../src/doctor/reach.js"
import { recognize } from "../src/doctor/symptoms.js"
import { extensionOf, safeName } from "../src/output/images.js"
import { plain } from "../src/output/style.js"
import * as Table from "../src/output/table.js"
import * as Text from "../src/output/text.js"

describe("Text", () => {
  it("no control character of a server reaches a terminal, and each is seen", () => {
    assert.strictEqual(Text.clean("a\u001b[31mb\u0007\u007f\u0000"), "a␛[31mb␇␡␀")
    assert.strictEqual(Text.clean("\u009b31m\u202ecba\u200b\ufeff"), "\ufffd31m\ufffdcba\ufffd\ufffd")
    assert.strictEqual(Text.clean("\u{e0041}x"), "\ufffdx")
  })

  it("lines, tabs, joiners and every script stay", () => {
    const text = "one\n\ttwo 三 👨‍👩‍👧 می‌شود é"
    assert.strictEqual(Text.clean(text), text)
    assert.strictEqual(Text.clean("a\r\nb\rc"), "a\nb␍c")
  })

  it("no mark that core shows in a name reaches a terminal in a name, or in JSON as it is", () => {
    const missed: Array<string> = []
    for (let code = 0; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue
      const character = String.fromCodePoint(code)
      const isSeen = McpError.displayName(`a${character}b`) === `a${character}b`
      const inName = Text.shownName(`a${character}b`) === `a${character}b`
      const inJson = Text.safeJson(JSON.stringify(`a${character}b`)).slice(1, -1) === `a${character}b`
      const isEscaped = character === "\"" || character === "\\"
      if (inName !== isSeen || (inJson !== isSeen && !isEscaped)) missed.push(code.toString(16))
    }
    assert.deepStrictEqual(missed, [])
    assert.strictEqual(Text.shownName(" a\n b "), " a␊ b ")
    assert.strictEqual(Text.oneLine("a\u00ad\u3164 👩\u200d🚀 ❤\ufe0f\nb"), "a\ufffd\ufffd 👩\u200d🚀 ❤\ufe0f b")
  })

  it("JSON is the same value, and no terminal acts upon it", () => {
    const value = { text: "\u001b[2J\u009b\u202e\u007f\u{e0041} ü" }
    const json = Text.safeJson(JSON.stringify(value))
    // eslint-disable-next-line no-control-regex
    assert.notMatch(json, /[\u0000-\u001f\u007f-\u009f\u202e\udb40]/)
    assert.deepStrictEqual(JSON.parse(json), value)
  })

  it("texts are cut to columns, not to characters", () => {
    assert.strictEqual(Text.cut("abcdef", 6), "abcdef")
    assert.strictEqual(Text.cut("abcdef", 4), "abc…")
    assert.strictEqual(Text.cut("日本語日本語", 6), "日本…")
    assert.strictEqual(Text.width("日本"), 4)
    assert.strictEqual(Text.width("👩‍🚀"), 2)
    assert.strictEqual(Text.cut("x".repeat(5_000_000), 10), "xxxxxxxxx…")
  })

  it("texts are wrapped at spaces, longer words anywhere, and nothing is lost unless it is bounded", () => {
    assert.deepStrictEqual(Text.wrap("one two three", 7), ["one two", "three"])
    assert.deepStrictEqual(Text.wrap("abcdefghij", 4), ["abcd", "efgh", "ij"])
    assert.deepStrictEqual(Text.wrap("one two three four", 7, 2), ["one two", "three…"])
    assert.deepStrictEqual(Text.wrap("", 7), [""])
  })

  it("a table is as wide as there is room: descriptions give way, names are whole", () => {
    const render = (room: number) =>
      Table.render(
        [{ title: "NAME" }, { title: "TEXT", lines: 2 }],
        [
          ["a_rather_long_name_of_a_tool", "word ".repeat(100).trim()],
          ["short", "one"]
        ],
        { columns: () => room, style: plain, terminal: true }
      )
    for (const room of [120, 80, 60, 45]) {
      const lines = render(room).split("\n")
      assert.isTrue(lines.every((_) => Text.width(_) <= room), `${room}`)
      assert.isTrue(lines.some((_) => _.startsWith("a_rather_long_name_of_a_tool  word")), `${room}`)
    }
    const narrow = render(30).split("\n")
    assert.isTrue(narrow.every((_) => Text.width(_) <= 30))
    assert.include(narrow.map((_) => _.slice(0, 14).trim()).join(""), "a_rather_long_name_of_a_tool")
  })

  it("names, URLs and the end of stderr that are hostile cost no more than their length", () => {
    const size = 400_000
    // A quadratic one takes a minute each, which a test does not have.
    assert.strictEqual(safeName(`x${"-".repeat(size)}y`), "x")
    assert.strictEqual(safeName(`${"-".repeat(size)}y`), "y")
    assert.strictEqual(safeName("-a/b-"), "a-b")
    assert.strictEqual(safeName("///"), "content")
    assert.strictEqual(extensionOf(";".repeat(size)), "bin")
    assert.isUndefined(recognize("\n".repeat(size), { server: "s" }))
    assert.include(recognize("\n  Usage: x", { server: "s" })?.reason, "how it is to be used")
    assert.lengthOf(pathsNear(new URL(`https://a.example/x${"/".repeat(size)}y`)), 2)
    assert.deepStrictEqual(pathsNear(new URL("https://a.example/a/b//")), [
      "/a/b/mcp",
      "/a/b/sse",
      "/a/mcp",
      "/a/sse",
      "/mcp",
      "/sse"
    ])
  })
})
