import { assert, describe, it, vi } from "@effect/vitest"
import {
  CatalogStore,
  McpConnection,
  McpError,
  McpManager,
  McpProtocol,
  McpSession,
  ToolApproval,
  Toolset
} from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Context, DefaultServices, Effect, Exit, Fiber, Layer, Option, TestClock, Tracer } from "effect"
import { connect, echo, expired, forkExit, http, inMemory, pass, refused, settled, stdio } from "../connection/kit.js"
import { attributesOf, endOf, freshName, inSpan, type Kept, paths, recorder, sumOf } from "./kit.js"

const find = (spans: ReadonlyArray<Kept>, name: string): Kept => {
  const found = spans.filter((_) => _.name === name)
  assert.lengthOf(found, 1, `${name} in ${spans.map((_) => _.name).join(", ")}`)
  return found[0]!
}

/** A connection that is ready, made where nobody traces unless its tracer says so. */
const ready = (
  config: object,
  script: ScriptedServer.Options = {},
  options?: McpConnection.ConnectionOptions
) => Effect.tap(connect(config, script, options), ({ connection }) => connection.awaitReady)

const gone = { operation: "x", executed: "maybe", reason: "Broken", detail: "gone" } as const

const answering = (...answers: ReadonlyArray<Effect.Effect<unknown, ScriptedServer.RpcError | McpError.McpError>>) => {
  let calls = 0
  return () => answers[Math.min(calls++, answers.length - 1)]!
}

const ok = Effect.succeed({ content: [] })

/** Called once, in a span of the application. */
const failing = (
  answer: Effect.Effect<unknown, ScriptedServer.RpcError | McpError.McpError>,
  config: object = http,
  options?: McpConnection.CallOptions
) =>
  Effect.gen(function*() {
    const { spans, tracer } = recorder()
    const { connection } = yield* ready(config, { handlers: { "tools/call": () => answer } })
    const exit = yield* Effect.exit(echo(connection, { replay: "never", ...options }).pipe(inSpan(tracer)))
    const span = find(spans, "tools/call echo")
    return { exit, span, attributes: attributesOf(span) }
  })

