import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { sizeIfHarmless } from "../../src/internal/jsonSchema/pattern/harmless.js"
import { parse } from "../../src/internal/jsonSchema/pattern/parse.js"
import * as Pattern from "../../src/internal/jsonSchema/pattern/pattern.js"

const make = (source: string) => Pattern.make(source, { steps: 100_000 })

const run = (source: string, text: string, steps = 1_000_000) => {
  const pattern = make(source)
  if (typeof pattern === "string") return { reason: pattern }
  const budget = { steps }
  const matches = pattern.test(text, budget)
  return { matches, steps: steps - budget.steps }
}

const test = (source: string, text: string) => {
  const answer = run(source, text)
  return "matches" in answer ? answer.matches : answer.reason
}

describe("V06: patterns", () => {
  const long = "a".repeat(100_000)
  const bombs: ReadonlyArray<readonly [source: string, text: string]> = [
    ["(a+)+$", `${long}!`],
    ["^(a+)+$", `${long}!`],
    ["^(a|aa)+$", `${long}!`],
    ["(a|a)*b", long],
    ["(.*)*x", long],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", long],
    ["(x+x+)+y", "x".repeat(100_000)],
    ["^(a?){20}a{20}$", long],
    ["(a*)*(a*)*(a*)*b", long],
    ["^(?=(a+)+$)(?!(a|aa)+b)", `${long}!`],
    ["(?<=(a+)+)b", long],
    ["\\s+$", `${" ".repeat(100_000)}x`]
  ]
  for (const [source, text] of bombs) {
    it(`V06: ${source} takes steps in proportion to the text`, () => {
      const whole = run(source, text, 10_000_000)
      const half = run(source, text.slice(text.length / 2), 10_000_000)
      assert.strictEqual(whole.matches, new Map([["^(?=(a+)+$)(?!(a|aa)+b)", false]]).get(source) ?? false)
      assert.isBelow(whole.steps!, 40 * text.length)
      assert.isBelow(whole.steps!, half.steps! * 2.1 + 100)
    })
  }

  it("V06: nested counts are written out up to a bound, and cost no more than the budget", () => {
    const counted = run("^(a{1,50}){1,50}$", `${long}!`, 1_000_000)
    assert.isUndefined(counted.matches)
    assert.isBelow(counted.steps!, 1_010_000)
    for (
      const source of [
        "((a{0,100}){0,100}){0,100}",
        "(){1000000000}",
        "((){99999}){99999}",
        "a{100000}",
        "(".repeat(5000)
      ]
    ) {
      assert.isString(make(source), source)
    }
    assert.strictEqual(test("^.{1,4000}$", "x".repeat(4000)), true)
    assert.strictEqual(test("^.{1,4000}$", "x".repeat(4001)), false)
  })

  it("V06: a large pattern is paid for by each text, however short", () => {
    assert.isString(make("a{30000}"))
    assert.isAbove(run("^(?:a|b){4000}$", "").steps!, 500)
  })

  it("V06: the runtime's own expressions are used only where they can't go back along two ways", () => {
    const size = (source: string) => sizeIfHarmless(parse(source))
    for (const source of ["^[a-z]+$", "^a{3}b*c$", "abc", "^\\d{4}-\\d{2}$", "[0-9]{3}"]) {
      assert.isNumber(size(source), source)
    }
    for (
      const source of [
        "^a*a*b$",
        "a+$",
        "^a{1,5}a{1,5}$",
        "^(a+)+$",
        "a|b",
        "^(?=a+)a+$",
        "^a{100}$",
        "^a{1,100}$",
        "^(ab)+$"
      ]
    ) assert.isUndefined(size(source), source)
  })

  it("V06: all patterns of a schema share one bound", () => {
    const budget = { steps: 1000 }
    const made = Array.from({ length: 100 }, (_, i) => Pattern.make(`(a${i}|b){10}`, budget))
    assert.isNotString(made[0])
    assert.isString(made[99])
  })

  it("V03: what is refused is refused with a reason", () => {
    for (
      const source of [
        "(a)\\1",
        "\\k<n>(?<n>a)",
        "(",
        ")",
        "a)",
        "[a",
        "*a",
        "a**",
        "a+{2}",
        "{2}",
        "a{2,1}",
        "a{,5}",
        "(?i)a",
        "(?=a)*",
        "[b-a]",
        "\\",
        "\\Z",
        "\\A",
        "\\u12",
        "\\u{110000}",
        "\\x1",
        "\\p{Nope}",
        "\\p{L",
        "\\c1",
        "\\01",
        "(?<",
        "(?#x)",
        "a++"
      ]
    ) assert.isString(make(source), source)
  })

  it("what the u flag forbids though it can mean one thing only is allowed", () => {
    assert.strictEqual(test("^[\\w-.]+$", "a-b.c"), true)
    assert.strictEqual(test("^[\\w-.]+$", "a,b"), false)
    assert.strictEqual(test("^\\-\\_\\@\\!$", "-_@!"), true)
    assert.strictEqual(test("^{a}$", "{a}"), true)
    assert.strictEqual(test("^[a-\\d]+$", "a-5"), true)
    assert.strictEqual(test("^[\\w--a]$", ","), false)
    assert.strictEqual(test("]}", "a]}"), true)
  })

  it("characters are code points", () => {
    assert.strictEqual(test("^.$", "😀"), true)
    assert.strictEqual(test("^\\uD83D\\uDE00$", "😀"), true)
    assert.strictEqual(test("\\uD83D", "😀"), false)
    assert.strictEqual(test("^[😀-😂]$", "😁"), true)
    assert.strictEqual(test("(?<=😀)a", "😀a"), true)
    assert.strictEqual(test("^\\p{Script=Greek}+$", "αβγ"), true)
    assert.strictEqual(test("^[\\p{Lu}\\d]+$", "A1b"), false)
    assert.strictEqual(test("^\\s\\S$", "\u00a0a"), true)
    assert.strictEqual(test("^.$", "\u2028"), false)
  })

  const atom = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom(
        "a",
        "b",
        ".",
        "\\w",
        "\\d",
        "[ab]",
        "[^a]",
        "[a-c]",
        "\\s",
        "😀",
        "[😀b]",
        "\\u{1F600}",
        "\\p{L}",
        "[^\\p{L}]",
        "-",
        "\\.",
        "\\W",
        "[\\Sa]",
        "[]",
        "[^]",
        "\\uD83D"
      )
    },
    { weight: 1, arbitrary: fc.constantFrom("^", "$", "\\b", "\\B") }
  )
  const { source } = fc.letrec<{ source: string; term: string }>((tie) => ({
    source: fc.oneof(
      { maxDepth: 4 },
      atom,
      fc.array(tie("term"), { maxLength: 4 }).map((_) => _.join("")),
      fc.array(tie("term"), { minLength: 2, maxLength: 3 }).map((_) => _.join("|"))
    ),
    term: fc.oneof(
      { maxDepth: 4 },
      atom,
      fc.tuple(atom, fc.constantFrom("*", "+", "?", "{2}", "{0,3}")).map((_) => _.join("")),
      fc.tuple(
        tie("source"),
        fc.constantFrom("(", "(?:"),
        fc.constantFrom("", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "{1,}")
      )
        .map(([inner, open, times]) => `${open}${inner})${times}`),
      fc.tuple(tie("source"), fc.constantFrom("(?=", "(?!", "(?<=", "(?<!")).map(([inner, open]) => `${open}${inner})`)
    )
  }))
  const text = fc.array(fc.constantFrom("a", "b", "c", " ", "1", "😀", "-", ".", "\n", "\uD83D", "é", "_"), {
    maxLength: 10
  })
    .map((_) => _.join(""))

  /** Looking behind, V8 also tries the middle of a character, which ECMAScript does not. */
  const isInsideCharacter = (text: string, at: number) => at > 0 && text.codePointAt(at - 1)! > 0xFFFF

  it("V06: the same answers as ECMAScript", () => {
    fc.assert(
      fc.property(source, fc.array(text, { minLength: 1, maxLength: 5 }), (source, texts) => {
        const native = expressionOf(source)
        const pattern = make(source)
        if (native === undefined) return
        assert.isNotString(pattern, source)
        if (typeof pattern === "string") return
        for (const text of texts) {
          const found = native.exec(text)
          if (found !== null && isInsideCharacter(text, found.index)) continue
          assert.strictEqual(pattern.test(text, { steps: 1_000_000 }), found !== null, JSON.stringify([source, text]))
        }
      }),
      { numRuns: 3000 }
    )
  })
})

const expressionOf = (source: string): RegExp | undefined => {
  try {
    return new RegExp(source, "u")
  } catch {
    return undefined
  }
}
