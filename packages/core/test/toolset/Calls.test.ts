/**
 * Where a call goes, and that it goes to the tool as its server has it now.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpConnection, McpError, type McpProtocol, ToolApproval, ToolFilter, ToolNaming } from "@mcp-runtime/core"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Either, Exit, Fiber, TestClock } from "effect"
import * as Pending from "../../src/internal/toolset/pending.js"
import { over } from "../manager/kit.js"
import { storeOf } from "../manager/stores.js"
import {
  end,
  ending,
  failed,
  type Options,
  pendingOf,
  problemsOf,
  schema,
  sent,
  sentArguments,
  succeeded,
  told
} from "./calling.js"
import * as Kit from "./kit.js"

/** The server says that it has other tools, and nobody has read them yet. */
const changes = (server: Kit.Server, ...tools: ReadonlyArray<Kit.Given>) =>
  Effect.suspend(() => {
    server.tools = tools
    return Effect.zipRight(server.server.notify(Kit.toolsChanged), Kit.settled)
  })

describe("a call goes", () => {
  it.scoped("to the tool with this name, or to the one that is told by server and tool", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["x", "b__x"], a__b: ["x"], "weird/name": ["x/y", "%2F"] })
      const { call, list } = (yield* Kit.toolset(all)).for()
      const { tools } = yield* list
      assert.strictEqual(new Set(tools.map((_) => _.name)).size, 5)
      for (const { id, name, server, tool } of tools) {
        const byName = yield* succeeded(call(name))
        assert.strictEqual(told(byName), `${server} ${tool}`)
        assert.strictEqual(byName.tool.id, id)
        assert.strictEqual(told(yield* call({ server, tool })), `${server} ${tool}`)
      }
    }))

  it.scoped("nowhere under names that are none", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["x"], b: ["y"] })
      const { call, list } = (yield* Kit.toolset(all)).for()
      const { tools: [x] } = yield* list
      const names = ["", "x", "a/x", x!.id.toUpperCase(), "A__x", "constructor", "__proto__", "a__x ", "a__y"]
      for (const name of names) assert.strictEqual(yield* ending(call(name)), "Failure ToolNotFound", name)
      for (const identity of [{ server: "a", tool: "y" }, { server: "", tool: "" }, { server: "c", tool: "x" }]) {
        assert.strictEqual(yield* ending(call(identity)), "Failure ToolNotFound")
      }
      const { text } = yield* failed(call("n".repeat(100_000)))
      assert.isBelow(text.length, 1000)
      assert.deepStrictEqual([...(yield* all[0]!.calls), ...(yield* all[1]!.calls)], [])
      // Lists that are known are not read for a name that a model made up.
      assert.deepStrictEqual([yield* all[0]!.listings, yield* all[1]!.listings], [1, 1])
    }))

  it.scoped("nowhere for what is no name and tells no tool, as a model or a store may give it: no defect", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x", ""])
      for (const source of [yield* Kit.connections([a]), yield* over([a])]) {
        const { approve, call, reject } = (yield* Toolset.make(source)).for()
        for (const wrong of [undefined, null, 5, {}, [], { server: "a" }, { server: "a", tool: 1 }, { tool: "x" }]) {
          const { error } = yield* failed(call(wrong as never))
          assert.strictEqual(error._tag, "ToolNotFound", JSON.stringify(wrong))
          for (const answer of [Effect.asVoid(approve(wrong as never)), Effect.asVoid(reject(wrong as never))]) {
            assert.strictEqual(Kit.tagOf(yield* Effect.exit(answer)), "ConfigInvalid", JSON.stringify(wrong))
          }
        }
      }
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("nowhere for a server that is not of this toolset", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["x"], b: ["y"] })
      const { call } = (yield* Kit.toolset(all, { only: ["a"] })).for()
      assert.strictEqual(yield* ending(call("a__x")), "a x")
      assert.strictEqual(yield* ending(call("b__y")), "Failure ToolNotFound")
      assert.strictEqual(yield* ending(call({ server: "b", tool: "y" })), "Failure ToolNotFound")
    }))

  it.scoped("nowhere for such a server at once: it is neither opened nor waited for, by a call or an approval", () =>
    Effect.gen(function*() {
      const [a, b] = (yield* Kit.servers({ a: ["x"], b: ["y"] })) as [Kit.Server, Kit.Server]
      b.way = "hangs at start"
      for (const source of [yield* over([a, b]), yield* Kit.connections([a, b])]) {
        const { approve, call, list } = (yield* Toolset.make(source, { only: ["a"] })).for()
        yield* list
        const { opened } = yield* b.server.stats
        const calling = yield* Kit.begun(ending(call({ server: "b", tool: "y" })))
        const pending = yield* Pending.make({ toolset: "tools", server: "b", tool: "y", name: "b__y", arguments: {} })
        const approving = yield* Kit.begun(ending(approve(pending)))
        assert.isTrue((yield* Kit.isDone(calling)) && (yield* Kit.isDone(approving)))
        assert.deepStrictEqual(yield* Fiber.join(calling), Exit.succeed("Failure ToolNotFound"))
        assert.deepStrictEqual(yield* Fiber.join(approving), Exit.succeed("Failure ToolNotFound"))
        const { opened: after } = yield* b.server.stats
        assert.deepStrictEqual([after, yield* b.listings], [opened, 0])
      }
    }))

  it.scoped("of a tool that its server lists twice to the first, decided about as the first, by name and by identity", () =>
    Effect.gen(function*() {
      const reads: Kit.Given = { name: "rm", annotations: { readOnlyHint: true } }
      const writes: Kit.Given = { name: "rm", inputSchema: schema({ path: {} }, ["path"]) }
      for (const tools of [[reads, writes], [writes, reads]]) {
        const a = yield* Kit.server("a", tools, { config: { trusted: true } })
        const hint = (tools[0] as { readonly annotations?: object }).annotations !== undefined
        const { approve, call, list } = (yield* Kit.toolset([a], { approval: ToolApproval.always })).for()
        const { tools: [first] } = yield* list
        const args = { path: "p" }
        const byName = yield* pendingOf(call(first!.name, args))
        const byIdentity = yield* pendingOf(call({ server: "a", tool: "rm" }, args))
        assert.deepStrictEqual([byName.name, byIdentity.name], ["a__rm", "a__rm"])
        assert.strictEqual(byName.toolFingerprint, byIdentity.toolFingerprint)
        for (const pending of [byName, byIdentity]) {
          const { tool } = yield* succeeded(approve(pending))
          assert.strictEqual(tool.annotations?.readOnlyHint === true, hint)
        }
        // What is decided is decided of the first.
        const free = (yield* Kit.toolset([a], { filter: ToolFilter.readOnly })).for()
        for (const asked of ["a__rm", { server: "a", tool: "rm" }]) {
          assert.strictEqual(yield* ending(free.call(asked, args)), hint ? "a rm" : "Failure ToolNotFound")
        }
      }
    }))

  it.scoped("the way that a copy of a manager or a connection goes, or one with other functions", () =>
    Effect.gen(function*() {
      const [a, b] = (yield* Kit.servers({ a: ["x"], b: ["x"] })) as [Kit.Server, Kit.Server]
      const { manager, toolset } = yield* Kit.managed([a, b])
      const { connection } = manager
      const swapped = { ...manager, connection: (name: string) => connection(name === "a" ? "b" : "a") }
      const copied = yield* Toolset.make(swapped)
      assert.strictEqual(yield* ending(copied.for().call("a__x")), "b x")
      assert.strictEqual(yield* ending(toolset.for().call("a__x")), "a x")
      assert.strictEqual(yield* ending((yield* Toolset.make({ ...manager })).for().call("a__x")), "a x")

      Object.assign(manager, { connection: swapped.connection })
      const replaced = (yield* Toolset.make(manager)).for()
      assert.strictEqual(yield* ending(replaced.call("a__x")), "b x")
      assert.strictEqual(yield* Kit.listed(replaced), "a__x b__x")
      assert.strictEqual(yield* ending(replaced.call("a__x")), "b x")

      const [mine, other] = (yield* Kit.connections([a, b])) as [
        McpConnection.McpConnection,
        McpConnection.McpConnection
      ]
      yield* Effect.zip(mine.awaitReady, other.awaitReady)
      const shown = { ...mine, state: other.state, catalog: other.catalog }
      const overCopies = (yield* Toolset.make([shown])).for()
      b.tools = ["y"]
      assert.deepStrictEqual(yield* Kit.listed(overCopies), "a__y")
      assert.strictEqual(yield* ending(overCopies.call("a__y")), "Failure RemoteError")
      yield* mine.catalog.tools.get
      Object.assign(mine, { catalog: other.catalog })
      assert.deepStrictEqual(yield* Kit.listed((yield* Toolset.make([mine])).for()), "a__y")
    }))

  it.scoped("to the same tool by identity when its name has changed, and the old name is none", () =>
    Effect.gen(function*() {
      const [a, b] = (yield* Kit.servers({ a: ["x"], b: ["y"] })) as [Kit.Server, Kit.Server]
      const { toolset } = yield* Kit.managed([a, b], { naming: ToolNaming.prefixed, reserved: ["a__x"] })
      const { list } = toolset.for()
      const [first] = (yield* list).tools
      assert.notStrictEqual(first!.name, "a__x")
      assert.strictEqual(yield* ending(toolset.for().call("a__x")), "Failure ToolNotFound")
      assert.strictEqual(yield* ending(toolset.for().call(first!.name)), "a x")
      assert.strictEqual(yield* ending(toolset.for().call({ server: "a", tool: "x" })), "a x")
      yield* a.offers("z")
      assert.strictEqual(yield* ending(toolset.for().call(first!.name)), "Failure ToolNotFound")
      assert.strictEqual(yield* ending(toolset.for().call({ server: "a", tool: "x" })), "Failure ToolNotFound")
      assert.strictEqual(yield* ending(toolset.for().call("a__z")), "a z")
    }))

  it.scoped("by raw names fails with the clash, as the list does, unless filters leave one of each", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["x", "y"], b: ["x"] })
      const clashing = (yield* Kit.toolset(all, { naming: ToolNaming.raw })).for()
      assert.strictEqual(yield* ending(clashing.call("x")), "error NamesClash")
      assert.strictEqual(yield* ending(clashing.call({ server: "a", tool: "x" })), "error NamesClash")
      const filtered = (yield* Kit.toolset(all, {
        naming: ToolNaming.raw,
        servers: { b: { filter: ToolFilter.block("x") } }
      })).for()
      assert.strictEqual(yield* ending(filtered.call("x")), "a x")
      assert.strictEqual(yield* ending(filtered.call({ server: "a", tool: "x" })), "a x")
      assert.strictEqual(yield* ending(filtered.call({ server: "b", tool: "x" })), "Failure ToolNotFound")
    }))

  it.scoped("nowhere for a tool that is filtered out, by any of its names, and as if there were none", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x", "y"])
      const { call, list } = (yield* Kit.toolset([a], { filter: ToolFilter.block("x") })).for()
      assert.strictEqual(yield* Kit.listed({ list }), "a__y")
      const answer = (name: string | ToolNaming.ToolIdentity, as: string) =>
        Effect.map(failed(call(name, "{")), ({ error, text, tool }) => ({
          text: text.replaceAll(as, "NAME"),
          tool,
          error: { ...error, tool: "", message: error.message.replaceAll(as, "NAME") }
        }))
      const hidden = yield* answer("a__x", "a__x")
      assert.deepStrictEqual(hidden, yield* answer("a__none", "a__none"))
      for (const name of ["x", "a/x", "mcp_a__x"]) {
        assert.deepStrictEqual(yield* answer(name, name), hidden)
      }
      assert.deepStrictEqual(
        { ...(yield* answer({ server: "a", tool: "x" }, "x")).error, message: "" },
        { ...(yield* answer({ server: "a", tool: "none" }, "none")).error, message: "" }
      )
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("by what the filter says at the time of the call, and for who asks", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      let shown = true
      const filter = ToolFilter.dynamic((_tool, { agent }: ToolFilter.FilterContext<string>) =>
        agent === "slow" ? Effect.delay(Effect.sync(() => shown), "1 second") : shown && agent !== "guest"
      )
      const toolset = yield* Kit.toolset([a], { filter })
      const of = (agent: string) => toolset.for({ agent, runContext: 1 })
      assert.strictEqual(yield* Kit.listed(of("admin")), "a__x")
      assert.strictEqual(yield* ending(of("admin").call("a__x")), "a x")
      assert.strictEqual(yield* ending(of("guest").call("a__x")), "Failure ToolNotFound")
      const slow = yield* Kit.begun(of("slow").call("a__x"))
      shown = false
      yield* TestClock.adjust("1 second")
      assert.strictEqual(end(yield* Fiber.join(slow)), "Failure ToolNotFound")
      assert.strictEqual(yield* ending(of("admin").call("a__x")), "Failure ToolNotFound")
      shown = true
      assert.strictEqual(yield* ending(of("admin").call({ server: "a", tool: "x" })), "a x")
      const nobody = toolset.for(undefined as never)
      assert.strictEqual(yield* ending(nobody.call("a__x")), "error RequestMissing")
      assert.strictEqual((yield* a.calls).length, 2)
    }))
})