describe("the span of a request", () => {
  it.scoped("has the name, the kind and the attributes of the conventions, and is part of the application's", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection } = yield* ready(stdio)
      yield* echo(connection).pipe(inSpan(tracer))
      assert.deepStrictEqual(paths(spans), ["app", "app > tools/call echo"])
      const span = find(spans, "tools/call echo")
      assert.strictEqual(span.kind, "client")
      assert.strictEqual(endOf(span), "success")
      assert.deepStrictEqual(attributesOf(span), {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "echo",
        "gen_ai.operation.name": "execute_tool",
        "mcp.server.name": "scripted",
        "network.transport": "pipe",
        "mcp.protocol.version": McpProtocol.latestProtocolVersion,
        "mcp.runtime.generation": 1,
        "jsonrpc.request.id": "2"
      })
    }))

  it.scoped("has what an application wishes of all its spans, and skips a parent that is not to be told of", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection } = yield* ready(stdio)
      yield* TestClock.adjust("1 second")
      const linked = Tracer.externalSpan({ spanId: "1".repeat(16), traceId: "2".repeat(32) })
      const hidden = Tracer.externalSpan({
        spanId: "3".repeat(16),
        traceId: "4".repeat(32),
        context: Context.make(Tracer.DisablePropagation, true)
      })
      yield* echo(connection).pipe(Effect.annotateSpans("tenant", "acme"), Effect.withTracer(tracer))
      yield* echo(connection).pipe(Effect.linkSpans(linked), Effect.withTracer(tracer))
      yield* echo(connection).pipe(Effect.withTracerTiming(false), Effect.withTracer(tracer))
      yield* echo(connection).pipe(Effect.withParentSpan(hidden), Effect.withTracer(tracer))
      const [annotated, told, untimed, orphan] = spans
      assert.lengthOf(spans, 4)
      assert.strictEqual(attributesOf(annotated!).tenant, "acme")
      assert.deepStrictEqual(told!.links.map((_) => _.span.spanId), ["1".repeat(16)])
      assert.deepStrictEqual([told!.startTime, told!.endTime], [1_000_000_000n, 1_000_000_000n])
      assert.deepStrictEqual([untimed!.startTime, untimed!.endTime], [0n, 0n])
      assert.deepStrictEqual(untimed!.links, [])
      assert.isUndefined(orphan!.parent)
    }))

  it.scoped("says of a URL the host and the port only", () =>
    Effect.gen(function*() {
      const hosts = {
        "http://user:swordfish@[::1]:8080/secret-path?key=swordfish#x": ["::1", 8080],
        "https://mcp.example.org/mcp": ["mcp.example.org", 443],
        "http://mcp.example.org/mcp": ["mcp.example.org", 80]
      }
      for (const [url, [address, port]] of Object.entries(hosts)) {
        const { spans, tracer } = recorder()
        const { connection } = yield* ready({ ...http, url })
        yield* McpConnection.ping(connection).pipe(Effect.withTracer(tracer))
        const attributes = attributesOf(find(spans, "ping"))
        assert.deepInclude(attributes, {
          "network.transport": "tcp",
          "network.protocol.name": "http",
          "server.address": address,
          "server.port": port
        })
        assert.notInclude(JSON.stringify(attributes), "swordfish")
        assert.notInclude(JSON.stringify(attributes), "secret-path")
      }
    }))

  it.scoped("in memory there is no network", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection } = yield* ready(inMemory)
      yield* McpConnection.ping(connection).pipe(Effect.withTracer(tracer))
      assert.sameMembers(Object.keys(attributesOf(find(spans, "ping"))), [
        "mcp.method.name",
        "mcp.server.name",
        "mcp.protocol.version",
        "mcp.runtime.generation",
        "jsonrpc.request.id"
      ])
    }))

  it.scoped("prompts and resources have attributes of their own, without what a URL may hide", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection } = yield* ready(stdio, {
        capabilities: { prompts: {}, resources: {} },
        handlers: {
          "prompts/get": () => Effect.succeed({ messages: [] }),
          "resources/read": () => Effect.succeed({ contents: [] })
        }
      })
      yield* McpConnection.getPrompt(connection, { name: "review" }).pipe(Effect.withTracer(tracer))
      yield* McpConnection.readResource(connection, "https://me:swordfish@example.org/a?token=swordfish").pipe(
        Effect.withTracer(tracer)
      )
      assert.strictEqual(find(spans, "prompts/get review").attributes.get("gen_ai.prompt.name"), "review")
      const read = attributesOf(find(spans, "resources/read"))
      assert.include(read["mcp.resource.uri"], "example.org/a")
      assert.notInclude(JSON.stringify(read), "swordfish")
    }))

  it.scoped("a long name of a tool is cut, in the name of the span, too", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection } = yield* ready(stdio)
      yield* McpConnection.callTool(connection, { name: "x".repeat(10_000) }).pipe(
        Effect.ignore,
        Effect.withTracer(tracer)
      )
      assert.isBelow(spans[0]!.name.length, 256)
      assert.isBelow(String(spans[0]!.attributes.get("gen_ai.tool.name")).length, 256)
    }))

  it.scoped("whoever listens pays for no stack; nobody listens, and no span is made at all", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* ready(stdio, { tools: [{ name: "echo" }] })
        yield* echo(connection)
        yield* McpConnection.listTools(connection)
        yield* connection.reconnect
      }).pipe(Effect.withTracer(tracer))
      assert.isAbove(spans.length, 5)
      assert.deepStrictEqual(spans.filter((_) => _.capturesStack), [])

      const silent = Context.get(DefaultServices.liveServices, Tracer.Tracer)
      const span = vi.spyOn(silent, "span")
      yield* Effect.addFinalizer(() => Effect.sync(() => span.mockRestore()))
      const { connection, server } = yield* ready(stdio, { tools: [{ name: "echo" }] }, {
        handlers: { roots: { list: Effect.succeed([]) } }
      })
      yield* echo(connection)
      yield* connection.catalog.tools.get
      yield* server.request("roots/list", { _meta: { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` } })
      yield* connection.reconnect
      assert.strictEqual(span.mock.calls.length, 0)
      yield* Effect.withSpan(Effect.void, "one that is seen here")
      assert.strictEqual(span.mock.calls.length, 1)
    }))

  it.scoped("what the parameters of a raw request have as `_meta` of their own stays, and wins", () =>
    Effect.gen(function*() {
      const { tracer } = recorder()
      const { connection, server } = yield* ready(stdio)
      const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`
      const call = (_meta: McpProtocol.JsonObject, options?: McpConnection.CallOptions) =>
        connection.request("tools/call", { name: "echo", _meta }, options).pipe(inSpan(tracer))
      yield* call({ own: 1 }, { meta: { other: 2 } })
      yield* call({ own: 1, traceparent })
      const [first, second] = (yield* server.receivedOf("tools/call")).map((_) =>
        _.params._meta as McpProtocol.JsonObject
      )
      assert.deepInclude(first, { own: 1, other: 2 })
      assert.property(first, "traceparent")
      assert.deepInclude(second, { own: 1, traceparent })
    }))

  it.scoped("an application that disables tracing for a part of it gets no spans of it, and servers are told nothing", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection, server } = yield* ready(stdio)
      yield* echo(connection).pipe(Effect.withTracerEnabled(false), Effect.withTracer(tracer))
      assert.deepStrictEqual(spans, [])
      const { params } = yield* server.awaitReceived("tools/call")
      assert.notProperty(params._meta, "traceparent")
    }))
})

