import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError, McpProtocol, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Chunk, Deferred, Effect, Exit, Fiber, Ref, Stream, TestClock } from "effect"
import * as Inbox from "../src/internal/engine/inbox.js"
import { configWith } from "./configWith.js"
import { macrotask } from "./gateWire.js"

const call = (session: McpSession.McpSession, name: string, options?: McpSession.RequestOptions) =>
  McpSession.callTool(session, { name, arguments: {} }, options)

const cancelledIds = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(server.receivedOf("notifications/cancelled"), (all) => all.map((_) => _.params.requestId))

const hanging = { name: "hang", call: () => Effect.never }

describe("McpSession.open", () => {
  it.scoped("settles version, capabilities, instructions and identity", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        info: { name: "peer", version: "3.2.1" },
        instructions: "be kind",
        capabilities: { tools: {}, logging: {} }
      })
      const session = yield* McpSession.open(server.channel, { generation: 7, logLevel: "warning" })
      assert.strictEqual(session.info.protocolVersion, McpProtocol.latestProtocolVersion)
      assert.strictEqual(session.info.implementation.name, "peer")
      assert.strictEqual(session.info.instructions, "be kind")
      assert.strictEqual(session.generation, 7)
      const methods = (yield* server.received).map((_) => _.method)
      assert.deepStrictEqual(methods, ["initialize", "notifications/initialized", "logging/setLevel"])
    }))

  it.scoped("speaks every version that the SDK knows", () =>
    Effect.gen(function*() {
      const sdk = yield* Effect.promise(() => import("@modelcontextprotocol/sdk/types.js"))
      assert.deepStrictEqual(McpProtocol.supportedProtocolVersions, sdk.SUPPORTED_PROTOCOL_VERSIONS)
      assert.strictEqual(McpProtocol.latestProtocolVersion, sdk.LATEST_PROTOCOL_VERSION)
      for (const version of McpProtocol.supportedProtocolVersions) {
        const server = yield* ScriptedServer.make({ protocolVersions: [version] })
        const session = yield* McpSession.open(server.channel)
        assert.strictEqual(session.info.protocolVersion, version)
        const { negotiated } = yield* server.stats
        assert.strictEqual(negotiated[0]?.protocolVersion, version)
      }
    }))

  it.scoped("P12: a version nobody speaks is VersionMismatch, with everything released when it fails", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          initialize: () => Effect.succeed({ protocolVersion: "1999-01-01", capabilities: {}, serverInfo: {} })
        }
      })
      const error = yield* Effect.flip(McpSession.open(server.channel))
      assert.strictEqual(error._tag, "VersionMismatch")
      assert.strictEqual((yield* server.stats).live.length, 0)
      assert.strictEqual((yield* server.receivedOf("notifications/initialized")).length, 0)
    }))

  it.scoped("P12: the server's own list of versions is VersionMismatch too", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          initialize: () =>
            Effect.fail(
              new ScriptedServer.RpcError({ code: -32602, message: "no", data: { supported: ["2026-07-28"] } })
            )
        }
      })
      const error = yield* Effect.flip(McpSession.open(server.channel))
      assert(error._tag === "VersionMismatch")
      assert.deepStrictEqual([...error.offered], ["2026-07-28"])
    }))

  it.scoped("S04: a peer that echoes is a ProtocolViolation", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: { initialize: (request) => Effect.succeed(ScriptedServer.raw(request.message)) },
        accept: (message, peer) => message.method === undefined ? peer.sendRaw(message.message) : Effect.void
      })
      const error = yield* Effect.flip(McpSession.open(server.channel))
      assert.strictEqual(error._tag, "ProtocolViolation")
      assert.strictEqual(error.executed, "no")
    }))

  it.scoped("P13: a start that hangs, fails or dies ends with the deadline, the error or the defect, and nothing open", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ timeouts: { handshake: "3 seconds" } })
      const refused = new McpError.ConnectFailed({
        server: "scripted",
        operation: "open",
        executed: "no",
        reason: "Refused",
        url: "x:",
        detail: "no"
      })
      const hangs = yield* ScriptedServer.make({ config, start: () => Effect.never })
      const fiber = yield* Effect.fork(Effect.flip(McpSession.open(hangs.channel)))
      yield* TestClock.adjust("3 seconds")
      const timedOut = yield* Fiber.join(fiber)
      assert(timedOut._tag === "RequestTimeout" && timedOut.kind === "handshake" && timedOut.millis === 3000)

      const fails = yield* ScriptedServer.make({ start: () => Effect.fail(refused) })
      assert.strictEqual((yield* Effect.flip(McpSession.open(fails.channel)))._tag, "ConnectFailed")

      const dies = yield* ScriptedServer.make({ start: () => Effect.die("bug") })
      assert(Exit.isFailure(yield* Effect.exit(McpSession.open(dies.channel))))
      for (const server of [hangs, fails, dies]) assert.strictEqual((yield* server.stats).live.length, 0)
    }))

  it.scoped("the deadline covers initialize, the acceptance of initialized, and listening; also where the caller can't be interrupted", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ timeouts: { handshake: "3 seconds" } })
      const scripts: ReadonlyArray<ScriptedServer.Options> = [
        { config, handlers: { initialize: () => Effect.never } },
        { config, accept: (message) => message.method === "notifications/initialized" ? Effect.never : Effect.void },
        { config, listen: () => Effect.never }
      ]
      for (const script of scripts) {
        const server = yield* ScriptedServer.make(script)
        const fiber = yield* Effect.fork(Effect.uninterruptible(Effect.flip(McpSession.open(server.channel))))
        yield* TestClock.adjust("3 seconds")
        const error = yield* Fiber.join(fiber)
        assert.strictEqual(error._tag, "RequestTimeout")
        assert.strictEqual((yield* server.stats).live.length, 0)
        assert.deepStrictEqual(yield* cancelledIds(server), [], "P09: a handshake is not cancelled but closed")
      }
    }))

  it.scoped("H23: initialized that is refused fails the open and releases it", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        accept: (message) =>
          message.method !== "notifications/initialized" ? Effect.void : Effect.fail(
            new McpError.HttpError({
              server: "scripted",
              operation: "send",
              executed: "maybe",
              status: 500,
              body: ""
            })
          )
      })
      const error = yield* Effect.flip(McpSession.open(server.channel))
      assert(error._tag === "HttpError" && error.operation === "notifications/initialized")
      assert.strictEqual((yield* server.stats).live.length, 0)
    }))

  it.scoped("S03: an exit during initialize is HandshakeFailed with exit and stderr", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          initialize: (_, peer) =>
            Effect.zipRight(
              peer.disconnect(
                new McpError.ConnectionClosed({
                  server: "scripted",
                  operation: "receive",
                  executed: "maybe",
                  reason: "Exited",
                  detail: "the process ended",
                  exit: { code: 3, signal: null },
                  stderrTail: "boom\n"
                })
              ),
              Effect.never
            )
        }
      })
      const error = yield* Effect.flip(McpSession.open(server.channel))
      assert(error._tag === "HandshakeFailed")
      assert.deepStrictEqual(error.exit, { code: 3, signal: null })
      assert.include(error.message, "boom")
    }))

  it.scoped("is lenient about what is not needed, strict about the version", () =>
    Effect.gen(function*() {
      const lenient = yield* ScriptedServer.make({
        handlers: { initialize: () => Effect.succeed({ protocolVersion: "2025-06-18", serverInfo: 7 }) }
      })
      const session = yield* McpSession.open(lenient.channel)
      assert.strictEqual(session.info.implementation.name, "unknown")
      const broken = yield* ScriptedServer.make({ handlers: { initialize: () => Effect.succeed({}) } })
      assert.strictEqual((yield* Effect.flip(McpSession.open(broken.channel)))._tag, "InvalidResult")
    }))

  it.scoped("a refused log level is a warning, not a failure", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        capabilities: { logging: {} },
        handlers: {
          "logging/setLevel": () => Effect.fail(new ScriptedServer.RpcError({ code: -32602, message: "no" }))
        }
      })
      const session = yield* McpSession.open(server.channel, { logLevel: "debug" })
      assert.strictEqual((yield* session.stats).warnings.SendFailed, 1)
    }))
})