describe("the truth", () => {
  const grown = { name: "x", inputSchema: schema({ now: {} }, ["now"]) }

  for (const over of ["connections", "manager"] as const) {
    const made = (all: ReadonlyArray<Kit.Server>, options?: Options) =>
      over === "manager"
        ? Effect.map(Kit.managed(all, options), (_) => _.toolset)
        : Kit.toolset(all, options)

    it.scoped(`a tool that has vanished: one listing, then ToolNotFound, nothing is sent (${over})`, () =>
      Effect.gen(function*() {
        const a = yield* Kit.server("a", ["x"])
        const { call, list } = (yield* made([a])).for()
        yield* list
        yield* changes(a, "y")
        const { error, text } = yield* failed(call("a__x"))
        assert.strictEqual(error._tag, "ToolNotFound")
        assert.include(text, "It has not run")
        assert.deepStrictEqual([yield* a.listings, yield* a.calls], [2, []])
        assert.strictEqual(yield* ending(call("a__x")), "Failure ToolNotFound")
        assert.strictEqual(yield* ending(call("a__y")), "a y")
        assert.strictEqual(yield* a.listings, 2)
      }))

    it.scoped(`required arguments that are new: one listing, then ArgumentsInvalid, nothing is sent (${over})`, () =>
      Effect.gen(function*() {
        const a = yield* Kit.server("a", ["x"])
        const { call, list } = (yield* made([a])).for()
        yield* list
        yield* changes(a, grown)
        const { error } = yield* failed(call("a__x", "{}"))
        assert.strictEqual(problemsOf(error), "arguments.now: is required")
        assert.deepStrictEqual([yield* a.listings, yield* a.calls], [2, []])
      }))

    it.scoped(`required arguments that are no more: one listing, then it runs (${over})`, () =>
      Effect.gen(function*() {
        const a = yield* Kit.server("a", [grown])
        const { call, list } = (yield* made([a])).for()
        yield* list
        yield* changes(a, "x")
        assert.strictEqual(yield* ending(call("a__x", "{}")), "a x")
        assert.deepStrictEqual([yield* a.listings, yield* a.calls], [2, ["x"]])
      }))

    const decided: ReadonlyArray<readonly [string, Options, string]> = [
      ["approval is asked for", { approval: ToolApproval.destructive }, "error ApprovalRequired"],
      ["the filter decides", { filter: ToolFilter.readOnly }, "Failure ToolNotFound"],
      ["the output is checked", {}, "Failure OutputInvalid"]
    ]
    for (const [what, options, expected] of decided) {
      it.scoped(`${what} by what the tool is now (${over})`, () =>
        Effect.gen(function*() {
          const a = yield* Kit.server("a", [{ name: "x", annotations: { readOnlyHint: true } }], {
            config: { trusted: true }
          })
          const { call } = (yield* made([a], options)).for()
          assert.strictEqual(yield* ending(call("a__x")), "a x")
          yield* changes(a, { name: "x", outputSchema: { type: "object" }, call: () => Effect.succeed("text") })
          assert.strictEqual(yield* ending(call("a__x")), expected)
          assert.strictEqual((yield* a.calls).length, expected.endsWith("OutputInvalid") ? 2 : 1)
        }))
    }
  }

  it.scoped("arguments that are no object are refused before a list is read again", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { call, list } = (yield* Kit.toolset([a])).for()
      yield* list
      yield* changes(a, "x")
      assert.strictEqual(yield* ending(call("a__x", "{")), "Failure ArgumentsInvalid")
      assert.strictEqual(yield* a.listings, 1)
    }))

  it.scoped("nulls are taken back by the schema that they were written for", () =>
    Effect.gen(function*() {
      const before = {
        name: "x",
        inputSchema: schema({ city: { type: "string" }, days: { type: "integer" } }, ["city"])
      }
      const a = yield* Kit.server("a", [before])
      const { call, list } = (yield* Kit.toolset([a], { schemas: "nullable" })).for()
      assert.isTrue((yield* list).tools[0]!.strict)
      yield* changes(a, { name: "x", inputSchema: { type: "object", patternProperties: { "^c": {} } } })
      yield* succeeded(call("a__x", `{"city": "Oslo", "days": null}`))
      assert.deepStrictEqual(yield* sentArguments(a), [{ city: "Oslo" }])
    }))

  it.scoped("is read for each call where nothing is to be remembered, and once for it", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const source = yield* Kit.connections([a], { catalog: { cache: "off" } })
      const { call } = (yield* Toolset.make(source)).for()
      for (const listings of [2, 3, 4]) {
        assert.strictEqual(yield* ending(call("a__x")), "a x")
        assert.isAtMost(yield* a.listings, listings)
      }
    }))

  it.scoped("a list that can't be read again keeps no tool from being called", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { call, list } = (yield* Kit.toolset([a])).for()
      yield* list
      a.listing = Effect.fail(new RpcError({ code: -32000, message: "no list" }))
      yield* changes(a, "x")
      assert.strictEqual(yield* ending(call("a__x")), "a x")
    }))

  it.scoped("of a list that never comes is not waited for longer than the call may take", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { call, list } = (yield* Kit.toolset([a])).for()
      yield* list
      a.listing = Effect.never
      yield* changes(a, "x")
      const calling = yield* Kit.begun(call("a__x", "", { maxTotal: "2 seconds" }))
      yield* Kit.pass(2000, 500)
      const exit = yield* Fiber.join(calling)
      assert.strictEqual(end(exit), "Failure RequestTimeout")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("what comes before a call counts against its maxTotal: a filter, a list, a policy, metadata", () =>
    Effect.gen(function*() {
      const slow = Effect.as(Effect.sleep("1 second"), true)
      const late = Effect.as(Effect.sleep("1 second"), false)
      const who = { agent: 1, runContext: 1 }
      const a = yield* Kit.server("a", [{ name: "x", call: () => Effect.never }])
      const { approve, call, list } = (yield* Kit.toolset([a], {
        filter: ToolFilter.dynamic(() => slow),
        approval: Either.getOrThrow(ToolApproval.make(({ arguments: { ask } }) => ask === true || late)),
        meta: () => Effect.as(Effect.sleep("1 second"), { from: "meta" })
      })).for(who)
      const listing = yield* Kit.begun(list)
      yield* Kit.pass(1000)
      yield* Effect.flatten(Fiber.join(listing))
      a.listing = Effect.sleep("1 second")
      yield* changes(a, { name: "x", call: () => Effect.never })
      // A second each for the filter, the list, the filter again, and the policy.
      const early = yield* Kit.begun(ending(call("a__x", "", { maxTotal: "2500 millis" })))
      yield* Kit.pass(2500, 250)
      assert.strictEqual(yield* Effect.flatten(Fiber.join(early)), "Failure RequestTimeout")
      assert.deepStrictEqual(yield* a.calls, [])
      // The list is read by now: a second each for the filter, the policy and the metadata, and two for the server.
      yield* Kit.pass(2000, 250)
      const made = yield* Kit.begun(ending(call("a__x", "", { maxTotal: "5 seconds" })))
      yield* Kit.pass(4999, 250)
      assert.isFalse(yield* Kit.isDone(made))
      yield* Kit.pass(1)
      assert.strictEqual(yield* Effect.flatten(Fiber.join(made)), "Failure OutcomeUnknown")
      assert.deepStrictEqual(yield* a.calls, ["x"])
      const asking = yield* Kit.begun(pendingOf(call("a__x", { ask: true })))
      yield* Kit.pass(1000, 250)
      const approved = yield* Kit.begun(
        ending(approve(yield* Effect.flatten(Fiber.join(asking)), { maxTotal: "500 millis" }))
      )
      yield* Kit.pass(500, 250)
      assert.strictEqual(yield* Effect.flatten(Fiber.join(approved)), "Failure RequestTimeout")
      assert.deepStrictEqual(yield* a.calls, ["x"])
    }))

  const answers = [
    ["MCP error -32602: Tool x not found", true],
    ["MCP error -32602: Tool x disabled", true],
    ["Unknown tool: x", true],
    ["MCP error -32602: Input validation error: Invalid arguments for tool x", false],
    ["file not found", false]
  ] as const
  for (const [text, isUnknown] of answers) {
    it.scoped(`a result that says "${text}" is told as it is, and the tools are ${isUnknown ? "" : "not "}read again`, () =>
      Effect.gen(function*() {
        const says = { content: [{ type: "text" as const, text }], isError: true }
        const a = yield* Kit.server("a", [{ name: "x", call: () => Effect.succeed(says) }, "y"])
        const { call, list } = (yield* Kit.toolset([a])).for()
        assert.strictEqual((yield* list).tools.length, 2)
        const done = yield* succeeded(call("a__x"))
        assert.isTrue(done.isError)
        assert.strictEqual(told(done), text)
        a.tools = ["y"]
        assert.deepStrictEqual((yield* list).tools.map((_) => _.tool), isUnknown ? ["y"] : ["x", "y"])
        assert.strictEqual(yield* a.listings, isUnknown ? 2 : 1)
      }))
  }

  for (const code of [-32601, -32602]) {
    it.scoped(`a tool that was taken back without a word (${code}): one listing, then ToolNotFound`, () =>
      Effect.gen(function*() {
        const gone = { name: "x", call: () => Effect.fail(new RpcError({ code, message: "no such tool" })) }
        const a = yield* Kit.server("a", [gone, "y"])
        const { call, list } = (yield* Kit.toolset([a])).for()
        yield* list
        a.tools = ["y"]
        const { error } = yield* failed(call("a__x"))
        assert.strictEqual(error._tag, "ToolNotFound")
        assert.deepStrictEqual([yield* a.listings, yield* a.calls], [2, ["x"]])
        assert.strictEqual(yield* ending(call("a__x")), "Failure ToolNotFound")
        assert.deepStrictEqual([yield* a.listings, yield* a.calls], [2, ["x"]])
      }))
  }

  it.scoped("an existing tool that refuses arguments says so, after at most one listing for each call", () =>
    Effect.gen(function*() {
      const refusing = (code: number) => ({
        name: `x${-code}`,
        call: () => Effect.fail(new RpcError({ code, message: "not these" }))
      })
      const a = yield* Kit.server("a", [refusing(-32602), refusing(-32000)])
      let retries = 0
      const { call } = (yield* Kit.toolset([a], {
        around: (_, next) => Effect.retry(next(), { times: retries })
      })).for()
      const { error, text } = yield* failed(call("a__x32602"))
      assert.strictEqual(error._tag, "RemoteError")
      assert.include(text, "not these")
      assert.strictEqual(yield* a.listings, 2)
      retries = 3
      yield* failed(call("a__x32602"))
      assert.strictEqual(yield* a.listings, 3)
      yield* failed(call("a__x32000"))
      assert.strictEqual(yield* a.listings, 3)
      assert.strictEqual((yield* a.calls).length, 9)
    }))

  it.scoped("where even that list can't be read, the server's own words are the truth", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [
        { name: "x", call: () => Effect.fail(new RpcError({ code: -32602, message: "not these" })) }
      ])
      const { call, list } = (yield* Kit.toolset([a])).for()
      yield* list
      a.listing = Effect.fail(new RpcError({ code: -32000, message: "no list" }))
      assert.strictEqual(yield* ending(call("a__x")), "Failure RemoteError")
    }))
})