describe("the span of a request that fails", () => {
  it.scoped("says with which of our errors, and whether it ran", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection, server } = yield* ready(stdio, { handlers: { "tools/call": () => Effect.never } })
      const call = yield* forkExit(echo(connection, { timeout: "1 second" }).pipe(inSpan(tracer)))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(call)
      const span = find(spans, "tools/call echo")
      assert.strictEqual(endOf(span), "failure")
      // The error is `OutcomeUnknown`: what has failed is in it.
      assert.deepInclude(attributesOf(span), { "error.type": "RequestTimeout", "mcp.runtime.executed": "maybe" })
    }))

  it.scoped("says the code of a JSON-RPC error, whatever it is", () =>
    Effect.gen(function*() {
      for (const code of [-32602, -31337, 7]) {
        const { attributes, span } = yield* failing(
          Effect.fail(new ScriptedServer.RpcError({ code, message: "no, swordfish" }))
        )
        assert.deepInclude(attributes, { "error.type": String(code), "rpc.response.status_code": String(code) })
        assert.strictEqual(endOf(span), "failure")
        assert.notInclude(JSON.stringify(attributes), "swordfish")
      }
    }))

  it.scoped("says the status of an HTTP answer", () =>
    Effect.gen(function*() {
      const { attributes } = yield* failing(Effect.fail(
        new McpError.HttpError({ server: "scripted", operation: "x", executed: "no", status: 418, body: "" })
      ))
      assert.deepInclude(attributes, {
        "error.type": "HttpError",
        "http.response.status_code": 418,
        "mcp.runtime.executed": "no"
      })
      assert.notProperty(attributes, "rpc.response.status_code")
    }))

  it.scoped("a tool that says it failed is a failed span, and a value to whoever called it", () =>
    Effect.gen(function*() {
      const { attributes, exit, span } = yield* failing(Effect.succeed({ content: [], isError: true }))
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(attributes["error.type"], "tool_error")
      assert.strictEqual(endOf(span), "failure")
      assert.notProperty(attributes, "mcp.runtime.executed")
    }))

  it.scoped("one that is interrupted ends as interrupted, which is no failure", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection, server } = yield* ready(stdio, { handlers: { "tools/call": () => Effect.never } })
      const call = yield* forkExit(echo(connection).pipe(inSpan(tracer)))
      yield* server.awaitReceived("tools/call")
      yield* Fiber.interrupt(call)
      const span = find(spans, "tools/call echo")
      assert.strictEqual(endOf(span), "interrupted")
      assert.notProperty(attributesOf(span), "error.type")
    }))

  it.scoped("what dies is a defect", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection } = yield* ready(stdio)
      const mine = { method: "x/mine", send: () => Effect.die("it was me") }
      yield* Effect.exit(connection.perform(mine).pipe(Effect.withTracer(tracer)))
      assert.strictEqual(find(spans, "x/mine").attributes.get("error.type"), "Defect")
    }))

  it.scoped("a refusal before anything is sent is a span only where a request was begun", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const tool = { name: "echo", inputSchema: { type: "object" as const, required: ["text"] } }
      const { connection } = yield* ready(stdio, { tools: [tool] })
      yield* McpConnection.listTools(connection)
      const exit = yield* Effect.exit(echo(connection).pipe(inSpan(tracer)))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(paths(spans), ["app"])
    }))
})

