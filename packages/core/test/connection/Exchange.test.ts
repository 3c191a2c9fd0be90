/**
 * What happens to calls while the application exchanges the session for another one.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection } from "@mcp-runtime/core"
import { ScriptedServer } from "@mcp-runtime/testing"
import { Effect, Exit, Fiber } from "effect"

const serial = McpConfig.decode({ name: "scripted", transport: "stdio", command: "x", concurrency: "serial" })

const slowInTheFirst: ScriptedServer.Options = {
  tools: [{ name: "t", call: (_, { session }) => session === 1 ? Effect.never : Effect.succeed(`session ${session}`) }]
}

describe("concurrency", () => {
  it.scoped("by default 50 calls are under way at once, and a serial connection has one", () =>
    Effect.gen(function*() {
      for (const [config, expected] of [[{}, 50], [{ concurrency: "serial" }, 1]] as const) {
        const decoded = yield* McpConfig.decodeUnknown({
          name: "scripted",
          transport: "stdio",
          command: "x",
          ...config
        })
        const server = yield* ScriptedServer.make({ config: decoded, tools: [{ name: "t", call: () => Effect.never }] })
        const connection = yield* McpConnection.fromChannel(server.channel)
        yield* connection.awaitReady
        const call = Effect.asVoid(McpConnection.callTool(connection, { name: "t" }))
        const calls = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.fork(call))
        yield* server.awaitStats(({ handling }) => handling === expected)
        assert.strictEqual((yield* server.receivedOf("tools/call")).length, expected)
        yield* Fiber.interruptAll(calls)
      }
    }))
})

describe("reconnect", () => {
  it.scoped("a call that waits for its turn has it in the next session; one that runs has an unknown outcome", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ ...slowInTheFirst, config: yield* serial })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = McpConnection.callTool(connection, { name: "t" }, { replay: "never" })
      const running = yield* Effect.fork(Effect.flip(Effect.asVoid(call)))
      yield* server.awaitReceived("tools/call")
      const waiting = yield* Effect.fork(Effect.replicateEffect(call, 3, { concurrency: 3 }))
      yield* Effect.yieldNow()
      yield* connection.reconnect
      assert.strictEqual((yield* Fiber.join(running))._tag, "OutcomeUnknown")
      const texts = (yield* Fiber.join(waiting)).flatMap((_) => _.content.map((_) => "text" in _ ? _.text : ""))
      assert.deepStrictEqual(texts, ["session 2", "session 2", "session 2"])
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 4)
      assert.strictEqual((yield* connection.stats).replays, 0)
    }))

  it.scoped("close is not that: the call that waits for its turn fails, not executed", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ ...slowInTheFirst, config: yield* serial })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = Effect.exit(Effect.asVoid(McpConnection.callTool(connection, { name: "t" })))
      yield* Effect.fork(call)
      yield* server.awaitReceived("tools/call")
      const waiting = yield* Effect.fork(call)
      yield* Effect.yieldNow()
      yield* connection.close
      const exit = yield* Fiber.join(waiting)
      assert(Exit.isFailure(exit) && exit.cause._tag === "Fail")
      assert.deepStrictEqual([exit.cause.error._tag, exit.cause.error.executed], ["ConnectionClosed", "no"])
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 1)
    }))

  it.scoped("an operation that fails as if its session were closed, while it is not, ends", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const connection = yield* McpConnection.fromChannel(server.channel)
      const other = yield* McpConnection.fromChannel((yield* ScriptedServer.make()).channel)
      const closed = yield* other.session
      yield* other.close
      const error = yield* Effect.flip(connection.perform({ method: "x", send: () => closed.request("x") }))
      assert.deepStrictEqual([error._tag, error.executed], ["ConnectionClosed", "no"])
    }))
})