describe("a server that is not there just now", () => {
  it.scoped("reconnects: the call waits, and runs once, after one listing", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { toolset } = yield* Kit.managed([a])
      const { call, list } = toolset.for()
      yield* list
      a.way = "hangs at start"
      yield* a.server.disconnect()
      yield* Kit.settled
      const calling = yield* Kit.begun(call("a__x"))
      assert.isFalse(yield* Kit.isDone(calling))
      a.way = "works"
      yield* Kit.pass(60_000, 500)
      assert.strictEqual(end(yield* Fiber.join(calling)), "a x")
      assert.deepStrictEqual(yield* a.calls, ["x"])
    }))

  it.scoped("and comes back without the tool: ToolNotFound", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { toolset } = yield* Kit.managed([a])
      const { call, list } = toolset.for()
      yield* list
      a.way = "refused"
      yield* a.server.disconnect()
      yield* Kit.settled
      const calling = yield* Kit.begun(call("a__x"))
      a.tools = ["y"]
      a.way = "works"
      yield* Kit.pass(60_000, 500)
      assert.strictEqual(end(yield* Fiber.join(calling)), "Failure ToolNotFound")
      assert.isAtMost((yield* a.calls).length, 1)
    }))

  it.scoped("is gone for good: the model is told, the others are not hurt", () =>
    Effect.gen(function*() {
      const [a, b] = (yield* Kit.servers({ a: ["x"], b: ["y"] })) as [Kit.Server, Kit.Server]
      const { manager, toolset } = yield* Kit.managed([a, b])
      const { call, list } = toolset.for()
      yield* list
      yield* manager.disconnect("a")
      yield* Kit.settled
      a.way = "refused"
      const calling = yield* Kit.begun(call("a__x"))
      assert.strictEqual(yield* ending(call("b__y")), "b y")
      yield* Kit.pass(600_000, 5000)
      assert.match(end(yield* Fiber.join(calling)), /^Failure /)
    }))
})