describe("what is sent again", () => {
  it.scoped("is one span, with an event for each time, and the id of the last request", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const { connection } = yield* ready(http, { handlers: { "tools/call": answering(Effect.fail(refused), ok) } })
      const call = yield* forkExit(echo(connection).pipe(inSpan(tracer)))
      yield* pass(5000, 100)
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(call)))
      const span = find(spans, "tools/call echo")
      assert.strictEqual(endOf(span), "success")
      assert.strictEqual(span.attributes.get("mcp.runtime.replays"), 1)
      const [replay, ...others] = span.events
      assert.strictEqual(replay!.name, "mcp.runtime.replay")
      assert.deepStrictEqual(others, [], "there was a session all the time")
      assert.deepInclude(replay!.attributes, { "error.type": "ConnectFailed", "mcp.runtime.executed": "no" })
      assert.isNumber(replay!.attributes!["mcp.runtime.delay_ms"])
      assert.notProperty(attributesOf(span), "error.type")
    }))

  it.scoped("what was not sent again, because it was interrupted or the connection closed meanwhile, says nothing of it", () =>
    Effect.gen(function*() {
      for (const end of ["interrupt", "close"] as const) {
        const { spans, tracer } = recorder()
        const name = freshName()
        const { connection, server } = yield* ready({ ...http, name }, {
          handlers: { "tools/call": () => Effect.fail(refused) }
        })
        const call = yield* forkExit(echo(connection).pipe(inSpan(tracer)))
        yield* (end === "interrupt" ? Fiber.interrupt(call) : connection.close)
        yield* Fiber.await(call)
        assert.lengthOf(yield* server.receivedOf("tools/call"), 1)
        const span = find(spans, "tools/call echo")
        assert.notProperty(attributesOf(span), "mcp.runtime.replays")
        assert.deepStrictEqual(span.events, [])
        assert.strictEqual((yield* connection.stats).replays, 0)
        assert.strictEqual(sumOf(name, "mcp.runtime.operation.replays"), 0)
      }
    }))

  it.scoped("a session that is forgotten: the call goes on in the next one, and is the first who waits for it", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* ready(http, {
          handlers: { "tools/call": answering(Effect.fail(expired), ok) }
        })
        spans.length = 0
        yield* echo(connection).pipe(Effect.withSpan("app"))
      }).pipe(Effect.withTracer(tracer))
      const call = find(spans, "tools/call echo")
      assert.strictEqual(endOf(call), "success")
      assert.deepInclude(attributesOf(call), { "mcp.runtime.generation": 2, "mcp.runtime.replays": 1 })
      assert.deepStrictEqual(call.events.map((_) => _.name), ["mcp.runtime.replay", "mcp.runtime.wait"])
      assert.deepStrictEqual(paths(spans), [
        "app",
        "app > tools/call echo",
        "app > tools/call echo > mcp.runtime.connect",
        "app > tools/call echo > mcp.runtime.connect > initialize"
      ])
    }))

  it.scoped("a session of its own for one call: its handshake is part of the call", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const lost = new McpError.ResponseLost({ server: "scripted", ...gone })
      yield* Effect.gen(function*() {
        const { connection } = yield* ready({ ...http, recovery: "isolated" }, {
          handlers: { "tools/call": answering(Effect.fail(lost), ok) }
        })
        spans.length = 0
        yield* echo(connection, { replay: "always" }).pipe(Effect.withSpan("app"))
      }).pipe(Effect.withTracer(tracer))
      assert.deepStrictEqual(paths(spans), [
        "app",
        "app > tools/call echo",
        "app > tools/call echo > initialize"
      ])
      assert.isTrue(spans.every((_) => endOf(_) === "success"))
    }))
})

