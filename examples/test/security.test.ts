/** What SECURITY.md says is shown by tests, is: each test that it cites exists and runs. */
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")

interface Citation {
  readonly file: string
  /** None: the file as a whole. */
  readonly titles: ReadonlyArray<string>
}

/** A file in backticks, and the titles in quotes that follow it. */
const citationsOf = (text: string): ReadonlyArray<Citation> =>
  [...text.matchAll(/`((?:packages|examples)\/[^`]*\.test\.ts)`((?:,? "[^"]+")*)/g)].map(([, file, titles]) => ({
    file: file!,
    titles: [...titles!.matchAll(/"([^"]+)"/g)].map(([, title]) => title!)
  }))

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** Of each call with this title: what is called. */
const callsOf = (source: string, title: string): ReadonlyArray<string> =>
  [...source.matchAll(new RegExp(`([A-Za-z_$][\\w$.]*)(?:\\([^()\\n]*\\))?\\(\\s*["'\`]${escaped(title)}["'\`]`, "g"))]
    .map((_) => _[1]!)

const notRun = /\.(skip|todo|only|skipIf|runIf|fails)\b/

const problemOf = (source: string | undefined, title: string | undefined): string | undefined => {
  if (source === undefined) return "there is no such file"
  if (/^\s*(describe\.(skip|todo|only)|it(\.\w+)*\.only)\b/m.test(source)) return "some of it is skipped"
  if (title === undefined) {
    return /^\s*(it|suite|describe|test|check)[\w.]*\(/m.test(source) ? undefined : "there is no test in it"
  }
  const calls = callsOf(source, title)
  if (calls.length === 0) return "there is no test of this title"
  return calls.some((_) => notRun.test(_)) ? "it is skipped" : undefined
}

const problemsOf = (text: string, sourceOf: (file: string) => string | undefined): ReadonlyArray<string> =>
  citationsOf(text).flatMap(({ file, titles }) =>
    (titles.length === 0 ? [undefined] : titles).flatMap((title) => {
      const problem = problemOf(sourceOf(file), title)
      return problem === undefined ? [] : [`${file}${title === undefined ? "" : ` "${title}"`}: ${problem}`]
    })
  )

describe("SECURITY.md", () => {
  const text = read("SECURITY.md")

  it("cites tests that are there and run", () => {
    const sources = (file: string) => fs.existsSync(path.join(root, file)) ? read(file) : undefined
    assert.deepStrictEqual(problemsOf(text, sources), [])
    assert.isAbove(citationsOf(text).flatMap((_) => _.titles).length, 60)
  })

  it("has a test for each threat", () => {
    const rows = text.split("\n").filter((_) => _.startsWith("|") && !/^\|(---|\s*it can try)/.test(_))
    assert.isAbove(rows.length, 40)
    for (const row of rows) {
      assert.isAbove(citationsOf(row).length, 0, row)
      assert.lengthOf(row.split(/(?<!\\)\|/), 5, row)
    }
  })

  it("is read as it is meant: no title without its file", () => {
    const left = text.replaceAll(/`(?:packages|examples)\/[^`]*\.test\.ts`(?:,? "[^"]+")*/g, "")
    const rows = left.split("\n").filter((_) => _.startsWith("|")).map((_) => _.split("|")[3] ?? "")
    for (const row of rows) assert.notMatch(row, /"|\.test\.ts/)
  })

  it("says what is not defended, how to report, and which versions are", () => {
    for (const heading of ["## What is not defended", "## Reporting", "## Versions"]) assert.include(text, heading)
    for (const  of of["server", "configuration", "network", "Hostile output of a model", "machine"]) {
      assert.match(text, new RegExp(`^## .*${of}`, "m"))
    }
  })

  it("this check can fail", () => {
    const source =
      `describe("a", () => {\n  it.live("b (c)", () => {})\n  it.skip("d", f)\n  it.live.skipIf(x)("e", f)\n})`
    const of = (cited: string, file = source) => problemsOf(`\`packages/x.test.ts\` ${cited}`, () => file)
    assert.deepStrictEqual(of(`"a", "b (c)"`), [])
    assert.deepStrictEqual(of(``), [])
    assert.deepStrictEqual(of(`"f"`), [`packages/x.test.ts "f": there is no test of this title`])
    assert.deepStrictEqual(of(`"b"`), [`packages/x.test.ts "b": there is no test of this title`])
    assert.deepStrictEqual(of(`"d"`), [`packages/x.test.ts "d": it is skipped`])
    assert.deepStrictEqual(of(`"e"`), [`packages/x.test.ts "e": it is skipped`])
    assert.deepStrictEqual(of(``, "const a = 1"), ["packages/x.test.ts: there is no test in it"])
    assert.deepStrictEqual(of(``, `describe.skip("a", f)`), ["packages/x.test.ts: some of it is skipped"])
    assert.deepStrictEqual(problemsOf("`packages/y.test.ts`", () => undefined), [
      "packages/y.test.ts: there is no such file"
    ])
  })
})
