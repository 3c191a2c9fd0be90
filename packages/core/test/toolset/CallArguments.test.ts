/**
 * What a model has written as arguments: it is an object that fits the tool before anything else happens.
 */
import { assert, it } from "@effect/vitest"
import { ToolApproval } from "@mcp-runtime/core"
import { Effect, Either } from "effect"
import { ending, failed, problemsOf, schema, sentArguments, succeeded } from "./calling.js"
import * as Kit from "./kit.js"

const search = {
  name: "search",
  inputSchema: schema({ text: { type: "string" }, limit: { type: "integer" } }, ["text"])
}

/** Whether approval was asked for is counted. */
const counting = () => {
  const asked: Array<unknown> = []
  const approval = Either.getOrThrow(ToolApproval.make((call) => {
    asked.push(call.arguments)
    return false
  }))
  return { asked, approval, who: { agent: 1, runContext: 1 } }
}

const wrong: ReadonlyArray<readonly [unknown, string]> = [
  [" ", "is not valid JSON"],
  ["\n\t", "is not valid JSON"],
  ["{", "is not valid JSON"],
  ["{text:1}", "is not valid JSON"],
  ["{\"text\": \"a\"} trailing", "is not valid JSON"],
  ["undefined", "is not valid JSON"],
  ["\ufeff{}", "is not valid JSON"],
  ["[]", "must be a JSON object"],
  ["null", "must be a JSON object"],
  ["1", "must be a JSON object"],
  ["true", "must be a JSON object"],
  ["\"{}\"", "must be a JSON object"],
  [[], "must be an object"],
  [null, "must be an object"],
  [1, "must be an object"],
  [Number.NaN, "must be an object"],
  [false, "must be an object"],
  [1n, "must be an object"],
  [Symbol("x"), "must be an object"],
  [() => ({}), "must be an object"]
]

it.scoped("what is no object is refused with a typed error before approval is asked for and anything is sent", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", [search])
    const { approval, asked, who } = counting()
    const toolset = yield* Kit.toolset([a], { approval })
    const { call, list } = toolset.for(who)
    yield* list
    for (const [input, problem] of wrong) {
      const { error, text, tool } = yield* failed(call("a__search", input))
      assert.strictEqual(error._tag, "ArgumentsInvalid", String(input))
      assert.strictEqual(problemsOf(error), `arguments: ${problem}`, String(input))
      assert.strictEqual(error.executed, "no")
      assert.strictEqual(tool?.name, "a__search")
      assert.include(text, "Mend the arguments")
    }
    assert.deepStrictEqual(asked, [])
    assert.deepStrictEqual(yield* a.calls, [])
    assert.strictEqual(yield* a.listings, 1)
  }))

it.scoped("no arguments at all, an empty text and an empty object are the same", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", ["now"])
    const { call } = (yield* Kit.toolset([a])).for()
    yield* succeeded(call("a__now"))
    yield* succeeded(call("a__now", ""))
    yield* succeeded(call("a__now", undefined))
    yield* succeeded(call("a__now", {}))
    yield* succeeded(call("a__now", " {} \n"))
    assert.deepStrictEqual(yield* sentArguments(a), [{}, {}, {}, {}, {}])
  }))

it.scoped("required arguments must be there; others may be anything and are passed on", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", [search])
    const { approval, asked, who } = counting()
    const { call, list } = (yield* Kit.toolset([a], { approval })).for(who)
    yield* list
    for (const input of ["", "{}", {}, "{\"limit\": 1}", { text: undefined }, "{\"Text\": 1}"]) {
      assert.strictEqual(problemsOf((yield* failed(call("a__search", input))).error), "arguments.text: is required")
    }
    assert.strictEqual(asked.length, 0)
    yield* succeeded(call("a__search", "{\"text\": null, \"other\": [1]}"))
    yield* succeeded(call("a__search", { text: 5, limit: "many" }))
    assert.deepStrictEqual(yield* sentArguments(a), [{ text: null, other: [1] }, { text: 5, limit: "many" }])
  }))

it.scoped("the whole schema counts by option, of the toolset or of one server", () =>
  Effect.gen(function*() {
    const [a, b] = yield* Effect.all([Kit.server("a", [search]), Kit.server("b", [search])])
    const toolset = yield* Kit.toolset([a, b], { servers: { b: { validateArguments: true } } })
    const { call } = toolset.for()
    yield* succeeded(call("a__search", { text: 5 }))
    const { error, text } = yield* failed(call("b__search", { text: 5, limit: 1.5 }))
    assert.match(problemsOf(error), /arguments\.text: .*; arguments\.limit: /)
    assert.include(text, "arguments.text")
    assert.deepStrictEqual(yield* b.calls, [])
    yield* succeeded(call("b__search", { text: "x", limit: 1, other: 1 }))

    const all = yield* Kit.toolset([a, b], { validateArguments: true, servers: { a: { validateArguments: false } } })
    yield* succeeded(all.for().call("a__search", { text: 5 }))
    yield* failed(all.for().call("b__search", { text: 5 }))
  }))