describe("the opening of a session", () => {
  it.scoped("is a span of its own, with the handshake, in the trace of whoever wanted it", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* connect(stdio)
        yield* echo(connection).pipe(Effect.withSpan("app"))
      }).pipe(Effect.withTracer(tracer))
      assert.deepStrictEqual(paths(spans), [
        "app",
        "app > tools/call echo",
        "app > tools/call echo > mcp.runtime.connect",
        "app > tools/call echo > mcp.runtime.connect > initialize"
      ])
      const opening = find(spans, "mcp.runtime.connect")
      assert.strictEqual(opening.kind, "internal")
      assert.deepStrictEqual(attributesOf(opening), {
        "mcp.server.name": "scripted",
        "network.transport": "pipe",
        "mcp.runtime.attempt": 1,
        "mcp.runtime.generation": 1
      })
      const initialize = find(spans, "initialize")
      assert.strictEqual(initialize.kind, "client")
      assert.deepStrictEqual(attributesOf(initialize), {
        "mcp.server.name": "scripted",
        "network.transport": "pipe",
        "mcp.method.name": "initialize",
        "mcp.protocol.version": McpProtocol.latestProtocolVersion
      })
      assert.deepStrictEqual(find(spans, "tools/call echo").events, [
        { name: "mcp.runtime.wait", attributes: { "mcp.runtime.state": "Idle" } }
      ])
    }))

  it.scoped("several wait for one session: it is part of the first trace", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* connect(stdio)
        yield* Effect.all([
          echo(connection).pipe(Effect.withSpan("first")),
          echo(connection).pipe(Effect.withSpan("second"))
        ], { concurrency: "unbounded" })
      }).pipe(Effect.withTracer(tracer))
      assert.deepStrictEqual(paths(spans).filter((_) => _.endsWith("connect")), [
        "first > tools/call echo > mcp.runtime.connect"
      ])
    }))

  it.scoped("one that comes back by itself is nobody's, however the first one was wanted", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio)
        yield* Effect.scoped(Effect.gen(function*() {
          yield* connection.hold
          yield* echo(connection).pipe(Effect.withSpan("app"))
          yield* server.disconnect()
          yield* server.awaitStats((_) => _.opened === 2)
          yield* settled
        }))
      }).pipe(Effect.withTracer(tracer))
      const openings = spans.filter((_) => _.name === "mcp.runtime.connect")
      assert.lengthOf(openings, 2)
      assert.isUndefined(openings[1]!.parent)
      assert.strictEqual(openings[1]!.attributes.get("mcp.runtime.generation"), 2)
    }))

  it.scoped("one whose first opening was wanted in a trace, and which comes back by itself, is no part of that trace", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect({ ...stdio, lifetime: "lazy" })
        yield* connection.hold.pipe(Effect.withSpan("app"))
        yield* server.disconnect()
        yield* server.awaitStats((_) => _.opened === 2)
        yield* settled
      }).pipe(Effect.withTracer(tracer))
      assert.deepStrictEqual(paths(spans).filter((_) => _.endsWith("connect")), [
        "app > mcp.runtime.connect",
        "mcp.runtime.connect"
      ])
    }))

  it.scoped("one that the application wants anew is part of its trace", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* ready(stdio)
        spans.length = 0
        yield* connection.reconnect.pipe(Effect.withSpan("app"))
      }).pipe(Effect.withTracer(tracer))
      assert.deepStrictEqual(paths(spans), [
        "app",
        "app > mcp.runtime.connect",
        "app > mcp.runtime.connect > initialize"
      ])
    }))

  it.scoped("a try that fails says why, and each try is a span", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* connect(http, { start: () => Effect.fail(refused) })
        yield* Effect.exit(connection.awaitReady)
        yield* Effect.exit(connection.awaitReady)
      }).pipe(Effect.withTracer(tracer))
      const openings = spans.filter((_) => _.name === "mcp.runtime.connect")
      assert.deepStrictEqual(openings.map((_) => _.attributes.get("mcp.runtime.attempt")), [1, 2])
      assert.deepStrictEqual(openings.map((_) => _.attributes.get("error.type")), ["ConnectFailed", "ConnectFailed"])
      assert.deepStrictEqual(openings.map(endOf), ["failure", "failure"])
    }))

  it.scoped("a handshake that is refused says so in both spans", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* connect(stdio, {
          handlers: { initialize: () => Effect.fail(new ScriptedServer.RpcError({ code: -32000, message: "no" })) }
        })
        yield* Effect.exit(connection.awaitReady)
      }).pipe(Effect.withTracer(tracer))
      for (const name of ["initialize", "mcp.runtime.connect"]) {
        assert.deepInclude(attributesOf(find(spans, name)), {
          "error.type": "HandshakeFailed",
          "rpc.response.status_code": "-32000"
        })
      }
    }))

  it.scoped("a session without a connection has the span of its handshake", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const server = yield* ScriptedServer.make()
      yield* McpSession.open(server.channel).pipe(inSpan(tracer))
      assert.deepStrictEqual(paths(spans), ["app", "app > initialize"])
    }))

  it.scoped("what the connection does by itself in a session has no spans: pings, subscriptions, lists again", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* ready({ ...stdio, keepAlive: { every: "10 seconds" } }, {
          tools: [{ name: "echo" }]
        })
        yield* connection.catalog.tools.get
        yield* connection.hold
        yield* server.disconnect()
        yield* server.awaitStats((_) => _.opened === 2)
        yield* settled
        yield* pass(30_000, 1000)
        yield* server.awaitReceived("ping")
      }).pipe(Effect.withTracer(tracer))
      assert.deepStrictEqual(spans.filter((_) => _.name === "tools/list").length, 1)
      assert.deepStrictEqual(spans.filter((_) => _.name === "ping"), [])
    }))
})

