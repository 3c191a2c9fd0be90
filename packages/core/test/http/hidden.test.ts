import { assert, describe, it } from "@effect/vitest"
import { Exposed } from "../../src/internal/auth/exposed.js"
import { Hidden } from "../../src/internal/http/hidden.js"
import * as Secrets from "../../src/internal/secrets.js"
import { secret, written } from "../spellings.js"

describe("what must not show in a session", () => {
  it("is one list, to which is added what comes later", () => {
    const hidden = new Hidden(["configured"])
    const first = hidden.with([])
    assert.deepStrictEqual(first, ["configured"])
    assert.strictEqual(hidden.with(["token-1"], { "x-a": "header-1" }), first)
    assert.deepStrictEqual(first, ["configured", "header-1", "token-1"])
    hidden.with(["token-2"])
    assert.deepStrictEqual(first, ["configured", "header-1", "token-2"])
  })

  it("a list of credentials that grows is known by its length", () => {
    const known = ["token-1"]
    const hidden = new Hidden([])
    hidden.with(known)
    known.push("token-2")
    assert.deepStrictEqual(hidden.with(known), ["token-1", "token-2"])
  })

  it("what is sent with each request stays, whatever else is; in all bounded", () => {
    const hidden = new Hidden([])
    for (let i = 0; i < 2000; i++) hidden.with([], { "x-key": "constant", "x-id": `unique-${i}` })
    assert.include(hidden.all, "constant")
    assert.include(hidden.all, "unique-1999")
    assert.isBelow(hidden.all.length, 300)
  })

  it("what is within credentials: the token, the user and the password", () => {
    const hidden = new Hidden([])
    hidden.with([], { authorization: `Basic ${btoa("someone:pass\"word")}`, other: "Bearer the-token", short: "abc" })
    for (const value of ["the-token", "pass\"word", "pass\\\"word", "someone:pass\"word", "pass%22word"]) {
      assert.include(hidden.all, value)
    }
    assert.notInclude(hidden.all, "abc")
  })
})

describe("a secret in a text", () => {
  it("is known as other programs write it: PHP and Python in JSON, forms and paths in URLs", () => {
    const spellings = Secrets.spellingsOf([secret])
    for (const spelling of written) {
      assert.strictEqual(Secrets.shown(`x ${spelling} y`, spellings, 100), "x <redacted> y")
    }
  })

  it("has no other spelling where nothing of it is written in another way", () => {
    assert.deepStrictEqual(Secrets.spellingsOf(["abc-DEF_1.2"]), ["abc-DEF_1.2"])
  })

  it("is no word of less than six characters, however long it is where something of it is written in another way", () => {
    assert.deepStrictEqual(Secrets.spellingsOf(["é", "/data", "//", " ab ", "naïve"]), [])
    assert.deepStrictEqual(Secrets.spellingsOf(["  ab  "]), ["  ab  "])
  })
})

describe("what the servers of an authorization know", () => {
  it("is another list only when something is new; the oldest is forgotten first", () => {
    const exposed = new Exposed()
    exposed.add("secret-1", undefined, "short")
    const { spellings } = exposed
    exposed.add("secret-1")
    assert.strictEqual(exposed.spellings, spellings)
    for (let i = 0; i < 500; i++) exposed.add(`token-${i}`, "secret-1")
    assert.include(exposed.spellings, "secret-1")
    assert.include(exposed.spellings, "token-499")
    assert.isBelow(exposed.spellings.length, 70)
  })
})