describe("McpSession.close", () => {
  it.effect("S07: what is pending is settled when close begins, though the wire takes its time", () =>
    Effect.gen(function*() {
      const settled = yield* Deferred.make<McpError.McpError>()
      const server = yield* ScriptedServer.make({
        tools: [hanging],
        close: () => Effect.asVoid(Deferred.await(settled))
      })
      yield* Effect.scoped(
        Effect.gen(function*() {
          const session = yield* McpSession.open(server.channel)
          yield* Effect.forkDaemon(
            Effect.flip(call(session, "hang")).pipe(Effect.flatMap((_) => Deferred.succeed(settled, _)))
          )
          yield* server.awaitReceived("tools/call")
        })
      )
      const error = yield* Deferred.await(settled)
      assert(error._tag === "ConnectionClosed" && error.reason === "Closing" && error.executed === "maybe")
      assert.strictEqual((yield* server.stats).live.length, 0)
      assert.deepStrictEqual(yield* cancelledIds(server), [])
    }))

  it.effect("P10: a call after close, or in the same tick, was not sent and says so", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* Effect.scoped(McpSession.open(server.channel))
      const error = yield* Effect.flip(McpSession.ping(session))
      assert(error._tag === "ConnectionClosed" && McpError.isReplayable(error))
      assert.strictEqual((yield* server.receivedOf("ping")).length, 0)
      assert.strictEqual((yield* Effect.flip(session.notify("notifications/x")))._tag, "ConnectionClosed")
      assert.strictEqual((yield* Deferred.await(session.closed))._tag, "ConnectionClosed")
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(session.incoming)), [])
    }))

  it.scoped("S11: the end of the wire settles every call at once, and completes closed and incoming", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [hanging] })
      const session = yield* McpSession.open(server.channel)
      const calls = yield* Effect.forEach([1, 2, 3], () => Effect.fork(Effect.flip(call(session, "hang"))))
      yield* server.awaitStats((_) => _.handling === 3)
      yield* server.notify("notifications/last")
      yield* server.disconnect()
      for (const fiber of calls) {
        const error = yield* Fiber.join(fiber)
        assert(error._tag === "ConnectionClosed" && error.operation === "tools/call" && error.executed === "maybe")
      }
      assert.strictEqual((yield* Deferred.await(session.closed))._tag, "ConnectionClosed")
      const rest = yield* Stream.runCollect(session.incoming)
      assert.deepStrictEqual(Chunk.toReadonlyArray(rest).map((_) => _.method), ["notifications/last"])
      assert.strictEqual((yield* session.stats).inFlight, 0)
    }))

  it.effect("P14: a wire whose close dies, or never ends, is left to itself, within a bound", () =>
    Effect.gen(function*() {
      const dies = yield* ScriptedServer.make({ close: () => Effect.die("bug") })
      assert(Exit.isSuccess(yield* Effect.exit(Effect.scoped(McpSession.open(dies.channel)))))
      assert.strictEqual((yield* dies.stats).closed, 1)

      const hangs = yield* ScriptedServer.make({ close: () => Effect.never })
      const fiber = yield* Effect.fork(Effect.scoped(McpSession.open(hangs.channel)))
      yield* hangs.awaitStats((_) => _.opened === 1)
      yield* TestClock.adjust("10 seconds")
      assert(Exit.isSuccess(yield* Fiber.await(fiber)))
    }))
})

