import { assert, describe, it } from "@effect/vitest"
import { type ClientHandlers, McpConnection, McpError, type McpProtocol } from "@mcp-runtime/core"
import { Deferred, Effect, Option, TestClock } from "effect"
import { connect, failure, forkExit, settled, stdio } from "../connection/kit.js"
import { attributesOf, endOf, inSpan, knowing, paths, recorder } from "./kit.js"

const trace = "0af7651916cd43dd8448eb211c80319c"
const parent = "b7ad6b7169203331"
const traceparent = `00-${trace}-${parent}-01`

/** A server in a traced program, whose questions are answered so. */
const asked = (
  handlers: ClientHandlers.Handlers,
  secrets: ReadonlyArray<string> = []
) =>
  Effect.gen(function*() {
    const { spans, tracer } = recorder()
    const all = yield* connect(stdio, {}, { handlers }, (_) => knowing(_, secrets)).pipe(
      Effect.withTracer(tracer)
    )
    yield* all.connection.awaitReady.pipe(Effect.withSpan("app"), Effect.withTracer(tracer))
    spans.length = 0
    return { ...all, spans, tracer }
  })

const answering = (answer: Effect.Effect<McpProtocol.JsonObject, unknown>): ClientHandlers.Handlers => ({
  requests: { "x/ask": () => answer }
})

const ok = Effect.succeed({})

