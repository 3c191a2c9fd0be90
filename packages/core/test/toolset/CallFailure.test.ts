/**
 * What a call that has failed gives, and what never becomes a text for a model.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpError, ToolApproval, ToolFailure, ToolFilter, ToolNaming, Toolset } from "@mcp-runtime/core"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Context, Effect, Exit, Fiber } from "effect"
import * as Asking from "./asking.js"
import { ending, failed, type Options, pendingOf, schema, succeeded } from "./calling.js"
import * as Kit from "./kit.js"

const broken: Kit.Given = {
  name: "x",
  call: () => Effect.fail(new RpcError({ code: -32000, message: "it is broken" }))
}

const said = (text: string): ToolFailure.ToolFailure => ToolFailure.constant(text)

describe("a failure", () => {
  it.scoped("is told as the call wants it, else its server, else the toolset, else explained", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: [broken], b: [broken] })
      const textOf = (name: string, options: Options, failure?: ToolFailure.ToolFailure) =>
        Effect.flatMap(
          Kit.toolset(all, options),
          (_) => Effect.map(failed(_.for().call(name, "", { failure })), (_) => _.text)
        )
      assert.include(yield* textOf("a__x", {}), "Its server answered with error -32000: it is broken.")
      const settled: Options = { failure: said("toolset"), servers: { b: { failure: said("server") } } }
      assert.strictEqual(yield* textOf("a__x", settled), "toolset")
      assert.strictEqual(yield* textOf("b__x", settled), "server")
      assert.strictEqual(yield* textOf("b__x", settled, said("call")), "call")
      assert.include(yield* textOf("a__x", {}, ToolFailure.openAiAgents), "Please try again. Error: it is broken")
    }))

  it.scoped("has the tool, the error, and the names of the call", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [broken])
      const calls: Array<unknown> = []
      const { call } = (yield* Kit.toolset([a], {
        failure: (error, call) => {
          calls.push([error._tag, call])
          return "text"
        }
      })).for()
      const failure = yield* failed(call("a__x"))
      assert.deepStrictEqual([failure.tool?.id, failure.text, failure.error._tag], ["a/x", "text", "RemoteError"])
      const none = yield* failed(call("a__none"))
      assert.strictEqual(none.tool, undefined)
      assert.strictEqual(
        none.error.message,
        `toolset: tools/call: there is no tool "a__none": it is not among the tools that may be used; to do: list the tools anew`
      )
      const identity = yield* failed(call({ server: "a", tool: "none" }))
      assert.include(identity.error.message, `MCP server "a": tools/call: there is no tool "none"`)
      const sdk = yield* failed(call("a__none", {}, { failure: ToolFailure.openAiAgents }))
      assert.include(sdk.text, `Error invoking MCP tool a__none: there is no tool "a__none"`)
      yield* failed(call("a__x", "{"))
      assert.deepStrictEqual(calls, [
        ["RemoteError", { server: "a", tool: "x", name: "a__x" }],
        ["ToolNotFound", { server: "<toolset>", tool: "a__none", name: "a__none" }],
        ["ToolNotFound", { server: "a", tool: "a/none", name: "a/none" }],
        ["ArgumentsInvalid", { server: "a", tool: "x", name: "a__x" }]
      ])
    }))

  it.scoped("that is to be propagated is the error, wherever it happens", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [broken, { name: "n", inputSchema: schema({}, ["n"]) }])
      const { call } = (yield* Toolset.make(yield* Kit.connections([a]), { failure: "propagate" })).for()
      assert.strictEqual(yield* ending(call("a__x")), "error RemoteError")
      assert.strictEqual(yield* ending(call("a__none")), "error ToolNotFound")
      assert.strictEqual(yield* ending(call("a__x", "{")), "error ArgumentsInvalid")
      assert.strictEqual(yield* ending(call("a__n")), "error ArgumentsInvalid")
      assert.strictEqual(yield* ending(call("a__x", "", { failure: said("text") })), "Failure RemoteError")
    }))

  it.scoped("of a name that no tool has is told as the toolset wants it, whatever its servers are called", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["x"], tools: ["x"] })
      const { call } = (yield* Kit.toolset(all, {
        failure: said("toolset"),
        servers: { tools: { failure: said("server") }, "": { failure: said("no server") } }
      })).for()
      const textOf = (tool: string | ToolNaming.ToolIdentity) => Effect.map(failed(call(tool)), (_) => _.text)
      assert.strictEqual(yield* textOf("no_such_tool"), "toolset")
      // By identity it is known whose tool was asked for.
      assert.strictEqual(yield* textOf({ server: "a", tool: "y" }), "toolset")
      assert.strictEqual(yield* textOf({ server: "tools", tool: "y" }), "server")
    }))

  it.scoped("is the error of one server, where it is to be propagated for that one", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: [broken], b: [broken] })
      const { call } = (yield* Toolset.make(yield* Kit.connections(all), {
        servers: { b: { failure: "propagate" } }
      })).for()
      assert.strictEqual(yield* ending(call("a__x")), "Failure RemoteError")
      assert.strictEqual(yield* ending(call("b__x")), "error RemoteError")
      assert.strictEqual(yield* ending(call("c__x")), "Failure ToolNotFound")
      assert.strictEqual(yield* ending(call("a__x", "", { failure: "propagate" })), "error RemoteError")
    }))

  it.scoped("of a call that was approved is told as that of any call", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [broken])
      const { approve, call } = (yield* Toolset.make(yield* Kit.connections([a]), {
        approval: ToolApproval.always
      })).for()
      const pending = pendingOf(call("a__x"))
      assert.strictEqual(yield* ending(approve(yield* pending)), "Failure RemoteError")
      assert.strictEqual(yield* ending(approve(yield* pending, { failure: "propagate" })), "error RemoteError")
      assert.strictEqual((yield* failed(approve(yield* pending, { failure: said("text") }))).text, "text")
    }))

  it.scoped("may become an error of the application, for a call, a server, or all", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: [broken], b: [broken] })
      const { call } = (yield* Toolset.make(yield* Kit.connections(all), {
        failure: () => Effect.fail("toolset" as const),
        servers: { b: { failure: () => Effect.fail("server" as const) } }
      })).for()
      const errorOf = <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.map(Effect.exit(call), (_) => Kit.failure(_))
      assert.strictEqual(yield* errorOf(call("a__x")), "toolset")
      assert.strictEqual(yield* errorOf(call("b__x")), "server")
      assert.strictEqual(yield* errorOf(call("b__x", "", { failure: () => Effect.fail("call" as const) })), "call")
      assert.strictEqual(yield* ending(call("b__x", "", { failure: said("text") })), "Failure RemoteError")
    }))

  it.scoped("is made a text with the services of the application", () =>
    Effect.gen(function*() {
      class Words extends Context.Tag("Words")<Words, string>() {}
      const a = yield* Kit.server("a", [broken])
      const { call } = (yield* Kit.toolset([a], { failure: () => Words })).for()
      const { text } = yield* Effect.provideService(failed(call("a__x")), Words, "in words")
      assert.strictEqual(text, "in words")
    }))

  it.scoped("of making the text is a failure of the call, and a defect stays one", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [broken])
      const { call } = (yield* Kit.toolset([a])).for()
      const own = new McpError.LimitExceeded({ server: "a", operation: "x", executed: "no", limit: "l", max: 1 })
      assert.deepStrictEqual(yield* Effect.exit(call("a__x", "", { failure: () => Effect.fail(own) })), Exit.fail(own))
      const bug = new Error("bug")
      const thrown = () => {
        throw bug
      }
      for (const name of ["a__x", "a__none"]) {
        for (const failure of [thrown, () => Effect.die(bug)]) {
          const exit = yield* Effect.exit(call(name, "", { failure }))
          assert(Exit.isFailure(exit))
          assert.deepStrictEqual([...Cause.defects(exit.cause)], [bug])
        }
      }
      assert.strictEqual(yield* ending(call("a__x", "", { failure: () => Effect.interrupt })), "interrupted")
    }))

  it.scoped("whose text never comes is explained after 5 seconds, with a line in the log", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [broken])
      const { call } = (yield* Kit.toolset([a], { failure: () => Effect.never })).for()
      const calling = yield* Kit.begun(Asking.logged(failed(call("a__x"))))
      yield* Kit.pass(4999, 500)
      assert.isFalse(yield* Kit.isDone(calling))
      yield* Kit.pass(1)
      const { lines, value: { text } } = yield* Effect.flatten(Fiber.join(calling))
      assert.include(text, "Its server answered with error -32000: it is broken.")
      assert.deepStrictEqual(lines.filter((_) => _.level === "Error"), [{
        level: "Error",
        server: "a",
        tool: "x",
        text:
          `MCP server "a": the failure function of tool "x" took longer than 5000 ms, so the model is told the usual`
      }])
    }))

  it.scoped("of one server is told by what is settled for it, whatever server an error names", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["x"], b: ["x"] })
      const foreign = new McpError.LimitExceeded({ server: "b", operation: "x", executed: "no", limit: "l", max: 1 })
      const { call } = (yield* Kit.toolset(all, {
        around: () => Effect.fail(foreign),
        servers: { a: { failure: (_, { server }) => `a: ${server}` }, b: { failure: said("b") } }
      })).for()
      assert.strictEqual((yield* failed(call("a__x"))).text, "a: a")
    }))
})

describe("what the caller has to settle is never a text", () => {
  const texts = { failure: said("text") }

  it.scoped("that approval is needed", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { call } = (yield* Kit.toolset([a], { ...texts, approval: ToolApproval.always })).for()
      assert.strictEqual(yield* ending(call("a__x", "", texts)), "error ApprovalRequired")
    }))

  it.scoped("that a filter was not told who asks", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const toolset = yield* Kit.toolset([a], { ...texts, filter: ToolFilter.dynamic(() => true) })
      assert.strictEqual(yield* ending(toolset.for(undefined as never).call("a__x", "", texts)), "error RequestMissing")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("that names clash", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["x"], b: ["x"] })
      const { call } = (yield* Kit.toolset(all, { ...texts, naming: ToolNaming.raw })).for()
      assert.strictEqual(yield* ending(call("x", "", texts)), "error NamesClash")
      assert.strictEqual(yield* ending(call("z", "", texts)), "error NamesClash")
    }))
})

it.scoped("a failing server does not hurt the calls of another", () =>
  Effect.gen(function*() {
    const all = yield* Kit.servers({ a: [broken], b: ["y"] })
    const { call } = (yield* Kit.toolset(all)).for()
    const ends = yield* Effect.forEach(
      Array.from({ length: 40 }, (_, n) => n % 2 === 0 ? "a__x" : "b__y"),
      (name) => ending(call(name)),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(ends.filter((_) => _ === "Failure RemoteError").length, 20)
    assert.strictEqual(ends.filter((_) => _ === "b y").length, 20)
    yield* succeeded(call("b__y"))
  }))