describe("requests", () => {
  it.scoped("answers are found by id, whatever their order; results are frozen", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const server = yield* ScriptedServer.make({
        tools: [
          { name: "slow", call: () => Effect.as(Deferred.await(gate), "slow") },
          { name: "fast", call: () => Effect.succeed("fast") }
        ]
      })
      const session = yield* McpSession.open(server.channel)
      const slow = yield* Effect.fork(call(session, "slow"))
      const fast = yield* call(session, "fast")
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(fast.content, [{ type: "text", text: "fast" }])
      assert.deepStrictEqual((yield* Fiber.join(slow)).content, [{ type: "text", text: "slow" }])
      assert.isTrue(Object.isFrozen(fast) && Object.isFrozen(fast.content) && Object.isFrozen(fast.content[0]))
    }))

  it.scoped("P01: an answer that is late, double or unknown is dropped and counted", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          "x/twice": () => Effect.succeed(ScriptedServer.twice({ ok: 1 })),
          "x/other": (_) =>
            Effect.succeed(ScriptedServer.raw(ScriptedServer.result(999, {}), ScriptedServer.result(_.id, 1)))
        }
      })
      const session = yield* McpSession.open(server.channel)
      yield* session.request("x/twice")
      yield* session.request("x/other")
      assert.strictEqual((yield* session.stats).warnings.UnknownResponse, 2)
    }))

  it.scoped("H06: an id that came back as its text is still the id; any other text is not", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          "x/text": () => Effect.succeed(ScriptedServer.withStringId({ ok: true })),
          "x/blank": (_) => Effect.succeed(ScriptedServer.raw(ScriptedServer.result(` ${_.id} `, {})))
        }
      })
      const session = yield* McpSession.open(server.channel)
      assert.deepStrictEqual(yield* session.request("x/text"), { ok: true })
      const fiber = yield* Effect.fork(Effect.flip(session.request("x/blank", {}, { timeout: "1 second" })))
      yield* server.awaitReceived("x/blank")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "RequestTimeout")
    }))

  it.scoped("P18: remote errors keep code, message and data, and only two codes promise that nothing ran", () =>
    Effect.gen(function*() {
      const codes = [-32601, -32602, -32600, -32603, -32700, -32000, -32001, 42]
      const server = yield* ScriptedServer.make({
        handlers: Object.fromEntries(codes.map((code) => [
          `x/${code}`,
          () => Effect.fail(new ScriptedServer.RpcError({ code, message: "nope", data: { code } }))
        ]))
      })
      const session = yield* McpSession.open(server.channel)
      for (const code of codes) {
        const error = yield* Effect.flip(session.request(`x/${code}`))
        assert(error._tag === "RemoteError")
        assert.strictEqual(error.code, code)
        assert.strictEqual(error.reason, "nope")
        assert.deepStrictEqual(error.data, { code })
        assert.strictEqual(error.executed, code === -32601 ? "no" : "maybe")
      }
    }))

  it.scoped("P18: what a tool or a prompt asked for was refused, and it passes that on: it may have run", () =>
    Effect.gen(function*() {
      const methods = ["tools/call", "prompts/get", "resources/read", "completion/complete"]
      const server = yield* ScriptedServer.make({
        handlers: Object.fromEntries(
          methods.map((method) => [method, (_, peer) => peer.request("roots/list")] as const)
        )
      })
      const session = yield* McpSession.open(server.channel)
      for (const method of methods) {
        const error = yield* Effect.flip(session.request(method, { name: "x", uri: "x:" }))
        assert(error._tag === "RemoteError" && error.code === -32601)
        assert.strictEqual(error.executed, "maybe", method)
      }
    }))

  it.scoped("-32042 asks the user to visit pages first", () =>
    Effect.gen(function*() {
      const elicitations = [{ mode: "url", elicitationId: "e1", url: "https://x.example/a", message: "log in" }]
      const server = yield* ScriptedServer.make({
        handlers: {
          "x/url": () =>
            Effect.fail(new ScriptedServer.RpcError({ code: -32042, message: "first", data: { elicitations } }))
        }
      })
      const session = yield* McpSession.open(server.channel)
      const error = yield* Effect.flip(session.request("x/url"))
      assert(error._tag === "ElicitationRequired" && error.executed === "no")
      assert.strictEqual(error.elicitations[0]!.url, "https://x.example/a")
    }))

  it.scoped("P21: echoes and nonsense are counted and skipped", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel)
      yield* server.sendRaw(
        7,
        "x",
        null,
        [],
        {},
        { jsonrpc: "1.0", method: "a" },
        { jsonrpc: "2.0" },
        { jsonrpc: "2.0", id: {}, method: "x" },
        { jsonrpc: "2.0", id: null, error: { code: -32700, message: "parse" } }
      )
      yield* McpSession.ping(session)
      const { warnings } = yield* session.stats
      assert.strictEqual(warnings.NotJsonRpc, 8)
      assert.strictEqual(warnings.UnknownResponse, 1)
    }))

  it.scoped("batches of revision 2025-03-26 are taken apart, in order", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          "x/batch": (request) =>
            Effect.succeed(ScriptedServer.raw([
              ScriptedServer.notification("notifications/first"),
              ScriptedServer.result(request.id, { ok: true })
            ]))
        }
      })
      const session = yield* McpSession.open(server.channel)
      assert.deepStrictEqual(yield* session.request("x/batch"), { ok: true })
      const [first] = yield* Stream.runCollect(Stream.take(session.incoming, 1))
      assert.strictEqual(first!.method, "notifications/first")
    }))

  it.scoped("H05: an answer with neither result nor error fails its call at once", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: { "x/empty": ({ id }) => Effect.succeed(ScriptedServer.raw({ jsonrpc: "2.0", id })) }
      })
      const session = yield* McpSession.open(server.channel)
      const error = yield* Effect.flip(session.request("x/empty"))
      assert(error._tag === "ProtocolViolation" && error.executed === "maybe")
    }))

  it.scoped("an error that is null beside a result is none", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          "x/both": ({ id }) =>
            Effect.succeed(ScriptedServer.raw({ ...ScriptedServer.result(id, { ok: true }), error: null })),
          "x/none": ({ id }) => Effect.succeed(ScriptedServer.raw({ jsonrpc: "2.0", id, error: null })),
          "x/failed": ({ id }) =>
            Effect.succeed(ScriptedServer.raw({ jsonrpc: "2.0", id, result: null, error: { code: 1, message: "no" } }))
        }
      })
      const session = yield* McpSession.open(server.channel)
      assert.deepStrictEqual(yield* session.request("x/both"), { ok: true })
      assert.strictEqual((yield* Effect.flip(session.request("x/none")))._tag, "RemoteError")
      assert.strictEqual((yield* Effect.flip(session.request("x/failed")))._tag, "RemoteError")
    }))

  it.scoped("P19: a result of the wrong shape was executed, and is InvalidResult with the result inside", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        tools: [{ name: "bad", call: () => Effect.succeed({ content: "text" }) }]
      })
      const session = yield* McpSession.open(server.channel)
      const error = yield* Effect.flip(call(session, "bad"))
      assert(error._tag === "InvalidResult" && error.executed === "yes")
      assert.deepStrictEqual(error.result, { content: "text" })
    }))

  it.scoped("null is what a server does not have: in what it announces, in lists, and in results of tools", () =>
    Effect.gen(function*() {
      const nulls = { content: null, structuredContent: null, isError: null, _meta: null }
      const server = yield* ScriptedServer.make({
        handlers: {
          initialize: () =>
            Effect.succeed({
              protocolVersion: "2025-06-18",
              serverInfo: { name: "nulls", version: "1", title: null },
              capabilities: { tools: {}, prompts: null, logging: null },
              instructions: null
            }),
          "tools/list": () => Effect.succeed({ tools: null, nextCursor: null }),
          "tools/call": () => Effect.succeed(nulls)
        }
      })
      const session = yield* McpSession.open(server.channel)
      const { capabilities, implementation, instructions } = session.info
      assert.deepStrictEqual([capabilities, implementation, instructions], [
        { tools: {} },
        { name: "nulls", version: "1" },
        undefined
      ])
      assert.deepStrictEqual((yield* McpSession.listTools(session)).items, [])
      const result = yield* call(session, "x")
      assert.deepStrictEqual(result, { content: [] })
      assert.isFrozen(result)
    }))

  it.scoped("a result that is nested without end is refused without running out of stack", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ handlers: { "x/deep": () => Effect.succeed(deep(1000)) } })
      const session = yield* McpSession.open(server.channel)
      const error = yield* Effect.flip(session.request("x/deep"))
      assert.strictEqual(error._tag, "InvalidResult", error.message)
      yield* McpSession.ping(session)
    }))

  it.scoped("P17: what the server does not announce is not sent", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ capabilities: {} })
      const session = yield* McpSession.open(server.channel)
      const refused: ReadonlyArray<Effect.Effect<unknown, McpError.McpError>> = [
        McpSession.listTools(session),
        McpSession.callTool(session, { name: "x" }),
        McpSession.listPrompts(session),
        McpSession.getPrompt(session, { name: "x" }),
        McpSession.listResources(session),
        McpSession.listResourceTemplates(session),
        McpSession.readResource(session, "x:"),
        McpSession.subscribe(session, "x:"),
        McpSession.unsubscribe(session, "x:"),
        McpSession.setLogLevel(session, "info"),
        McpSession.complete(session, { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } }),
        McpSession.callToolAsTask(session, { name: "x" })
      ]
      for (const effect of refused) assert.strictEqual((yield* Effect.flip(effect))._tag, "CapabilityMissing")
      assert.strictEqual((yield* server.received).length, 2)
    }))

  it.scoped("before 2025-03-26 there was no capability for completions: who has prompts or resources may have them", () =>
    Effect.gen(function*() {
      const params = { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } } as const
      const asked = (protocolVersion: string, capabilities: McpProtocol.ServerCapabilities) =>
        Effect.gen(function*() {
          const server = yield* ScriptedServer.make({
            protocolVersions: [protocolVersion],
            capabilities,
            handlers: { "completion/complete": () => Effect.succeed({ completion: { values: ["abc"] } }) }
          })
          const session = yield* McpSession.open(server.channel)
          return yield* Effect.match(McpSession.complete(session, params), {
            onFailure: (error) => error._tag,
            onSuccess: ({ values }) => values[0]
          })
        })
      const [prompts, resources] = [{}, {}]
      assert.strictEqual(yield* asked("2024-11-05", { prompts }), "abc")
      assert.strictEqual(yield* asked("2024-10-07", { resources }), "abc")
      assert.strictEqual(yield* asked("2024-11-05", { tools: {} }), "CapabilityMissing")
      assert.strictEqual(yield* asked("2025-03-26", { prompts, resources }), "CapabilityMissing")
    }))

  it.scoped("inFlight is bounded, and the refused request was not sent", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { inFlight: 2 } })
      const server = yield* ScriptedServer.make({ config, tools: [hanging] })
      const session = yield* McpSession.open(server.channel)
      yield* Effect.fork(call(session, "hang"))
      yield* Effect.fork(call(session, "hang"))
      yield* server.awaitStats((_) => _.handling === 2)
      const error = yield* Effect.flip(call(session, "hang"))
      assert(error._tag === "LimitExceeded" && error.limit === "inFlight" && error.executed === "no")
    }))

  it.scoped("works when the answer is there before send returns", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ reaction: "insideSend" })
      const session = yield* McpSession.open(server.channel)
      assert.strictEqual((yield* McpSession.listTools(session)).items.length, 1)
    }))

  it.scoped("a result that is null is one, also of a call", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: { "tools/call": (_) => Effect.succeed(ScriptedServer.raw(ScriptedServer.result(_.id, null))) }
      })
      const session = yield* McpSession.open(server.channel)
      assert.isNull(yield* session.request("tools/call", { name: "x" }))
      const error = yield* Effect.flip(McpSession.callTool(session, { name: "x" }))
      assert.strictEqual(error._tag, "InvalidResult")
    }))

  it.scoped("arguments that can't be written as JSON are a typed error, and cost nothing", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel)
      const cyclic: Record<string, unknown> = {}
      cyclic.self = cyclic
      for (const args of [cyclic, { n: 1n }]) {
        const error = yield* Effect.flip(McpSession.callTool(session, { name: "echo", arguments: args }))
        assert(error._tag === "ConfigInvalid" && error.executed === "no")
        assert.strictEqual((yield* Effect.flip(session.notify("notifications/x", args)))._tag, "ConfigInvalid")
      }
      assert.strictEqual((yield* session.stats).inFlight, 0)
      yield* McpSession.ping(session)
    }))

  it.scoped("what the caller gave is neither changed nor frozen, and _meta goes along", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel)
      const args = { a: { b: 1 } }
      yield* McpSession.callTool(session, { name: "echo", arguments: args }, { meta: { trace: "t" } })
      assert.isFalse(Object.isFrozen(args) || Object.isFrozen(args.a))
      const [sent] = yield* server.receivedOf("tools/call")
      assert.deepStrictEqual(sent!.params._meta, { trace: "t", progressToken: sent!.id })

      for (const _meta of [["x"], null, "x", { own: 1 }]) {
        yield* session.request("x/raw", { _meta } as never, { meta: { trace: "t" } }).pipe(Effect.ignore)
      }
      assert.deepStrictEqual((yield* server.receivedOf("x/raw")).map((_) => _.params._meta), [
        ...[1, 2, 3].map(() => ({ trace: "t" })),
        { own: 1, trace: "t" }
      ])
    }))
})

