import { assert, describe, it } from "@effect/vitest"
import { McpConnection, type McpProtocol } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Fiber, TestClock, Tracer } from "effect"
import { recorder } from "../telemetry/kit.js"

const metaOf = (server: ScriptedServer.ScriptedServer, method: string) =>
  Effect.map(server.receivedOf(method), (all) => {
    const params = (all.at(-1)!.message as { readonly params?: McpProtocol.JsonObject }).params
    return withoutToken(params)
  })

/** What is sent along beside the token of progress. */
const withoutToken = (params: McpProtocol.JsonObject | undefined) => {
  const { progressToken: _, ...meta } = (params?._meta ?? {}) as McpProtocol.JsonObject
  return meta
}

const connected = (options?: McpConnection.ConnectionOptions) =>
  Effect.gen(function*() {
    const server = yield* ScriptedServer.make({ capabilities: { tools: {}, resources: {} } })
    return { server, connection: yield* McpConnection.fromChannel(server.channel, options) }
  })

const outside = Tracer.externalSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: true })

describe("the trace context", () => {
  it.scoped("a call in a span tells the server the trace, and the span of the call itself where spans are made", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connected()
      yield* McpConnection.callTool(connection, { name: "echo" }).pipe(Effect.withParentSpan(outside))
      assert.deepStrictEqual(yield* metaOf(server, "tools/call"), {
        traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`
      })

      const { spans, tracer } = recorder({
        spanId: (number) => `${number}`.repeat(16),
        traceId: "c".repeat(32),
        sampled: false
      })
      yield* McpConnection.readResource(connection, "file:///a").pipe(
        Effect.ignore,
        Effect.withSpan("the application's"),
        Effect.withTracer(tracer)
      )
      assert.deepStrictEqual(spans.map((_) => _.name), ["the application's", "resources/read"])
      assert.deepStrictEqual(yield* metaOf(server, "resources/read"), {
        traceparent: `00-${"c".repeat(32)}-${"2".repeat(16)}-00`
      })
    }))

  it.scoped("without a span nothing is said; what the application says itself is kept", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connected()
      yield* McpConnection.callTool(connection, { name: "echo" })
      assert.deepStrictEqual(yield* metaOf(server, "tools/call"), {})
      yield* McpConnection.callTool(connection, { name: "echo" }, { meta: { a: 1, traceparent: "mine" } }).pipe(
        Effect.withParentSpan(outside)
      )
      assert.deepStrictEqual(yield* metaOf(server, "tools/call"), { a: 1, traceparent: "mine" })
      yield* McpConnection.callTool(connection, { name: "echo" }, { meta: { a: 1 } }).pipe(
        Effect.withParentSpan(outside)
      )
      assert.deepStrictEqual(Object.keys(yield* metaOf(server, "tools/call")), ["a", "traceparent"])
    }))

  it.scoped("ids that are no trace context are not sent, nor is anything where it is not wished", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connected()
      const strange = Tracer.externalSpan({ traceId: "x\r\nEvil: 1", spanId: "1" })
      yield* McpConnection.callTool(connection, { name: "echo" }).pipe(Effect.withParentSpan(strange))
      assert.deepStrictEqual(yield* metaOf(server, "tools/call"), {})

      const silent = yield* connected({ traceContext: false })
      yield* McpConnection.callTool(silent.connection, { name: "echo" }).pipe(Effect.withParentSpan(outside))
      assert.deepStrictEqual(yield* metaOf(silent.server, "tools/call"), {})
    }))

  it.scoped("a call that is sent again is part of the same trace", () =>
    Effect.gen(function*() {
      let calls = 0
      const server = yield* ScriptedServer.make({
        handlers: {
          "tools/call": () =>
            ++calls === 1
              ? Effect.succeed(ScriptedServer.silence)
              : Effect.succeed({ content: [] })
        }
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(
        McpConnection.callTool(connection, { name: "echo" }, { replay: "always" }).pipe(Effect.withParentSpan(outside))
      )
      yield* server.awaitReceived("tools/call")
      yield* server.disconnect()
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(call)
      const sent = yield* server.receivedOf("tools/call")
      assert.strictEqual(sent.length, 2)
      for (const { message } of sent) {
        const { params } = message as { readonly params?: McpProtocol.JsonObject }
        assert.deepStrictEqual(withoutToken(params), { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` })
      }
    }))
})