it.scoped("what can't be decided of a schema refuses nothing", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", [{
      name: "x",
      inputSchema: { type: "object", properties: { a: { $ref: "https://example.com/away" } } }
    }])
    const { call } = (yield* Kit.toolset([a], { validateArguments: true })).for()
    yield* succeeded(call("a__x", { a: 1 }))
  }))

it.scoped("nulls that a strict schema makes a model write are taken back, and only those", () =>
  Effect.gen(function*() {
    const tool = {
      name: "x",
      inputSchema: schema({
        city: { type: "string" },
        days: { type: "integer" },
        note: { type: ["string", "null"] }
      }, ["city", "note"])
    }
    const a = yield* Kit.server("a", [tool])
    const nullable = yield* Kit.toolset([a], { schemas: "nullable", validateArguments: true })
    const [shown] = (yield* nullable.for().list).tools
    assert.isTrue(shown!.strict)
    yield* succeeded(nullable.for().call("a__x", `{"city": "Oslo", "days": null, "note": null}`))
    assert.strictEqual(
      problemsOf((yield* failed(nullable.for().call("a__x", `{"city": null, "days": null, "note": "x"}`))).error).slice(
        0,
        14
      ),
      "arguments.city"
    )
    const verbatim = yield* Kit.toolset([a])
    yield* succeeded(verbatim.for().call("a__x", `{"city": "Oslo", "days": null, "note": ""}`))
    assert.deepStrictEqual(yield* sentArguments(a), [
      { city: "Oslo", note: null },
      { city: "Oslo", days: null, note: "" }
    ])
  }))

it.scoped("names of prototypes are names like others", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", [
      { name: "x" },
      { name: "needs", inputSchema: { type: "object", required: ["toString", "__proto__"] } }
    ])
    const { call } = (yield* Kit.toolset([a], { schemas: "nullable" })).for()
    yield* succeeded(call("a__x", `{"__proto__": {"admin": true}, "constructor": 1}`))
    const [args] = (yield* sentArguments(a)) as ReadonlyArray<object>
    assert.deepStrictEqual(Object.keys(args!), ["__proto__", "constructor"])
    assert.isFalse("admin" in args!)
    assert.strictEqual(
      problemsOf((yield* failed(call("a__needs", "{}"))).error),
      "arguments.toString: is required; arguments.__proto__: is required"
    )
    yield* succeeded(call("a__needs", `{"toString": 1, "__proto__": null}`))
  }))

it.scoped("a huge text passes, one that is nested without end is a typed error, and neither is a defect", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", [search])
    for (const schemas of ["verbatim", "nullable"] as const) {
      for (const approval of [ToolApproval.never, ToolApproval.always]) {
        const { call } = (yield* Kit.toolset([a], { schemas, approval, validateArguments: true })).for()
        const expected = approval === ToolApproval.never ? "a search" : "error ApprovalRequired"
        assert.strictEqual(yield* ending(call("a__search", JSON.stringify({ text: "x".repeat(3_000_000) }))), expected)
        const deep = `{"text": "a", "more": ${"[".repeat(200_000)}${"]".repeat(200_000)}}`
        assert.match(yield* ending(call("a__search", deep)), /^Failure /)
        const cyclic: Record<string, unknown> = { text: "x" }
        cyclic.self = cyclic
        assert.match(yield* ending(call("a__search", cyclic)), /^Failure /)
        assert.match(yield* ending(call("a__search", { text: "x", big: 1n })), /^Failure /)
      }
    }
    assert.strictEqual((yield* a.calls).length, 2)
  }))

it.scoped("a hidden or unknown tool says nothing of its arguments", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", [search])
    const { call } = (yield* Kit.toolset([a])).for()
    assert.strictEqual(yield* ending(call("a__other", "{")), "Failure ToolNotFound")
  }))

it.scoped("what a model wrote is not changed", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", [search])
    const { call } = (yield* Kit.toolset([a], { schemas: "nullable" })).for()
    const written = Object.freeze({ text: "a", limit: null })
    yield* succeeded(call("a__search", written))
    assert.deepStrictEqual(written, { text: "a", limit: null })
    assert.deepStrictEqual(yield* sentArguments(a), [{ text: "a" }])
  }))