describe("pings of the server", () => {
  it.scoped("are answered as long as it takes the answers: beyond a bound they are dropped and counted", () =>
    Effect.gen(function*() {
      const taken = yield* Deferred.make<void>()
      const server = yield* ScriptedServer.make({
        config: yield* configWith({ limits: { serverRequests: 5 } }),
        accept: ({ method }) => method === undefined ? Deferred.await(taken) : Effect.void
      })
      const session = yield* McpSession.open(server.channel)
      const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" })
      const answered = Effect.map(server.received, (all) => all.flatMap((_) => _.method === undefined ? [_.id] : []))
      yield* server.sendRaw(...[1, 2, 3, 4, 5, 6, 7, 8].map(ping))
      yield* macrotask
      assert.deepStrictEqual(yield* answered, [1, 2, 3, 4, 5])
      assert.strictEqual((yield* session.stats).warnings.SendFailed, 3)
      yield* Deferred.succeed(taken, undefined)
      yield* macrotask
      yield* server.sendRaw(ping(9))
      assert.deepStrictEqual(yield* answered, [1, 2, 3, 4, 5, 9])
    }))

  it.scoped("with an id that is longer than any id are skipped: their answers would keep it", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel)
      const ids = ["x".repeat(16_384), "x".repeat(16_385)]
      yield* server.sendRaw(...ids.map((id) => ({ jsonrpc: "2.0", id, method: "ping" })))
      yield* McpSession.ping(session)
      const answered = (yield* server.received).flatMap((_) => _.method === undefined ? [_.id] : [])
      assert.deepStrictEqual(answered, [ids[0]])
      assert.strictEqual((yield* session.stats).warnings.NotJsonRpc, 1)
    }))

  it.scoped("with an id that is no longer what was written are refused: it may be that of another request", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel, {
        handlers: { requests: { "x/ask": () => Effect.succeed({ for: "the first" }) } }
      })
      const ask = (id: string) => JSON.parse(`{"jsonrpc":"2.0","id":${id},"method":"x/ask"}`)
      const written = ["9007199254740991", "-9007199254740991", "1.5", "9007199254740992", "9007199254740993"]
      yield* server.sendRaw(...written.map(ask), { ...ask("-9007199254740993"), method: "ping" })
      yield* macrotask
      const answers = (yield* server.received).flatMap((_) => _.method === undefined ? [_.message] : [])
      const [kept, refused] = [answers.slice(0, 3), answers.slice(3)]
      assert.deepStrictEqual(kept.map((_) => ["id" in _ && _.id, "result" in _]), [[2 ** 53 - 1, true], [
        1 - 2 ** 53,
        true
      ], [1.5, true]])
      assert.deepStrictEqual(refused.map((_) => JSON.stringify("id" in _ && _.id)), [
        `${2 ** 53}`,
        `${2 ** 53}`,
        `${-(2 ** 53)}`
      ])
      for (const answer of refused) {
        assert.deepStrictEqual("error" in answer && answer.error, {
          code: -32600,
          message: "Invalid request: an id that is a number must be within 2^53 - 1, and can be a text"
        })
      }
      assert.strictEqual((yield* session.stats).warnings.NotJsonRpc, 3)
    }))
})

