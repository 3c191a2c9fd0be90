/**
 * The reader of the head of a SKILL.md: what it understands, what it refuses, and that it always ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { difference, parse } from "../../src/internal/skills/frontmatter.js"
import { type Node, read } from "../../src/internal/skills/yaml.js"
import { processorMillis } from "../processor.js"

/** Every plain text as it stands there. */
const plainly = (node: Node): unknown => {
  switch (node.kind) {
    case "map":
      return Object.fromEntries([...node.fields].map(([key, field]) => [key, plainly(field)]))
    case "list":
      return node.items.map(plainly)
    default:
      return node.text
  }
}

const lines = (...all: ReadonlyArray<string>) => all.join("\n")

const understood: Record<string, readonly [string, unknown]> = {
  "fields": ["a: b\nc d: e f\nurl: https://x.y/z?a=b&c#d\nt: 12:30", {
    a: "b",
    "c d": "e f",
    url: "https://x.y/z?a=b&c#d",
    t: "12:30"
  }],
  "comments": ["# one\na: b # two\n  # three\n\nc: d#e", { a: "b", c: "d#e" }],
  "nothing": ["a:\nb: # nothing\nc: ~", { a: "", b: "", c: "~" }],
  "maps": ["a:\n  b:\n      c: d\n  e: f\ng: h", { a: { b: { c: "d" }, e: "f" }, g: "h" }],
  "lists": ["a:\n  - b\n  - c: d\n    e: f\n  -\n    g: h\n  - - i\n    - j\n  -", {
    a: ["b", { c: "d", e: "f" }, { g: "h" }, ["i", "j"], ""]
  }],
  "lists as far left as their field": ["a:\n- b\n- c\nd: e", { a: ["b", "c"], d: "e" }],
  "brackets": [
    `a: [b, "c, d", 'e', [], {f: g, "h": [i], j}, ]\nk: {}`,
    { a: ["b", "c, d", "e", [], { f: "g", h: ["i"], j: "" }], k: {} }
  ],
  "brackets over lines": ["a: [\n  b, # c\n  d\n  ]\ne: {\n  f: g }", { a: ["b", "d"], e: { f: "g" } }],
  "texts over lines": ["a: b\n  c\n\n  d # e\nf:\n  g\n  h", { a: "b c\nd", f: "g h" }],
  "quoted texts": [
    `a: 'it''s: #1'\nb: "x\\ty\\n\\u00e9\\x41\\\\\\"\\U0001F600"\n"c d" : e\n'f': ''`,
    { a: "it's: #1", b: "x\ty\né\u0041\\\"😀", "c d": "e", f: "" }
  ],
  "quoted texts over lines": [`a: "b\n  c\n\n  d \\\n  e"\nf: 'g\n  h'`, { a: "b c\nd e", f: "g h" }],
  "kept lines": [lines("a: |", "  b", "   c", "", "  d", "", "e: |-", "  f", "g: |+", "  h", "", "i: j"), {
    a: "b\n c\n\nd\n",
    e: "f",
    g: "h\n\n",
    i: "j"
  }],
  "folded lines": [lines("a: >", "  b", "  c", "", "  d", "    e", "  f", "g: >- # h", "  i", "  j"), {
    a: "b c\nd\n  e\nf\n",
    g: "i j"
  }],
  "lines with their own indentation": ["a: |2\n    b\n  c", { a: "  b\nc\n" }],
  "no lines": ["a: |\nb: >-\n\nc: d", { a: "", b: "", c: "d" }],
  "ends of lines": ["a: b\r\nc: |\r\n  d\r\n  e\rf: g", { a: "b", c: "d\ne\n", f: "g" }],
  "names of Object's prototype": [
    "constructor: a\n__proto__: b\ntoString: [c]",
    Object.fromEntries([["constructor", "a"], ["__proto__", "b"], ["toString", ["c"]]])
  ],
  "texts that begin oddly": ["a: -b\nc: ?d\ne: :f\ng: .5", { a: "-b", c: "?d", e: ":f", g: ".5" }]
}