describe("what a server asks", () => {
  it.scoped("is a span of kind server, in the trace that the server names", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(Effect.withSpan(ok, "mine")))
      yield* server.request("x/ask", { _meta: { traceparent, tracestate: "a=1" } }, { id: "question" })
      assert.deepStrictEqual(paths(spans), [`(${parent}) > x/ask`, `(${parent}) > x/ask > mine`])
      const [span] = spans
      assert.strictEqual(span!.kind, "server")
      assert.strictEqual(span!.traceId, trace)
      assert.isTrue(span!.sampled)
      assert.strictEqual(endOf(span!), "success")
      assert.deepStrictEqual(attributesOf(span!), {
        "mcp.method.name": "x/ask",
        "mcp.server.name": "scripted",
        "jsonrpc.request.id": "question"
      })
    }))

  it.scoped("without a trace it is a trace of its own, and no part of whoever has opened the session", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(ok))
      yield* server.request("x/ask")
      assert.deepStrictEqual(paths(spans), ["x/ask"])
    }))

  it.scoped("what is no trace context is ignored: the span is made, and has no parent", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(ok))
      const hostile: ReadonlyArray<unknown> = [
        `00-${"0".repeat(32)}-${parent}-01`,
        `00-${trace}-${"0".repeat(16)}-01`,
        `00-${trace.toUpperCase()}-${parent}-01`,
        `00-${trace}-${parent}-1`,
        `00-${trace}-${parent}`,
        `00-${trace}-${parent}-01-more`,
        `ff-${trace}-${parent}-01`,
        `0-${trace}-${parent}-01`,
        ` ${traceparent}`,
        `${traceparent}\n`,
        `${traceparent}\r\nEvil: 1`,
        `01-${trace}-${parent}-01-${"x".repeat(100_000)}`,
        "",
        12,
        null,
        [],
        { toString: "x" }
      ]
      for (const given of hostile) yield* server.request("x/ask", { _meta: { traceparent: given } as never })
      for (const _meta of [null, 1, "x", []]) yield* server.request("x/ask", { _meta } as never)
      assert.lengthOf(spans, hostile.length + 4)
      for (const [i, span] of spans.entries()) assert.isUndefined(span.parent, JSON.stringify(hostile[i])?.slice(0, 80))
    }))

  it.scoped("a later version may say more; one that is not sampled is not", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(ok))
      yield* server.request("x/ask", { _meta: { traceparent: `42-${trace}-${parent}-01-more` } })
      yield* server.request("x/ask", { _meta: { traceparent: `00-${trace}-${parent}-02` } })
      assert.deepStrictEqual(spans.map((_) => _.traceId), [trace, trace])
      assert.deepStrictEqual(spans.map((_) => _.sampled), [true, false])
    }))

  it.scoped("what is asked of the same server meanwhile is part of it, and its `tracestate` goes back with it", () =>
    Effect.gen(function*() {
      const answer: { with: Effect.Effect<McpProtocol.JsonObject, unknown> } = { with: ok }
      const { connection, server, spans } = yield* asked(answering(Effect.suspend(() => answer.with)))
      answer.with = Effect.as(McpConnection.callTool(connection, { name: "echo" }), {})
      yield* server.request("x/ask", { _meta: { traceparent, tracestate: "vendor=1,other=2", baggage: "user=me" } })
      const { params } = yield* server.awaitReceived("tools/call")
      const call = spans.find((_) => _.name === "tools/call echo")!
      assert.deepInclude(params._meta, {
        traceparent: `00-${trace}-${call.spanId}-01`,
        tracestate: "vendor=1,other=2"
      })
      assert.notProperty(params._meta, "baggage")
    }))

  it.scoped("a `tracestate` that is none goes nowhere", () =>
    Effect.gen(function*() {
      const answer: { with: Effect.Effect<McpProtocol.JsonObject, unknown> } = { with: ok }
      const { connection, server } = yield* asked(answering(Effect.suspend(() => answer.with)))
      answer.with = Effect.as(McpConnection.callTool(connection, { name: "echo" }), {})
      for (const tracestate of ["a=1\r\nEvil: 1", "ü=1", "x".repeat(513), "", 1, null, ["a=1"]]) {
        yield* server.request("x/ask", { _meta: { traceparent, tracestate } as never })
      }
      for (const { params } of yield* server.receivedOf("tools/call")) assert.notProperty(params._meta, "tracestate")
    }))

  it.scoped("a method without a handler, and a ping, get no span", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(ok))
      yield* Effect.exit(server.request("made/up", { _meta: { traceparent } }))
      yield* server.request("ping")
      assert.deepStrictEqual(spans, [])
    }))

  it.scoped("a long id is cut", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(ok))
      yield* server.request("x/ask", {}, { id: "i".repeat(10_000) })
      assert.isBelow(String(spans[0]!.attributes.get("jsonrpc.request.id")).length, 128)
    }))

  it.scoped("an id that is a secret shows as <redacted>", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(ok), ["swordfish"])
      yield* server.request("x/ask", {}, { id: "swordfish-1" })
      assert.strictEqual(spans[0]!.attributes.get("jsonrpc.request.id"), "<redacted>-1")
    }))

  it.scoped("a handler that fails or dies: the span says what the server was told", () =>
    Effect.gen(function*() {
      for (const answer of [Effect.fail("swordfish"), Effect.fail(new Error("swordfish")), Effect.die("swordfish")]) {
        const { server, spans } = yield* asked(answering(answer))
        yield* Effect.exit(server.request("x/ask"))
        assert.strictEqual(endOf(spans[0]!), "failure")
        assert.strictEqual(spans[0]!.attributes.get("error.type"), "-32603")
        assert.notInclude(JSON.stringify(attributesOf(spans[0]!)), "swordfish")
      }
    }))

  it.scoped("a handler that fails with the error of another server: nothing of it is in the span", () =>
    Effect.gen(function*() {
      const common = { server: "other", operation: "tools/call" } as const
      const errors = [
        new McpError.RemoteError({ ...common, executed: "maybe", code: -32001, reason: "swordfish", data: undefined }),
        new McpError.HttpError({ ...common, executed: "no", status: 503, body: "swordfish" })
      ]
      for (const error of errors) {
        const { server, spans } = yield* asked(answering(Effect.fail(error)))
        const told = failure(yield* Effect.exit(server.request("x/ask", {}, { id: 1 })))
        assert.strictEqual(told.code, -32603)
        assert.deepStrictEqual(attributesOf(spans[0]!), {
          "mcp.method.name": "x/ask",
          "mcp.server.name": "scripted",
          "jsonrpc.request.id": "1",
          "error.type": "-32603"
        })
      }
    }))

  it.scoped("an answer that is no object is a failure, as the server is told", () =>
    Effect.gen(function*() {
      const { server, spans } = yield* asked(answering(Effect.succeed("yes" as never)))
      const told = failure(yield* Effect.exit(server.request("x/ask")))
      assert.strictEqual(told.code, -32603)
      assert.strictEqual(endOf(spans[0]!), "failure")
      assert.strictEqual(spans[0]!.attributes.get("error.type"), "-32603")
    }))

  it.scoped("one that the server takes back, that takes too long, or whose session ends, ends as interrupted", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const hang = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
      const back = yield* asked(answering(hang))
      const asking = yield* Effect.fork(back.server.request("x/ask"))
      yield* Deferred.await(begun)
      yield* asking.interruptAsFork(asking.id())
      yield* settled
      assert.strictEqual(endOf(back.spans[0]!), "interrupted")

      const slow = yield* asked(answering(Effect.never))
      yield* forkExit(slow.server.request("x/ask"))
      yield* TestClock.adjust("1 hour")
      yield* settled
      assert.strictEqual(endOf(slow.spans[0]!), "interrupted")

      const ended = yield* asked(answering(Effect.never))
      yield* forkExit(ended.server.request("x/ask"))
      yield* ended.connection.close
      yield* settled
      assert.strictEqual(endOf(ended.spans.find((_) => _.name === "x/ask")!), "interrupted")
    }))
})