describe("deadlines", () => {
  it.scoped("P01: a timed-out call gets one cancelled on the wire and is released", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [hanging] })
      const session = yield* McpSession.open(server.channel)
      const fiber = yield* Effect.fork(Effect.flip(call(session, "hang", { timeout: "5 seconds" })))
      const { id } = yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("4999 millis")
      assert.isNull(yield* Fiber.poll(fiber).pipe(Effect.map((_) => _._tag === "None" ? null : _)))
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "RequestTimeout" && error.kind === "idle" && error.millis === 5000)
      assert.strictEqual(error.executed, "maybe")
      assert.deepStrictEqual(yield* cancelledIds(server), [id])
      assert.deepStrictEqual((yield* server.stats).released.map((_) => _.id), [id])
    }))

  it.scoped("the default is 60 seconds, and many deadlines need one timer", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [hanging] })
      const session = yield* McpSession.open(server.channel)
      const order = yield* Ref.make<ReadonlyArray<number>>([])
      const seconds = [30, 10, 50, 20, 60, 40]
      for (const s of seconds) {
        yield* call(session, "hang", s === 60 ? undefined : { timeout: `${s} seconds` }).pipe(
          Effect.flip,
          Effect.zipRight(Ref.update(order, (_) => [..._, s])),
          Effect.fork
        )
      }
      yield* server.awaitStats((_) => _.handling === seconds.length)
      for (let i = 1; i <= 6; i++) {
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* Ref.get(order)).length, i)
      }
      assert.deepStrictEqual(yield* Ref.get(order), [10, 20, 30, 40, 50, 60])
      assert.strictEqual((yield* cancelledIds(server)).length, 6)
    }))

  it.scoped("P02: a time that is no time is refused before anything is sent", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel)
      for (const timeout of [0, -1, Number.NaN]) {
        const error = yield* Effect.flip(call(session, "echo", { timeout }))
        assert.strictEqual(error._tag, "ConfigInvalid")
      }
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 0)
      for (const timeout of [Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 53, null]) {
        yield* call(session, "echo", { timeout })
      }
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 4)
    }))

  it.scoped("P02: a deadline beyond the longest timer neither fires early nor is lost", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [hanging] })
      const session = yield* McpSession.open(server.channel)
      const fiber = yield* Effect.fork(Effect.flip(call(session, "hang", { timeout: "60 days" })))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("59 days")
      assert.strictEqual((yield* Fiber.poll(fiber))._tag, "None")
      yield* TestClock.adjust("1 days")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "RequestTimeout")
    }))

  it.scoped("P04: progress renews the idle time; P03: but never the total, which cancels once", () =>
    Effect.gen(function*() {
      const chatty: ScriptedServer.ScriptedTool = {
        name: "chatty",
        call: (_, request, peer) =>
          peer.sendRaw(ScriptedServer.progress(request, { progress: 1 })).pipe(
            Effect.delay("900 millis"),
            Effect.forever
          )
      }
      const server = yield* ScriptedServer.make({ tools: [chatty] })
      const session = yield* McpSession.open(server.channel)
      const fiber = yield* Effect.fork(
        Effect.flip(call(session, "chatty", { timeout: "1 second", maxTotal: "10 seconds" }))
      )
      yield* server.awaitReceived("tools/call")
      for (let i = 0; i < 99; i++) yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.poll(fiber))._tag, "None")
      yield* TestClock.adjust("100 millis")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "RequestTimeout" && error.kind === "total" && error.millis === 10_000)
      assert.strictEqual((yield* cancelledIds(server)).length, 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* cancelledIds(server)).length, 1)
    }))

  it.scoped("P03: the total needs no progress to pass", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [hanging] })
      const session = yield* McpSession.open(server.channel)
      const fiber = yield* Effect.fork(Effect.flip(call(session, "hang", { timeout: null, maxTotal: "300 millis" })))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("300 millis")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "RequestTimeout")
    }))
})