describe("deferred tools", () => {
  const deferred = (
    stored: Parameters<typeof storeOf>[0][string],
    tools: ReadonlyArray<Kit.Given>,
    options?: Options
  ) =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", tools, { delay: 5000, config: { trusted: true } })
      const made = yield* Effect.fork(Kit.managed([a], options, { store: storeOf({ a: stored }).layer }))
      yield* Kit.pass(250)
      const { toolset } = yield* Fiber.join(made)
      return { a, toolset }
    })

  const after = <A, E, R>(call: Effect.Effect<Toolset.ToolResult<A>, E, R>) =>
    Effect.gen(function*() {
      const calling = yield* Kit.begun(call)
      assert.isFalse(yield* Kit.isDone(calling))
      yield* Kit.pass(5000, 500)
      return end(yield* Fiber.join(calling))
    })

  it.scoped("are called once their server is there, by one listing for all", () =>
    Effect.gen(function*() {
      const { a, toolset } = yield* deferred(["x"], ["x"])
      const { call, list } = toolset.for()
      const { tools: [x] } = yield* list
      assert.isTrue(x!.deferred)
      const others = yield* Effect.forEach([1, 2, 3], () => Kit.begun(call("a__x")))
      assert.strictEqual(yield* after(call(x!)), "a x")
      for (const other of others) assert.strictEqual(end(yield* Fiber.join(other)), "a x")
      assert.deepStrictEqual([yield* a.listings, (yield* a.calls).length], [1, 4])
      assert.strictEqual((yield* a.server.stats).attempts, 1)
      assert.isFalse((yield* list).tools[0]!.deferred)
    }))

  it.scoped("that are gone are ToolNotFound", () =>
    Effect.gen(function*() {
      const { a, toolset } = yield* deferred(["x"], ["y"])
      assert.strictEqual(yield* after(toolset.for().call("a__x")), "Failure ToolNotFound")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("are what their server says now: arguments, approval, output", () =>
    Effect.gen(function*() {
      const needs = { name: "x", inputSchema: schema({ n: {} }, ["n"]) }
      const more = yield* deferred(["x"], [needs])
      assert.strictEqual(yield* after(more.toolset.for().call("a__x")), "Failure ArgumentsInvalid")
      const less = yield* deferred([needs as McpProtocol.Tool], ["x"])
      assert.strictEqual(yield* after(less.toolset.for().call("a__x")), "a x")
      const harmful = yield* deferred([{ name: "x", annotations: { readOnlyHint: true } }], ["x"], {
        approval: ToolApproval.destructive
      })
      assert.strictEqual(yield* after(harmful.toolset.for().call("a__x")), "error ApprovalRequired")
      assert.deepStrictEqual(yield* harmful.a.calls, [])
    }))

  it.scoped("of a server that can't be reached say why, soon enough", () =>
    Effect.gen(function*() {
      const { a, toolset } = yield* deferred(["x"], ["x"])
      a.way = "hangs in initialize"
      const calling = yield* Kit.begun(toolset.for().call("a__x", "", { maxTotal: "3 seconds" }))
      yield* Kit.pass(3000, 500)
      assert.strictEqual(end(yield* Fiber.join(calling)), "Failure RequestTimeout")
      a.way = "refused"
      const again = yield* Kit.begun(toolset.for().call("a__x", ""))
      yield* Kit.pass(300_000, 5000)
      const exit = yield* Fiber.join(again)
      assert.match(end(exit), /^Failure (ConnectFailed|RequestTimeout|ConnectionClosed)$/)
      assert.deepStrictEqual(yield* a.calls, [])
    }))
})

it.scoped("a hundred calls at once over three servers each get their own answer", () =>
  Effect.gen(function*() {
    const echo = (args: McpProtocol.JsonObject) => Effect.as(Effect.sleep(`${Number(args.n) % 7} millis`), `${args.n}`)
    const all = yield* Kit.servers({
      a: [{ name: "echo", call: echo }],
      b: [{ name: "echo", call: echo }],
      c: [{ name: "echo", call: echo }]
    })
    const { call } = (yield* Kit.toolset(all)).for()
    const calling = yield* Kit.begun(
      Effect.forEach(
        Array.from({ length: 100 }, (_, n) => n),
        (n) => call({ server: "abc"[n % 3]!, tool: "echo" }, JSON.stringify({ n })),
        { concurrency: "unbounded" }
      )
    )
    yield* Kit.pass(100, 1)
    const results = yield* Effect.flatten(Fiber.join(calling))
    assert.deepStrictEqual(results.map(told), Array.from({ length: 100 }, (_, n) => `${n}`))
    const counts = yield* Effect.forEach(all, (_) => Effect.map(_.calls, (_) => _.length))
    assert.deepStrictEqual(counts, [34, 33, 33])
    assert.deepStrictEqual(yield* Effect.forEach(all, (_) => _.listings), [1, 1, 1])
  }))

it.scoped("what is wished of a call reaches its connection, and nothing of ours its server", () =>
  Effect.gen(function*() {
    const progressing: Kit.Given = {
      name: "progressing",
      call: (_, request, peer) => {
        const { progressToken } = request.params._meta as { readonly progressToken: string }
        return Effect.as(
          peer.notify("notifications/progress", { progressToken, progress: 1, total: 2 }),
          "done"
        )
      }
    }
    let failures = 1
    const flaky: Kit.Given = {
      name: "flaky",
      call: () =>
        Effect.suspend(() =>
          failures-- > 0
            ? Effect.fail(
              new McpError.ResponseLost({
                server: "a",
                operation: "tools/call",
                executed: "maybe",
                reason: "Unanswered",
                detail: "lost"
              })
            )
            : Effect.succeed("again")
        )
    }
    const hangs: Kit.Given = { name: "hangs", call: () => Effect.never }
    const a = yield* Kit.server("a", [progressing, flaky, hangs])
    const { call } = (yield* Kit.toolset([a])).for()

    const seen: Array<number> = []
    yield* succeeded(call("a__progressing", "", {
      onProgress: ({ progress }) => Effect.sync(() => void seen.push(progress)) as never,
      failure: "propagate",
      onToolError: "fail"
    }))
    assert.deepStrictEqual(Object.keys((yield* sent(a))[0]!).sort(), ["_meta", "arguments", "name"])
    assert.deepStrictEqual(yield* sentArguments(a), [{}])

    const idle = yield* Kit.begun(call("a__hangs", "", { timeout: "1 second" }))
    const total = yield* Kit.begun(call("a__hangs", "", { maxTotal: "2 seconds" }))
    yield* Kit.pass(1000, 500)
    assert.strictEqual(end(yield* Fiber.join(idle)), "Failure OutcomeUnknown")
    assert.isFalse(yield* Kit.isDone(total))
    yield* Kit.pass(1000, 500)
    assert.match(end(yield* Fiber.join(total)), /^Failure /)

    const never = yield* Kit.begun(call("a__flaky", "", { replay: "never" }))
    yield* Kit.pass(5000, 500)
    assert.strictEqual(end(yield* Fiber.join(never)), "Failure OutcomeUnknown")
    failures = 1
    const always = yield* Kit.begun(call("a__flaky", "", { replay: "always" }))
    yield* Kit.pass(5000, 500)
    assert.strictEqual(end(yield* Fiber.join(always)), "again")
  }))

it.scoped("a tool can be recorded, and called by what was recorded over another toolset", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", ["x"])
    const toolset = yield* Kit.toolset([a])
    const { tools: [x] } = yield* toolset.for().list
    const json = JSON.parse(JSON.stringify(Toolset.record(toolset, x!)))
    const other = yield* Kit.toolset([a], { naming: ToolNaming.raw })
    assert.strictEqual(yield* ending(other.for().call(json)), "a x")
  }))
