/**
 * What a result becomes, and whether it is what the tool promises. The call has run: it is never made again.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpProtocol, ToolOutput } from "@mcp-runtime/core"
import { Cause, Effect, Exit } from "effect"
import { processorMillis } from "../processor.js"
import { ending, failed, type Options, problemsOf, succeeded, told } from "./calling.js"
import * as Kit from "./kit.js"

const text = (text: string): McpProtocol.ContentBlock => ({ type: "text", text })

const answering = (result: object, more: object = {}, name = "x"): Kit.Given => ({
  name,
  ...more,
  call: () => Effect.succeed(result)
})

const celsius = { outputSchema: { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] } }

const weather = { content: [text(`{"celsius":12}`)], structuredContent: { celsius: 12 } }

const every = [
  text("a"),
  { type: "image", data: "AAAA", mimeType: "image/png" },
  { type: "audio", data: "AAAA", mimeType: "audio/wav" },
  { type: "resource_link", uri: "file:///a", name: "a" },
  { type: "resource", resource: { uri: "file:///b", text: "b" } },
  { type: "resource", resource: { uri: "file:///c", blob: "AAAA" } },
  { type: "of tomorrow", value: { deep: [1] } }
]

describe("content", () => {
  it.scoped("of every kind arrives as it was sent, with metadata, and frozen", () =>
    Effect.gen(function*() {
      const result = { content: every, _meta: { cost: 1 }, structuredContent: { a: 1 } }
      const a = yield* Kit.server("a", [answering(result)])
      const { call } = (yield* Kit.toolset<unknown, never, McpProtocol.CallToolResult>([a], {
        output: ToolOutput.raw
      })).for()
      const done = yield* succeeded(call("a__x"))
      assert.deepStrictEqual(done.output as unknown, result)
      assert.deepStrictEqual(done.result._meta, { cost: 1 })
      assert.isFalse(done.isError)
      assert.isTrue(Object.isFrozen(done.result) && Object.isFrozen(done.result.content[6]))
      assert.strictEqual(done.customData, undefined)
      assert.strictEqual(done.tool.name, "a__x")
    }))

  it.scoped("is a list, or a single part alone, or nothing", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [
        answering({ content: [text("a")] }, {}, "one"),
        answering({ content: [text("a"), text("b")] }, {}, "two"),
        answering({ content: [] }, {}, "none")
      ])
      const { call } = (yield* Kit.toolset([a])).for()
      const output = ToolOutput.make({ single: "unwrap" })
      const of = (name: string) =>
        Effect.all([
          Effect.map(succeeded(call(name)), (_) => _.output as unknown),
          Effect.map(succeeded(call(name, {}, { output })), (_) => _.output as unknown)
        ])
      assert.deepStrictEqual(yield* of("a__one"), [[text("a")], text("a")])
      assert.deepStrictEqual(yield* of("a__two"), [[text("a"), text("b")], [text("a"), text("b")]])
      assert.deepStrictEqual(yield* of("a__none"), [[], []])
    }))

  it.scoped("with structure: as the call wants it, else its server, else the toolset, else in the place of its text", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: [answering(weather)], b: [answering(weather)] })
      const json = { type: "json", value: { celsius: 12 } }
      const ofCall = (
        options: Options,
        name: string,
        output?: ToolOutput.ToolOutput<unknown>
      ) =>
        Effect.flatMap(
          Kit.toolset(all, options),
          (_) => Effect.map(succeeded(_.for().call(name, {}, { output })), (_) => _.output as unknown)
        )
      assert.deepStrictEqual(yield* ofCall({}, "a__x"), [json])
      const settled: Options = {
        output: ToolOutput.make({ structured: "ignore" }),
        servers: { b: { output: ToolOutput.text } }
      }
      assert.deepStrictEqual(yield* ofCall(settled, "a__x"), weather.content)
      assert.deepStrictEqual(yield* ofCall(settled, "b__x"), `{"celsius":12}`)
      assert.deepStrictEqual(yield* ofCall(settled, "b__x", ToolOutput.make({ structured: "prefer" })), [json])
      assert.deepStrictEqual(yield* ofCall(settled, "b__x", ToolOutput.of("mine", () => 1)), 1)
    }))

  it.scoped("by each preset", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [answering(weather), answering({ content: every }, {}, "every")])
      const { call } = (yield* Kit.toolset([a])).for()
      const { openAiAgents } = ToolOutput
      const presets: ReadonlyArray<readonly [ToolOutput.ToolOutput<unknown>, unknown]> = [
        [ToolOutput.raw, weather],
        [ToolOutput.text, `{"celsius":12}`],
        [openAiAgents(), { type: "text", text: `{"celsius":12}` }],
        [openAiAgents({ useStructuredContent: true }), `{"celsius":12}`],
        [ToolOutput.ohMyPi, [text(`{"celsius":12}`)]],
        [ToolOutput.uiPath, weather.content],
        [ToolOutput.pydanticAi, { celsius: 12 }]
      ]
      for (const [output, expected] of presets) {
        assert.deepStrictEqual(
          (yield* succeeded(call("a__x", "", { output }))).output as unknown,
          expected,
          output.name
        )
        yield* succeeded(call("a__every", "", { output }))
      }
      const { output } = yield* succeeded(call("a__x", "", { output: ToolOutput.fastMcp }))
      assert.deepStrictEqual((output as ToolOutput.FastMcpResult).data, { celsius: 12 })
    }))

  it.scoped("that a conversion of one's own throws on is a defect, and the call has run once", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const broken = new Error("broken")
      const output = ToolOutput.of("broken", () => {
        throw broken
      })
      const { call } = (yield* Kit.toolset([a])).for()
      for (const failure of [undefined, "propagate", () => "text"] as const) {
        const exit = yield* Effect.exit(call("a__x", "", { output, failure }))
        assert(Exit.isFailure(exit))
        assert.deepStrictEqual([...Cause.defects(exit.cause)], [broken])
      }
      assert.strictEqual((yield* a.calls).length, 3)
    }))
})

describe("a tool that says it has failed", () => {
  const failing = { content: [text("no such city")], isError: true, structuredContent: { wrong: true } }

  it.scoped("has a result, whatever its output schema says", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [answering(failing, celsius)])
      const { call } = (yield* Kit.toolset([a])).for()
      const done = yield* succeeded(call("a__x"))
      assert.deepStrictEqual([done.isError, told(done)], [true, "no such city"])
    }))

  it.scoped("has failed, where that is wished: by the toolset, its server or the call", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: [answering(failing)], b: [answering(failing)] })
      const { call } = (yield* Kit.toolset(all, { onToolError: "fail", servers: { b: { onToolError: "value" } } }))
        .for()
      const { error, text } = yield* failed(call("a__x"))
      assert(error._tag === "ToolFailed")
      assert.deepStrictEqual([error.executed, error.tool, error.server], ["yes", "x", "a"])
      assert.deepStrictEqual(error.result, failing)
      assert.include(text, "no such city")
      assert.isTrue((yield* succeeded(call("b__x"))).isError)
      assert.isTrue((yield* succeeded(call("a__x", "", { onToolError: "value" }))).isError)
      assert.strictEqual(yield* ending(call("b__x", "", { onToolError: "fail" })), "Failure ToolFailed")
      assert.strictEqual((yield* all[0]!.calls).length, 2)
    }))
})

describe("an output schema", () => {
  it.scoped("that fits lets the result through", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [answering(weather, celsius)])
      assert.strictEqual(yield* ending((yield* Kit.toolset([a])).for().call("a__x")), `{"celsius":12}`)
    }))

  const unfit: ReadonlyArray<readonly [string, object, string]> = [
    ["does not fit", { content: [], structuredContent: { celsius: "12" } }, "structuredContent.celsius"],
    ["lacks a field", { content: [text("12")], structuredContent: {} }, "structuredContent.celsius: is missing"],
    ["is not there", { content: [text("12")] }, "structuredContent: is missing"]
  ]
  for (const [what, result, problem] of unfit) {
    it.scoped(`of which the content ${what}: OutputInvalid with the result, executed, never again, and no other tool`, () =>
      Effect.gen(function*() {
        const a = yield* Kit.server("a", [
          answering(result, { ...celsius, annotations: { readOnlyHint: true, idempotentHint: true } }),
          "y"
        ], { config: { trusted: true } })
        const { call } = (yield* Kit.toolset([a])).for()
        const { error, text, tool } = yield* failed(call("a__x", "", { replay: "always" }))
        assert(error._tag === "OutputInvalid")
        assert.strictEqual(problemsOf(error).slice(0, problem.length), problem)
        assert.deepStrictEqual(error.result, result)
        assert.deepStrictEqual([error.executed, error.tool, tool?.name], ["yes", "x", "a__x"])
        assert.include(text, "Do not call it again")
        yield* Kit.pass(60_000, 10_000)
        assert.deepStrictEqual(yield* a.calls, ["x"])
        assert.strictEqual(yield* ending(call("a__y")), "a y")
        assert.strictEqual((yield* a.server.stats).opened, 1)
      }))
  }

  it.scoped("is not looked at where that is wished", () =>
    Effect.gen(function*() {
      const wrong = { content: [text("12")], structuredContent: { celsius: "12" } }
      const all = yield* Kit.servers({ a: [answering(wrong, celsius)], b: [answering(wrong, celsius)] })
      const { call } = (yield* Kit.toolset(all, { servers: { b: { validateOutput: false } } })).for()
      assert.strictEqual(yield* ending(call("a__x")), "Failure OutputInvalid")
      assert.strictEqual(yield* ending(call("b__x")), "12")
      const off = (yield* Kit.toolset(all, { validateOutput: false, servers: { b: { validateOutput: true } } })).for()
      assert.strictEqual(yield* ending(off.call("a__x")), "12")
      assert.strictEqual(yield* ending(off.call("b__x")), "Failure OutputInvalid")
    }))

  it.scoped("that can't be decided lets the result through, with a line for those who look for it", () =>
    Effect.gen(function*() {
      const away = { outputSchema: { type: "object", properties: { celsius: { $ref: "https://example.com/s" } } } }
      const a = yield* Kit.server("a", [answering(weather, away)])
      const { call } = (yield* Kit.toolset([a])).for()
      const lines: Array<Kit.Line> = []
      yield* Effect.provide(succeeded(call("a__x")), Kit.noting(lines))
      const said = lines.filter((_) => _.text.includes("was not checked"))
      assert.deepStrictEqual(said.map((_) => [_.level, _.server]), [["DEBUG", "a"]])
    }))

  it.live("with a bomb in it costs bounded time", () =>
    Effect.scoped(Effect.gen(function*() {
      const bomb = {
        outputSchema: { type: "object", properties: { s: { type: "string", pattern: "^(a+)+(b|c*)*$" } } }
      }
      const again = {
        outputSchema: { type: "object", properties: { s: { type: "string", pattern: "^((a|a)*)*\\1$" } } }
      }
      const result = { content: [], structuredContent: { s: `${"a".repeat(100_000)}!` } }
      const a = yield* Kit.server("a", [answering(result, bomb), answering(result, again, "y")])
      const { call } = (yield* Kit.toolset([a])).for()
      const began = processorMillis()
      assert.match(yield* ending(call("a__x")), /^(Success|Failure OutputInvalid)$/)
      assert.match(yield* ending(call("a__y")), /^(Success|Failure OutputInvalid)$/)
      assert.isBelow(processorMillis() - began, 5000)
    })))

  it.scoped("without an end refers to itself and is decided all the same", () =>
    Effect.gen(function*() {
      const loop = { outputSchema: { $ref: "#" } }
      const tree = { outputSchema: { type: "object", properties: { next: { $ref: "#" } }, required: ["v"] } }
      const content: ReadonlyArray<unknown> = []
      const a = yield* Kit.server("a", [
        answering({ content, structuredContent: {} }, { outputSchema: { type: "object", allOf: [loop.outputSchema] } }),
        answering({ content, structuredContent: { v: 1, next: { v: 1, next: {} } } }, tree, "y")
      ])
      const { call } = (yield* Kit.toolset([a])).for()
      assert.match(yield* ending(call("a__x")), /^(Success|Failure OutputInvalid)$/)
      assert.include(problemsOf((yield* failed(call("a__y"))).error), "structuredContent.next.next")
    }))
})

describe("data of the application", () => {
  it.scoped("is taken from a result, and can't harm the call that has run", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [answering({ content: [text("a")], _meta: { cost: 3 } })])
      const seen: Array<unknown> = []
      const good = (yield* Kit.toolset([a], {
        extract: (result, call) => {
          seen.push(call)
          return result._meta?.cost
        }
      })).for()
      assert.strictEqual((yield* succeeded(good.call("a__x", { q: 1 }))).customData, 3)
      assert.deepStrictEqual(seen, [{ server: "a", tool: "x", name: "a__x", arguments: { q: 1 } }])
      const lines: Array<Kit.Line> = []
      const bad = (yield* Kit.toolset([a], {
        extract: () => {
          throw new Error("secret")
        }
      })).for()
      const done = yield* Effect.provide(succeeded(bad.call("a__x")), Kit.noting(lines))
      assert.deepStrictEqual([told(done), done.customData], ["a", undefined])
      const said = lines.filter((_) => _.level === "ERROR")
      assert.deepStrictEqual(said.map((_) => _.server), ["a"])
      assert.notInclude(said[0]!.text, "secret")
      assert.strictEqual((yield* a.calls).length, 2)
    }))

  it.scoped("is not asked for of a call that has failed", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [answering({ content: [] }, celsius)])
      let asked = 0
      const { call } = (yield* Kit.toolset([a], { extract: () => asked++ })).for()
      yield* failed(call("a__x"))
      assert.strictEqual(asked, 0)
    }))
})