describe("interruption", () => {
  it.scoped("P07: sends exactly one cancelled, releases the request, and stays an interruption", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [hanging] })
      const session = yield* McpSession.open(server.channel)
      const fiber = yield* Effect.fork(call(session, "hang"))
      const { id } = yield* server.awaitReceived("tools/call")
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      yield* server.awaitReceived("notifications/cancelled")
      assert.deepStrictEqual(yield* cancelledIds(server), [id])
      assert.deepStrictEqual((yield* server.stats).released.map((_) => _.id), [id])
      yield* McpSession.ping(session)
      assert.strictEqual((yield* session.stats).inFlight, 0)
    }))

  it.scoped("P08: interrupting after the answer sends nothing", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel)
      for (let i = 0; i < 100; i++) {
        const fiber = yield* Effect.fork(call(session, "echo"))
        yield* Fiber.join(fiber)
        yield* Fiber.interrupt(fiber)
      }
      assert.deepStrictEqual(yield* cancelledIds(server), [])
    }))

  it.effect("P09, P11: interrupting open at every stage leaves nothing, and never cancels initialize", () =>
    Effect.gen(function*() {
      const stages: ReadonlyArray<(reached: Effect.Effect<unknown>) => ScriptedServer.Options> = [
        (reached) => ({ start: () => Effect.zipRight(reached, Effect.never) }),
        (reached) => ({ handlers: { initialize: () => Effect.zipRight(reached, Effect.never) } }),
        (reached) => ({
          accept: (message) =>
            message.method === "notifications/initialized" ? Effect.zipRight(reached, Effect.never) : Effect.void
        }),
        (reached) => ({ listen: () => Effect.zipRight(reached, Effect.never) }),
        (reached) => ({
          capabilities: { logging: {} },
          handlers: { "logging/setLevel": () => Effect.zipRight(reached, Effect.never) }
        })
      ]
      for (const stage of stages) {
        const reached = yield* Deferred.make<void>()
        const server = yield* ScriptedServer.make(stage(Deferred.succeed(reached, undefined)))
        const fiber = yield* McpSession.open(server.channel, { logLevel: "info" }).pipe(
          Effect.zipRight(Effect.never),
          Effect.scoped,
          Effect.fork
        )
        yield* Deferred.await(reached)
        const exit = yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.isInterrupted(exit))
        const { attempts, closed, live, opened } = yield* server.stats
        assert.deepStrictEqual({ live, attempts }, { live: [], attempts: 1 })
        assert.strictEqual(closed, opened)
        const initialize = (yield* server.receivedOf("initialize"))[0]
        assert.notInclude(yield* cancelledIds(server), initialize?.id)
      }
    }))

  it.effect("interruption sweep: open, request and close, after every number of scheduler steps", () =>
    Effect.gen(function*() {
      for (let steps = 0; steps < 120; steps++) {
        const server = yield* ScriptedServer.make()
        const fiber = yield* Effect.gen(function*() {
          const session = yield* McpSession.open(server.channel)
          yield* call(session, "echo")
          yield* session.notify("notifications/roots/list_changed")
        }).pipe(Effect.scoped, Effect.withMaxOpsBeforeYield(20), Effect.fork)
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        const stats = yield* server.stats
        assert.deepStrictEqual(
          { steps, live: stats.live, handling: stats.handling, open: stats.opened - stats.closed },
          { steps, live: [], handling: 0, open: 0 }
        )
      }
    }))
})

