import { assert, describe, it } from "@effect/vitest"
import { secret, written } from "../../../core/test/spellings.js"
import { Secrets } from "../../src/internal/stdio/secrets.js"
import { StderrRing } from "../../src/internal/stdio/stderrRing.js"

const show = (values: ReadonlyArray<string>, text: string, cut = {}) => new Secrets(values).show(text, 1000, cut)

const tailOf = (capacity: number, values: ReadonlyArray<string>, chunks: ReadonlyArray<string>) => {
  const ring = new StderrRing(capacity, new Secrets(values))
  for (const chunk of chunks) ring.push(Buffer.from(chunk))
  return ring.tail()
}

describe("Secrets", () => {
  it("are covered wherever they stand, the longer before the shorter", () => {
    assert.strictEqual(
      show(["hunter2", "hunter2hunter3"], "a=hunter2 b=hunter2hunter3,hunter2"),
      "a=<redacted> b=<redacted>,<redacted>"
    )
  })

  it("are covered in JSON, in URLs, and over lines", () => {
    assert.strictEqual(show(["sec\"ret\n1"], `{"a":"sec\\"ret\\n1"}`), `{"a":"<redacted>"}`)
    assert.strictEqual(show(["a b&c/d"], "x a%20b%26c%2Fd"), "x <redacted>")
    assert.strictEqual(show(["-----BEGIN\nabc\n-----END\n"], "key: -----BEGIN\nabc\n-----END"), "key: <redacted>")
    assert.strictEqual(show(["hunter2"], "see https://me:xhunter2x@host/p/hunter2"), "see https://host/p/<redacted>")
    assert.strictEqual(show(["\ud800hunter2"], "\ud800hunter2"), "<redacted>")
  })

  it("are covered as other programs write them: PHP and Python in JSON, forms and paths in URLs", () => {
    for (const spelling of written) assert.strictEqual(show([secret], `x ${spelling} y`), "x <redacted> y")
  })

  it("are not words of less than six characters", () => {
    assert.strictEqual(show(["dumb", ""], "TERM is dumb"), "TERM is dumb")
  })

  it("are covered where a bound has cut them, at either end", () => {
    const value = "abcdefghijklmnop"
    assert.strictEqual(tailOf(20, [value], [`${value}xxxxxxxx`]), "<redacted>xxxxxxxx")
    assert.strictEqual(tailOf(10, [value], [`xx${value}xxx`]), "<redacted>xxx")
    assert.strictEqual(tailOf(8, [value], [value]), "<redacted>")
    assert.strictEqual(tailOf(8, [value], [`x${value.slice(0, -2)}`]), "<redacted>")
    assert.strictEqual(tailOf(100, [value], ["xx ", value.slice(0, 9)]), "xx <redacted>")
    assert.strictEqual(
      tailOf(40, ["line-one\nline-two\nline-three"], ["line-one\nline-two\nline-three", "x".repeat(20)]),
      "<redacted>" + "x".repeat(20)
    )
  })
})