const refused: Record<string, string> = {
  "an anchor": "a: &b c",
  "an alias": "a: *b",
  "a tag": "a: !!str b",
  "a merge": "<<: {a: b}",
  "a merge in brackets": "a: {<<: b}",
  "a complex key": "? a\n: b",
  "a directive": "%YAML 1.2\na: b",
  "another document": "a: b\n--- c",
  "the end of a document": "a: |\n  b\n...\n",
  "a tab": "a:\n\tb: c",
  "a tab behind a dash": "- \ta: b",
  "a colon in a text": "a: b: c",
  "a colon at the end of a text": "a: b:",
  "a colon in the second line": "a: b\n  c: d",
  "a field twice": "a: b\na: c",
  "a field twice in brackets": "a: {b: c, b: d}",
  "a field without a name": ": a",
  "a line that is no field": "a: b\nc",
  "a list among fields": "a: b\n- c",
  "a field among items": "- a\nb: c",
  "less indentation": "  a: b\n c: d",
  "more indentation": "a: b\nc: d\n   e: f",
  "an open quotation mark": "a: \"b",
  "an open apostrophe": "a: 'b",
  "a text that is not indented": "a: \"b\nc\"",
  "something behind a text": "a: \"b\" c",
  "something behind brackets": "a: [b] c",
  "an open bracket": "a: [b",
  "a wrong bracket": "a: [b}",
  "a pair in a list": "a: [b: c]",
  "an unknown escape": "a: \"\\q\"",
  "an escape beyond Unicode": "a: \"\\UFFFFFFFF\"",
  "a reserved character": "a: @b",
  "a percent sign": "a: %b",
  "a backtick": "a: `b`",
  "a bad header": "a: |x\n  b",
  "an empty line that is indented too far": "a: |\n    \n  b",
  "a control character": "a: b\u0007",
  "a line separator": "a: b\u2028c",
  "half a character": "a: b\ud800",
  "depth": Array.from({ length: 40 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
  "depth of a line": "- ".repeat(40) + "a"
}

describe("the reader of YAML", () => {
  for (const [what, [text, value]] of Object.entries(understood)) {
    it(`understands ${what}`, () => {
      const node = read(text)
      assert.deepStrictEqual(Either.map(node, plainly), Either.right(value), text)
    })
  }

  for (const [what, text] of Object.entries(refused)) {
    it(`refuses ${what}, and says in which line`, () => {
      const node = read(text)
      assert.isTrue(Either.isLeft(node), JSON.stringify(Either.map(node, plainly)))
      assert.match(Either.getOrElse(Either.flip(node), () => ""), /^line \d+: /)
    })
  }

  it("every JSON object is understood as itself", () => {
    const text = FastCheck.string({ unit: "grapheme", maxLength: 8 }).filter((_) =>
      !/[\u007f-\u009f\u2028\u2029\ufeff]/.test(_)
    )
    const key = text.filter((_) => _ !== "" && _ !== "<<")
    const { value } = FastCheck.letrec((tie) => ({
      value: FastCheck.oneof(
        { maxDepth: 4 },
        text,
        FastCheck.integer(),
        FastCheck.boolean(),
        FastCheck.constant(null),
        FastCheck.array(tie("value"), { maxLength: 3 }),
        FastCheck.dictionary(key, tie("value"), { maxKeys: 3 })
      )
    }))
    FastCheck.assert(
      FastCheck.property(FastCheck.dictionary(key, value, { maxKeys: 3 }), (object) => {
        const node = read(JSON.stringify(object, undefined, 1))
        assert(Either.isRight(node), `${JSON.stringify(object)} ${JSON.stringify(node)}`)
        assert.isUndefined(difference(node.right, JSON.parse(JSON.stringify(object))))
      }),
      { numRuns: 500 }
    )
  })

  it("any text is read or refused, and what is read is not also something else", () => {
    const pieces = [
      "a",
      "b: ",
      "- ",
      " ",
      "\n",
      "\n  ",
      "\"",
      "'",
      "|\n",
      ">-\n",
      "#",
      "[",
      "]",
      "{",
      "}",
      ",",
      ": ",
      "1",
      "\t",
      "\\",
      "&",
      "*",
      "\u2028"
    ]
    const texts = FastCheck.array(FastCheck.constantFrom(...pieces), { maxLength: 20 })
    FastCheck.assert(
      FastCheck.property(texts, (all) => {
        const node = read(all.join(""))
        if (Either.isLeft(node)) return
        assert.isUndefined(difference(node.right, plainly(node.right)))
        assert.isDefined(difference(node.right, { other: plainly(node.right) }))
      }),
      { numRuns: 3000 }
    )
  })

  it("a long head takes a time that grows with its length", () => {
    const long: Record<string, (n: number) => string> = {
      dashes: (n) => "- ".repeat(n / 2),
      brackets: (n) => `a: ${"[".repeat(n)}`,
      backslashes: (n) => `a: "${"\\".repeat(n)}`,
      apostrophes: (n) => `a: '${"'".repeat(n)}`,
      spaces: (n) => `a: b${" ".repeat(n)}c`,
      "spaces in brackets": (n) => `a: [b${" ".repeat(n)},c`,
      colons: (n) => `a${":".repeat(n)}`,
      comments: (n) => `a: b${" #".repeat(n / 2)}`,
      lines: (n) => `a:\n${" b\n".repeat(n / 3)}`,
      "empty lines": (n) => `a: |\n${"\n".repeat(n)}`,
      "quoted lines": (n) => `a: "${"x\\\n ".repeat(n / 4)}"`,
      fields: (n) => Array.from({ length: n / 8 }, (_, i) => `k${i}: 1`).join("\n"),
      ends: (n) => "x\n--- ".repeat(n / 6)
    }
    for (const [what, make] of Object.entries(long)) {
      const bytes = new TextEncoder().encode(`---\n${make(60_000)}\n---\n`)
      const startedAt = processorMillis()
      parse(bytes)
      // Measured: at most 5 ms. A quadratic one needs seconds.
      assert.isBelow(processorMillis() - startedAt, 1000, what)
    }
  })
})