describe("progress", () => {
  it.scoped("P05: progress that arrives in one chunk with the result is delivered, before the call returns", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          "tools/call": (request) =>
            Effect.succeed(ScriptedServer.before(
              [1, 2, 3].map((progress) => ScriptedServer.progress(request, { progress, total: 3 })),
              { content: [] }
            ))
        }
      })
      const session = yield* McpSession.open(server.channel)
      const seen: Array<number> = []
      yield* call(session, "echo", {
        onProgress: (_) => Effect.zipRight(Effect.yieldNow(), Effect.sync(() => seen.push(_.progress)))
      })
      assert.deepStrictEqual(seen, [1, 2, 3])
    }))

  it.scoped("P06: a progress handler that fails, dies or hangs does not hurt the call", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          "tools/call": (request) =>
            Effect.succeed(ScriptedServer.before([ScriptedServer.progress(request, { progress: 1 })], { content: [] }))
        }
      })
      const session = yield* McpSession.open(server.channel)
      yield* call(session, "echo", { onProgress: () => Effect.fail("no") })
      yield* call(session, "echo", { onProgress: () => Effect.die("bug") })
      yield* call(session, "echo", {
        onProgress: () => {
          throw new Error("bug")
        }
      })
      assert.strictEqual((yield* session.stats).warnings.HandlerFailed, 3)
      const fiber = yield* Effect.fork(call(session, "echo", { onProgress: () => Effect.never }))
      yield* server.awaitStats((_) => _.handling === 0)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
    }))

  it.scoped("progress: none is told after the end of the call, at whatever moment it is interrupted", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          "tools/call": (request) =>
            Effect.succeed(ScriptedServer.before(
              Array.from({ length: 5 }, (_, i) => ScriptedServer.progress(request, { progress: i })),
              { content: [] }
            ))
        }
      })
      const session = yield* McpSession.open(server.channel)
      let told = 0
      for (let steps = 0; steps < 80; steps++) {
        const late: Array<number> = []
        let isOver = false
        const called = call(session, "echo", {
          onProgress: ({ progress }) => Effect.sync(() => isOver ? late.push(progress) : told++)
        })
        // Whoever has called goes on, and its fibers do not end with it.
        const fiber = yield* Effect.uninterruptibleMask((restore) =>
          Effect.exit(restore(called)).pipe(
            Effect.tap(() => Effect.sync(() => isOver = true)),
            Effect.zipRight(macrotask),
            Effect.forkDaemon
          )
        )
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
        yield* Fiber.interruptFork(fiber)
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(late, [], `after ${steps} turns`)
      }
      assert.isAbove(told, 20)
    }))

  it.scoped("progress that waits for a slow reader is bounded in size: the oldest is dropped, the newest is always there", () =>
    Effect.gen(function*() {
      const messages = Array.from({ length: 20 }, (_, i) => `${i} `.padEnd(i === 19 ? 20_000 : 3000))
      const server = yield* ScriptedServer.make({
        config: yield* configWith({ limits: { messageBytes: 10_000 } }),
        handlers: {
          "tools/call": (request) => {
            const told = messages.map((message, progress) => ScriptedServer.progress(request, { progress, message }))
            const { last = 20 } = request.params.arguments as { readonly last?: number }
            return Effect.succeed(ScriptedServer.before(told.slice(0, last), { content: [] }))
          }
        }
      })
      const session = yield* McpSession.open(server.channel)
      const told = (last: number) =>
        Effect.gen(function*() {
          const seen: Array<number> = []
          const onProgress = ({ progress }: McpProtocol.Progress) => Effect.sync(() => seen.push(progress))
          yield* McpSession.callTool(session, { name: "echo", arguments: { last } }, { onProgress })
          return seen
        })
      // It comes in one go, before its reader is there.
      assert.deepStrictEqual(yield* told(3), [0, 1, 2])
      assert.deepStrictEqual(yield* told(19), [16, 17, 18])
      assert.deepStrictEqual(yield* told(20), [19])
    }))

  it.scoped("progress of nobody is counted", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(server.channel)
      yield* server.notify("notifications/progress", { progressToken: 99, progress: 1 })
      yield* McpSession.ping(session)
      assert.strictEqual((yield* session.stats).warnings.UnknownProgress, 1)
    }))
})