describe("what a server is told of a trace", () => {
  const metaOf = (traceContext: McpConnection.ConnectionOptions["traceContext"], attached?: McpProtocol.JsonObject) =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection, server } = yield* connect(stdio, {}, { traceContext })
      yield* McpConnection.callTool(connection, { name: "echo" }, attached && { meta: attached }).pipe(inSpan(tracer))
      const { params } = yield* server.awaitReceived("tools/call")
      const { progressToken: _, ...meta } = params._meta as McpProtocol.JsonObject
      return { meta, span: spans.find((_) => _.name === "tools/call echo")! }
    })

  it.scoped("the span of the request, and what the application adds", () =>
    Effect.gen(function*() {
      const { meta, span } = yield* metaOf(({ traceId }) => ({ tracestate: `app=${traceId}`, baggage: "user=7" }))
      assert.deepStrictEqual(meta, {
        traceparent: `00-${span.traceId}-${span.spanId}-01`,
        tracestate: `app=${span.traceId}`,
        baggage: "user=7"
      })
    }))

  it.scoped("nothing that could not be a header, and nothing of a function that fails", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<McpConnection.ConnectionOptions["traceContext"]> = [
        () => ({ tracestate: "a\nb", baggage: "ü" }),
        () => ({ tracestate: "x".repeat(513), baggage: "x".repeat(8193) }),
        () => ({ tracestate: 1, baggage: {} }) as never,
        () => null as never,
        () => {
          throw new Error("swordfish")
        }
      ]
      for (const traceContext of wrong) {
        const { meta } = yield* metaOf(traceContext)
        assert.deepStrictEqual(Object.keys(meta), ["traceparent"])
      }
    }))

  it.scoped("the application's own parts win, each by itself", () =>
    Effect.gen(function*() {
      const { meta } = yield* metaOf(() => ({ tracestate: "a=1", baggage: "b=1" }), { baggage: "mine=1", other: true })
      assert.deepInclude(meta, { tracestate: "a=1", baggage: "mine=1", other: true })
      const whole = yield* metaOf(() => ({ tracestate: "a=1" }), { traceparent: "mine" })
      assert.deepStrictEqual(whole.meta, { traceparent: "mine" })
    }))

  it.scoped("a tracer without ids of the standard: the request is sent, and says nothing", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio)
      const odd = recorder({ spanId: () => "1", traceId: "x\r\ny" }).tracer
      yield* McpConnection.callTool(connection, { name: "echo" }).pipe(Effect.withTracer(odd))
      const { params } = yield* server.awaitReceived("tools/call")
      assert.deepStrictEqual(Object.keys(params._meta as object), ["progressToken"])
      assert.isTrue(Option.isNone(Option.fromNullable((params._meta as McpProtocol.JsonObject).traceparent)))
    }))
})
