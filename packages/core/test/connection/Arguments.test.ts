/**
 * What is checked before anything is sent: the arguments that the last listing calls required.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, type McpProtocol } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Duration, Effect, Exit, Fiber, TestClock } from "effect"
import { config, countOf, errorOf, http, interruptNow, macrotask, policy, replays, run, tagOf } from "./replayKit.js"

const withRequired = (required: unknown, name = "t"): ScriptedServer.ScriptedTool => ({
  name,
  inputSchema: { type: "object", required } as McpProtocol.JsonObject
})

const listed = (tool: ScriptedServer.ScriptedTool, options: Partial<ScriptedServer.Options> = {}) =>
  Effect.gen(function*() {
    const server = yield* ScriptedServer.make({ tools: [tool], ...options })
    const connection = yield* McpConnection.fromChannel(server.channel)
    yield* McpConnection.listTools(connection)
    return { server, connection }
  })

const call = (connection: McpConnection.McpConnection, args?: unknown, name = "t") =>
  run(McpConnection.callTool(connection, { name, ...(args !== undefined && { arguments: args as never }) }))

describe("arguments", () => {
  it.scoped("all that are missing are named, none reaches the server, nothing is counted", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* listed(withRequired(["a", "b", "c"]))
      const error = errorOf(yield* call(connection, { b: 1 }))
      if (error._tag !== "ArgumentsInvalid") return assert.fail(error._tag)
      assert.deepStrictEqual(error.problems.map((_) => _.field), ["arguments.a", "arguments.c"])
      assert.deepStrictEqual([error.tool, error.executed, error.operation], ["t", "no", "tools/call"])
      assert.strictEqual(yield* countOf(server, "tools/call"), 0)
      assert.strictEqual(yield* countOf(server, "tools/list"), 1)
      assert.strictEqual(yield* replays(connection), 0)
      assert.strictEqual(yield* TestClock.currentTimeMillis, 0)
    }))

  it.scoped("no arguments at all are an empty object", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* listed(withRequired(["a"]))
      assert.strictEqual(tagOf(yield* call(connection)), "ArgumentsInvalid")
      assert.strictEqual(yield* countOf(server, "tools/call"), 0)
    }))

  for (const args of [[], "text", 1, true, null, [{ a: 1 }]]) {
    it.scoped(`${JSON.stringify(args)} is not an object`, () =>
      Effect.gen(function*() {
        const { connection, server } = yield* listed(withRequired(["a"]))
        assert.strictEqual(tagOf(yield* call(connection, args)), "ArgumentsInvalid")
        assert.strictEqual(yield* countOf(server, "tools/call"), 0)
      }))
  }

  for (const [name, value] of [["null", null], ["false", false], ["0", 0], ["\"\"", ""], ["{}", {}]] as const) {
    it.scoped(`${name} is there`, () =>
      Effect.gen(function*() {
        const { connection } = yield* listed(withRequired(["a"]))
        assert.strictEqual(tagOf(yield* call(connection, { a: value })), "ok")
      }))
  }

  it.scoped("undefined is not there: JSON has no word for it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* listed(withRequired(["a"]))
      assert.strictEqual(tagOf(yield* call(connection, { a: undefined })), "ArgumentsInvalid")
      assert.strictEqual(yield* countOf(server, "tools/call"), 0)
    }))

  it.scoped("only own keys count", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* listed(withRequired(["toString", "__proto__", "a"]))
      const error = errorOf(yield* call(connection, Object.create({ a: 1 })))
      if (error._tag !== "ArgumentsInvalid") return assert.fail(error._tag)
      assert.strictEqual(error.problems.length, 3)
      assert.strictEqual(yield* countOf(server, "tools/call"), 0)
      const own: unknown = JSON.parse("{\"toString\":1,\"__proto__\":2,\"a\":3}")
      assert.strictEqual(tagOf(yield* call(connection, own)), "ok")
      assert.strictEqual(
        tagOf(yield* call(connection, Object.assign(Object.create(null), { a: 1 }))),
        "ArgumentsInvalid"
      )
    }))

  for (const required of [undefined, "a", 5, null, {}, [], [1, null, {}, ["a"]]]) {
    it.scoped(`required: ${JSON.stringify(required)} asks for nothing`, () =>
      Effect.gen(function*() {
        const { connection } = yield* listed(withRequired(required))
        assert.strictEqual(tagOf(yield* call(connection, {})), "ok")
        assert.strictEqual(tagOf(yield* call(connection)), "ok")
      }))
  }

  it.scoped("the texts in a list of other things do count", () =>
    Effect.gen(function*() {
      const { connection } = yield* listed(withRequired([1, null, "a"]))
      const error = errorOf(yield* call(connection, {}))
      assert.deepStrictEqual(error._tag === "ArgumentsInvalid" && error.problems.map((_) => _.field), ["arguments.a"])
    }))

  it.scoped("an unknown tool, and any tool before the first listing, are sent as they are", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [withRequired(["a"])] })
      const connection = yield* McpConnection.fromChannel(server.channel)
      assert.strictEqual(tagOf(yield* call(connection, {})), "ok")
      yield* McpConnection.listTools(connection)
      assert.strictEqual(tagOf(yield* call(connection, {}, "__proto__")), "RemoteError", "the server knows of none")
      assert.strictEqual(tagOf(yield* call(connection, {}, "constructor")), "RemoteError")
      assert.strictEqual(yield* countOf(server, "tools/call"), 3)
    }))

  it.scoped("a long and hostile name of an argument is shown short and without its URL's secrets", () =>
    Effect.gen(function*() {
      const key = `https://u:secret@h/p?token=secret\u0000${"x".repeat(10_000)}`
      const { connection } = yield* listed(withRequired([key]))
      const error = errorOf(yield* call(connection, {}))
      assert.notInclude(error.message, "secret")
      assert.isBelow(error.message.length, 1000)
    }))

  it.scoped("a closed connection that has listed before refuses without connecting", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* listed(withRequired(["a"]))
      yield* connection.close
      assert.strictEqual(tagOf(yield* call(connection, {})), "ArgumentsInvalid")
      assert.strictEqual((yield* connection.state)._tag, "Closed")
      assert.strictEqual((yield* server.stats).attempts, 1)
    }))

  it.scoped("an idle one, too, and it stays idle", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: config({ lifetime: { idle: Duration.seconds(1) } }),
        tools: [withRequired(["a"])]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      yield* McpConnection.listTools(connection)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* connection.state)._tag, "Idle")
      assert.strictEqual(tagOf(yield* call(connection, {})), "ArgumentsInvalid")
      yield* macrotask
      assert.strictEqual((yield* connection.state)._tag, "Idle")
      assert.strictEqual((yield* server.stats).attempts, 1)
    }))

  it.scoped("while the server can't be reached", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* listed(withRequired(["a"]), {
        start: (n) => n > 1 ? Effect.never : Effect.void
      })
      yield* server.disconnect()
      yield* macrotask
      assert.strictEqual((yield* connection.state)._tag, "Reconnecting")
      assert.strictEqual(
        errorOf(yield* Effect.exit(Effect.asVoid(McpConnection.callTool(connection, { name: "t", arguments: {} }))))
          ._tag,
        "ArgumentsInvalid"
      )
    }))
})

describe("arguments and a list that may be out of date", () => {
  /** Tool `t` requires `a` at first, then what `now` says. */
  const changing = (options: Partial<ScriptedServer.Options> = {}) =>
    Effect.gen(function*() {
      const script = { required: ["a"], listing: Effect.void as ReturnType<ScriptedServer.Handler> }
      const server = yield* ScriptedServer.make({
        handlers: {
          "tools/list": () =>
            Effect.map(Effect.suspend(() => script.listing), () => ({
              tools: [{ name: "t", inputSchema: { type: "object", required: script.required } }]
            })),
          "tools/call": () => Effect.succeed({ content: [] })
        },
        ...options
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      yield* McpConnection.listTools(connection)
      const change = (required: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          script.required = [...required]
          yield* server.notify("notifications/tools/list_changed")
          yield* macrotask
        })
      return { script, server, connection, change }
    })

  it.scoped("is listed once before a call is refused, and the new list decides", () =>
    Effect.gen(function*() {
      const { change, connection, server } = yield* changing()
      yield* change([])
      assert.strictEqual(tagOf(yield* call(connection, {})), "ok")
      assert.strictEqual(yield* countOf(server, "tools/list"), 2)
      yield* change(["b"])
      assert.strictEqual(tagOf(yield* call(connection, {})), "ok", "what is not refused is sent as it is")
      assert.strictEqual(yield* countOf(server, "tools/list"), 2)
    }))

  it.scoped("the refusal is believed when the new list says the same, and then costs nothing", () =>
    Effect.gen(function*() {
      const { change, connection, server } = yield* changing()
      yield* change(["b"])
      const error = errorOf(yield* call(connection, {}))
      assert.deepStrictEqual(error._tag === "ArgumentsInvalid" && error.problems.map((_) => _.field), ["arguments.b"])
      assert.strictEqual(tagOf(yield* call(connection, {})), "ArgumentsInvalid")
      assert.strictEqual(yield* countOf(server, "tools/list"), 2)
      assert.strictEqual(yield* countOf(server, "tools/call"), 0)
    }))

  it.scoped("a server that changes its tools with each listing is asked once per call", () =>
    Effect.gen(function*() {
      const { change, connection, script, server } = yield* changing()
      yield* change(["b"])
      script.listing = Effect.suspend(() => server.notify("notifications/tools/list_changed"))
      assert.strictEqual(tagOf(yield* call(connection, {})), "ArgumentsInvalid")
      yield* macrotask
      assert.strictEqual(yield* countOf(server, "tools/list"), 2)
      assert.strictEqual(tagOf(yield* call(connection, {})), "ArgumentsInvalid")
      assert.strictEqual(yield* countOf(server, "tools/list"), 3)
    }))

  it.scoped("the listing counts against the deadlines of the call", () =>
    Effect.gen(function*() {
      for (const options of [{ timeout: 1000 }, { maxTotal: 1000 }]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const { change, connection, script } = yield* changing()
          yield* change([])
          script.listing = Effect.never
          const before = yield* TestClock.currentTimeMillis
          const exit = yield* run(
            McpConnection.callTool(connection, { name: "t", arguments: {} }, {
              ...options,
              retry: policy({ replays: 0 })
            })
          )
          assert.isTrue(Exit.isFailure(exit))
          assert.strictEqual((yield* TestClock.currentTimeMillis) - before, 1000)
        }))
      }
    }))

  it.scoped("a listing that takes its time leaves the call what is left of maxTotal", () =>
    Effect.gen(function*() {
      const { change, connection, script } = yield* changing({})
      yield* change([])
      script.listing = Effect.sleep(600)
      const hanging = yield* Effect.fork(run(
        McpConnection.callTool(connection, { name: "t", arguments: {} }, { maxTotal: 1000 })
      ))
      yield* TestClock.adjust(600)
      assert.strictEqual(tagOf(yield* Fiber.join(hanging)), "ok")
    }))

  it.scoped("a policy without replays is one for the listing, too", () =>
    Effect.gen(function*() {
      const { change, connection, script, server } = yield* changing()
      yield* change([])
      script.listing = Effect.fail(http(503))
      yield* run(
        McpConnection.callTool(connection, { name: "t", arguments: {} }, { retry: policy({ replays: 0 }) })
      )
      assert.strictEqual(yield* countOf(server, "tools/list"), 2)
    }))

  it.scoped("interrupted in the listing: over at once, nothing is called", () =>
    Effect.gen(function*() {
      const { change, connection, script, server } = yield* changing()
      yield* change([])
      script.listing = Effect.never
      const fiber = yield* Effect.fork(McpConnection.callTool(connection, { name: "t", arguments: {} }))
      yield* server.awaitStats((_) => _.handling === 1)
      assert.isTrue(Exit.isInterrupted(yield* interruptNow(fiber)))
      assert.strictEqual(yield* countOf(server, "notifications/cancelled"), 1)
      assert.strictEqual(yield* countOf(server, "tools/call"), 0)
    }))
})