describe("notifications", () => {
  it.scoped("P20: arrive in order, and before the answer that follows them on the wire", () =>
    Effect.gen(function*() {
      const names = Array.from({ length: 50 }, (_, i) => `notifications/n${i}`)
      const server = yield* ScriptedServer.make({
        handlers: {
          "x/run": () => Effect.succeed(ScriptedServer.before(names.map((_) => ScriptedServer.notification(_)), {}))
        }
      })
      const handled: Array<string> = []
      const session = yield* McpSession.open(server.channel, {
        handlers: { onNotification: (_) => Effect.sync(() => handled.push(_.method)) }
      })
      yield* session.request("x/run")
      assert.deepStrictEqual(handled, names)
      const got = yield* Stream.runCollect(Stream.take(session.incoming, names.length))
      assert.deepStrictEqual(Chunk.toReadonlyArray(got).map((_) => _.method), names)
    }))

  it.scoped("P20: a slow handler delays the next notification, never an answer", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const order: Array<string> = []
      const session = yield* McpSession.open(server.channel, {
        handlers: {
          onNotification: (_) => Effect.sync(() => order.push(_.method)).pipe(Effect.delay("1 second"))
        }
      })
      yield* server.notify("a")
      yield* server.notify("b")
      yield* McpSession.ping(session)
      assert.deepStrictEqual(order, [])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(order, ["a", "b"])
    }))

  it.scoped("a flood is bounded: the oldest are dropped and counted", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { notifications: 10 } })
      const server = yield* ScriptedServer.make({ config })
      const session = yield* McpSession.open(server.channel)
      yield* server.sendRaw(...Array.from({ length: 1000 }, (_, i) => ScriptedServer.notification(`n${i}`)))
      yield* McpSession.ping(session)
      const got = yield* Stream.runCollect(Stream.take(session.incoming, 10))
      assert.deepStrictEqual(
        Chunk.toReadonlyArray(got).map((_) => _.method),
        Array.from({ length: 10 }, (_, i) => `n${990 + i}`)
      )
      assert.strictEqual((yield* session.stats).warnings.DroppedNotification, 990)
    }))

  it.scoped("a flood of large ones is bounded in size: the oldest are dropped and counted, the newest is always there", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { messageBytes: 10_000 } })
      const server = yield* ScriptedServer.make({ config })
      const session = yield* McpSession.open(server.channel)
      const flood = (names: ReadonlyArray<string>, size: number) =>
        Effect.zipRight(server.sendRaw(...names.map((_) => large(_, size))), McpSession.ping(session))
      const read = (count: number) =>
        Effect.map(
          Stream.runCollect(Stream.take(session.incoming, count)),
          (all) => Chunk.toReadonlyArray(all).map((_) => _.method)
        )
      const dropped = Effect.map(session.stats, (_) => _.warnings.DroppedNotification)

      yield* flood(Array.from({ length: 100 }, (_, i) => `n${i}`), 3000)
      assert.strictEqual(yield* dropped, 97)
      assert.deepStrictEqual(yield* read(3), ["n97", "n98", "n99"])
      yield* flood(["a", "b", "c"], 3000)
      assert.deepStrictEqual(yield* read(3), ["a", "b", "c"])
      assert.strictEqual(yield* dropped, 97, "what was read has given its room back")
      yield* flood(["d", "e", "f"], 3000)
      yield* flood(["as large as may be"], 10_000)
      assert.deepStrictEqual(yield* read(1), ["as large as may be"])
      assert.strictEqual(yield* dropped, 100)
    }))

  it.scoped("what waits for a slow handler is bounded in size, and what it does not wait for is not", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { messageBytes: 10_000 } })
      const server = yield* ScriptedServer.make({ config })
      const handled: Array<string> = []
      const session = yield* McpSession.open(server.channel, {
        handlers: {
          onNotification: ({ method }) => {
            const told = Effect.sync(() => handled.push(method))
            return method.startsWith("slow") ? Effect.delay(told, "1 second") : told
          }
        }
      })
      const quick = Array.from({ length: 20 }, (_, i) => `quick ${i}`)
      const slow = Array.from({ length: 20 }, (_, i) => `slow ${i}`)
      yield* server.sendRaw(...[...quick, ...slow].map((_) => large(_, 3000)))
      yield* McpSession.ping(session)
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(handled, [...quick, "slow 0", "slow 17", "slow 18", "slow 19"])
    }))

  it("however deep a notification hides its size, it is seen", () => {
    const { sizeOf } = Inbox.boundsOf(McpConfig.defaultLimits)
    const text = "x".repeat(100_000)
    let params: McpProtocol.JsonObject = { text }
    while (McpProtocol.freeze({ params })) params = { params }
    assert.isTrue(McpProtocol.freeze(params))
    assert.isAbove(sizeOf({ method: "n", params }), text.length)
    assert.isAbove(sizeOf({ method: text, params: {} }), text.length)
  })

  it.scoped("P15, P16: handlers that fail, die or throw are counted and the next notification is handled", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const seen = yield* Deferred.make<void>()
      const session = yield* McpSession.open(server.channel, {
        handlers: {
          onNotification: (_) => {
            if (_.method === "throw") throw new Error("bug")
            if (_.method === "die") return Effect.die("bug")
            if (_.method === "interrupt") return Effect.interrupt
            return _.method === "last" ? Effect.asVoid(Deferred.succeed(seen, undefined)) : Effect.fail("no")
          }
        }
      })
      for (const method of ["throw", "die", "interrupt", "fail", "last"]) yield* server.notify(method)
      yield* Deferred.await(seen)
      assert.strictEqual((yield* session.stats).warnings.HandlerFailed, 4)
    }))

  it.scoped("P20: a handler that causes the next notification has ended before that one is handled", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const order: Array<string> = []
      const session = yield* McpSession.open(server.channel, {
        handlers: {
          onNotification: ({ method }) =>
            Effect.gen(function*() {
              order.push(`start ${method}`)
              if (method === "a") yield* server.notify("b")
              yield* Effect.yieldNow()
              order.push(`end ${method}`)
            })
        }
      })
      yield* server.notify("a")
      yield* McpSession.ping(session)
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      assert.deepStrictEqual(order, ["start a", "end a", "start b", "end b"])
    }))

  it.scoped("log messages reach their handler, with an unknown level taken for info", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const logs: Array<McpProtocol.LogMessage> = []
      const session = yield* McpSession.open(server.channel, {
        handlers: { onLog: (_) => Effect.sync(() => logs.push(_)) }
      })
      yield* server.notify("notifications/message", { level: "error", logger: "db", data: { a: 1 } })
      yield* server.notify("notifications/message", { level: "loud", data: "x" })
      yield* McpSession.ping(session)
      assert.deepStrictEqual(logs, [{ level: "error", logger: "db", data: { a: 1 } }, { level: "info", data: "x" }])
    }))
})

const large = (method: string, size: number) => ScriptedServer.notification(method, { text: "x".repeat(size) })

const deep = (levels: number): McpProtocol.JsonObject => {
  let value: McpProtocol.JsonObject = {}
  for (let i = 0; i < levels; i++) value = { value }
  return value
}