describe("lists", () => {
  it.scoped("a list of many pages is one span, which says the session and the last page's id", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const tools = Array.from({ length: 5 }, (_, i) => ({ name: `t${i}` }))
      const { connection } = yield* ready(stdio, { tools, pageSize: 1 })
      yield* McpConnection.listTools(connection).pipe(inSpan(tracer))
      assert.deepStrictEqual(paths(spans), ["app", "app > tools/list"])
      assert.strictEqual(find(spans, "tools/list").attributes.get("jsonrpc.request.id"), "6")
    }))

  it.scoped("a list that the catalogue reads for several is part of the trace of the first; what is known costs none", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const { connection } = yield* ready(stdio)
        spans.length = 0
        yield* Effect.all([
          connection.catalog.tools.get.pipe(Effect.withSpan("first")),
          connection.catalog.tools.get.pipe(Effect.withSpan("second"))
        ], { concurrency: "unbounded" })
        yield* connection.catalog.tools.get.pipe(Effect.withSpan("third"))
      }).pipe(Effect.withTracer(tracer))
      assert.sameMembers([...paths(spans)], ["first", "first > tools/list", "second", "third"])
    }))
})

describe("many servers", () => {
  it.scoped("what is done to all is a span, and the openings are part of it", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const servers = yield* Effect.forEach(["a", "b"], (name) =>
          ScriptedServer.make({ name, config: { name, ...stdio } as never }))
        const manager = yield* McpManager.make({
          servers: servers.map((_) => ({ name: _.channel.config.name, ...stdio }))
        })
          .pipe(Effect.provide([ScriptedServer.layer(...servers), CatalogStore.layerNone]))
        yield* manager.connectAll.pipe(Effect.withSpan("app"))
        yield* manager.close.pipe(Effect.withSpan("end"))
      }).pipe(Effect.withTracer(tracer))
      const all = paths(spans)
      for (const name of ["a", "b"]) {
        const opening = spans.findIndex((_) =>
          _.name === "mcp.runtime.connect" && _.attributes.get("mcp.server.name") === name
        )
        assert.strictEqual(all[opening], "app > mcp.runtime.manager.connect > mcp.runtime.connect")
      }
      assert.include(all, "app > mcp.runtime.manager.connect > tools/list")
      assert.include(all, "end > mcp.runtime.manager.close")
      assert.deepStrictEqual(
        spans.filter((_) =>
          endOf(_) === "open"
        ),
        []
      )
    }))

  it.scoped("a tool of an earlier run, called before its server is connected: list and opening are part of the call's trace", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      yield* Effect.gen(function*() {
        const stored = { items: [{ name: "echo", inputSchema: { type: "object" as const } }], listedAt: 0 }
        const { connection } = yield* connect(stdio, {}, {
          catalog: {
            storage: {
              load: (kind) => Effect.succeed(kind === "tools" ? stored : undefined) as never,
              save: () => Effect.void
            }
          }
        })
        yield* Effect.promise(() => Promise.resolve())
        yield* (connection.catalog as unknown as { readonly restore: Effect.Effect<void> }).restore
        yield* echo(connection).pipe(Effect.withSpan("app"))
      }).pipe(Effect.withTracer(tracer))
      assert.deepStrictEqual(paths(spans), [
        "app",
        "app > tools/list",
        "app > tools/list > mcp.runtime.connect",
        "app > tools/list > mcp.runtime.connect > initialize",
        "app > tools/call echo"
      ])
    }))

  it.scoped("a call through a toolset is the same span, by the server's name of the tool", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recorder()
      const server = yield* ScriptedServer.make({ name: "docs", config: { name: "docs", ...stdio } as never })
      yield* Effect.gen(function*() {
        const toolset = yield* Toolset.make(yield* McpManager.McpManager, { approval: ToolApproval.never })
        const toolbox = toolset.for()
        yield* toolbox.call("docs__echo", { text: "a" }).pipe(Effect.withSpan("app"))
      }).pipe(
        Effect.provide(
          McpManager.layer({ servers: [{ name: "docs", ...stdio }] }).pipe(
            Layer.provideMerge(ScriptedServer.layer(server)),
            Layer.provideMerge(CatalogStore.layerNone),
            Layer.provideMerge(Layer.setTracer(tracer))
          )
        )
      )
      assert.include(paths(spans), "app > tools/call echo")
      const { params } = yield* server.awaitReceived("tools/call")
      const call = find(spans, "tools/call echo")
      assert.strictEqual(
        (params._meta as McpProtocol.JsonObject).traceparent,
        `00-${call.traceId}-${call.spanId}-01`
      )
      assert.isTrue(Option.isSome(Option.fromNullable(call.parent)))
    }))
})
