import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError } from "@mcp-runtime/core"
import { ScriptedServer } from "@mcp-runtime/testing"
import { Effect, Fiber, Stream, TestClock } from "effect"

const expired = new McpError.SessionExpired({ server: "scripted", operation: "x", executed: "no", status: 404 })

describe("smoke", () => {
  it.scoped("first use connects, close, use again", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const connection = yield* McpConnection.fromChannel(server.channel)
      assert.strictEqual((yield* connection.state)._tag, "Idle")
      const result = yield* McpConnection.callTool(connection, { name: "echo", arguments: { a: 1 } })
      assert.strictEqual(result.content.length, 1)
      assert.strictEqual((yield* connection.state)._tag, "Ready")
      yield* connection.close
      assert.strictEqual((yield* connection.state)._tag, "Closed")
      assert.deepStrictEqual((yield* server.stats).live, [])
      yield* McpConnection.callTool(connection, { name: "echo" })
      assert.strictEqual((yield* connection.stats).sessions, 2)
    }))
  it.scoped("many calls meet an expired session", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        tools: [{
          name: "t",
          call: (_, request) => request.session === 1 ? Effect.fail(expired) : Effect.succeed("ok")
        }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      yield* connection.awaitReady
      const results = yield* Effect.all(
        Array.from({ length: 20 }, () => McpConnection.callTool(connection, { name: "t" })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.length, 20)
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 2)
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 40)
    }))
  it.scoped("reconnects by its ladder", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        start: (n) =>
          n > 1 && n < 5
            ? Effect.fail(
              new McpError.ConnectFailed({
                server: "scripted",
                operation: "open",
                executed: "no",
                reason: "Refused",
                url: "http://x",
                detail: "refused"
              })
            )
            : Effect.void
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const states: Array<string> = []
      yield* Effect.fork(Stream.runForEach(connection.changes, (s) => Effect.sync(() => states.push(s._tag))))
      yield* connection.awaitReady
      yield* server.disconnect()
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "echo" }))
      yield* TestClock.adjust("500 millis")
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("2 second")
      yield* Fiber.join(call)
      console.log(states.join(" "))
      assert.strictEqual((yield* connection.state)._tag, "Ready")
    }))
})
