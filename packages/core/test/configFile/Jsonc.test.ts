import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import * as Jsonc from "../../src/internal/configFile/jsonc.js"
import { processorMillis } from "../processor.js"

const jsonOf = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return "broken"
  }
}

const oursOf = (text: string): unknown => {
  const { broken, root } = Jsonc.parse(text)
  return broken === undefined ? { value: root } : "broken"
}

describe("JSON with comments", () => {
  it("what is JSON means what it means to JSON.parse", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.json({ maxDepth: 8, noUnicodeString: false }), (text) => {
        assert.deepStrictEqual(oursOf(text), jsonOf(text))
      }),
      { numRuns: 1000 }
    )
  })

  it("what is not JSON is broken, without comments and trailing commas", () => {
    const piece = FastCheck.constantFrom(
      ..."{}[],:\"\\ -+.0189eEtrufalsn\t\n\u0001\u00a0ux",
      "true",
      "null",
      "\\u00e9",
      "\"a\""
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(piece, { maxLength: 12 }).map((_) => _.join("")), (text) => {
        FastCheck.pre(!/,\s*[}\]]/.test(text))
        assert.deepStrictEqual(oursOf(text), jsonOf(text))
      }),
      { numRuns: 20_000 }
    )
  })

  it("comments and trailing commas change nothing", () => {
    const noise = FastCheck.constantFrom(
      "",
      " ",
      "\n",
      "// a } \" ] comment\n",
      "/* , \" { */",
      "/**/",
      "\t/* * / // */"
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue({ maxDepth: 4 }), FastCheck.infiniteStream(noise), (value, noises) => {
        const write = (value: unknown): string => {
          const n = () => noises.next().value as string
          const comma = () => n().length % 2 === 0 ? "," : ""
          if (Array.isArray(value)) {
            return `${n()}[${n()}${value.map(write).join(`${n()},${n()}`)}${
              value.length > 0 ? comma() : ""
            }${n()}]${n()}`
          }
          if (typeof value === "object" && value !== null) {
            const fields = Object.entries(value).map(([key, _]) => `${n()}${JSON.stringify(key)}${n()}:${write(_)}`)
            return `${n()}{${fields.join(`${n()},`)}${n()}${fields.length > 0 ? comma() : ""}${n()}}${n()}`
          }
          return `${n()}${JSON.stringify(value)}${n()}`
        }
        assert.deepStrictEqual(oursOf(write(value)), jsonOf(JSON.stringify(value)))
      }),
      { numRuns: 500 }
    )
  })

  it("a byte order mark is no part of the text, and keys of prototypes are keys", () => {
    const { root } = Jsonc.parse("\ufeff{ \"__proto__\": { \"a\": 1 }, \"constructor\": 2 }")
    assert.deepStrictEqual(Object.keys(root as object), ["__proto__", "constructor"])
    assert.strictEqual((root as { readonly a?: unknown }).a, undefined)
    assert.strictEqual(({} as { readonly a?: unknown }).a, undefined)
  })

  const broken: ReadonlyArray<readonly [text: string, place: string, problem: string]> = [
    ["", "1:1", "is empty"],
    [" \n // only this\n", "1:1", "is empty"],
    ["{ \"a\": 1\n  \"b\": 2 }", "1:9", "a comma is missing here"],
    ["{ \"a\": [1 2] }", "1:10", "a comma is missing here"],
    ["{\n  \"a\": 1 }}", "2:11", "after the end"],
    ["{ \"a\": { \"b\": 1", "1:16", "the \"{\" of line 1 has no \"}\""],
    ["{\n\n\"a\": [\n\n1, 2", "5:5", "the \"[\" of line 3 has no \"]\""],
    ["{ 'a': 1 }", "1:3", "a name in double quotes is missing here"],
    ["{ a: 1 }", "1:3", "a name in double quotes is missing here"],
    ["{ \"a\" 1 }", "1:7", "a \":\" is missing after a name"],
    ["{ \"a\": 'b' }", "1:8", "not in single ones"],
    ["{ \"a\": \u201cb\u201d }", "1:8", "straight double quotes"],
    ["{ \"a\": b }", "1:8", "a text must stand in double quotes"],
    ["{ \"a\": 1abc }", "1:8", "a text must stand in double quotes"],
    ["{ \"a\": True }", "1:8", "in small letters"],
    ["{ \"a\": }", "1:8", "a value is missing here"],
    ["{ \"a\": 1,, }", "1:10", "a comma too many"],
    ["[,]", "1:2", "a comma too many"],
    ["{ \"a\": \"C:\\Users\" }", "1:11", "a backslash in a text is written twice"],
    ["{ \"a\": \"\\u12\" }", "1:9", "a backslash in a text is written twice"],
    ["{\n \"a\": \"one\ntwo\" }", "2:7", "has no second \" on its line"],
    ["{ \"a\": \"one", "1:8", "has no second \" on its line"],
    ["{ \"a\": \"\u0001\" }", "1:9", "control character"],
    ["{\u00a0\"a\": 1 }", "1:2", "a name in double quotes is missing here"],
    ["{ \"a\":\u00a01 }", "1:7", "only looks like a space"],
    ["{ /* \n \"a\": 1 }", "1:3", "has no */"],
    [`${"[".repeat(65)}${"]".repeat(65)}`, "1:65", "nested more than 64 times"],
    ["mcpServers:\n  files: 1", "1:1", "a text must stand in double quotes"]
  ]
  for (const [text, place, problem] of broken) {
    it(`${JSON.stringify(text).slice(0, 40)} is broken at ${place}`, () => {
      const document = Jsonc.parse(text)
      assert.isDefined(document.broken)
      const { column, line } = document.placeOf(document.broken.offset)
      assert.strictEqual(`${line}:${column}`, place)
      assert.include(document.broken.problem, problem)
    })
  }

  it("names that are there twice are known, with both places; the later one counts", () => {
    const document = Jsonc.parse("{ \"a\": { \"x\": 1, \"x\": 2 },\n \"a\": { \"\\u0078\": 3, \"x\": 4 } }")
    assert.deepStrictEqual(document.root, { a: { x: 4 } })
    assert.deepStrictEqual(document.duplicates.map((_) => _.path.join(".")), ["a.x", "a", "a.x"])
    assert.deepStrictEqual(document.duplicates.map((_) => document.placeOf(_.first).line), [1, 1, 2])
  })

  it("a large or hostile text takes bounded time", () => {
    const hostile = [
      "[".repeat(4_000_000),
      `{"a":`.repeat(500_000),
      `"${"\\\\".repeat(1_000_000)}`,
      `${"/**/".repeat(1_000_000)}`,
      `{${"\"a\":1.0,".repeat(400_000)}}`,
      `[${"1,".repeat(1_500_000)}]`,
      "-".repeat(4_000_000),
      "a".repeat(4_000_000),
      `{"a":${"9".repeat(4_000_000)}}`
    ]
    for (const text of hostile) {
      const start = processorMillis()
      Jsonc.parse(text)
      assert.isBelow(processorMillis() - start, 10_000)
    }
  })
})
