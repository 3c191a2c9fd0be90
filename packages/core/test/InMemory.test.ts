import { assert, describe, it } from "@effect/vitest"
import { ClientHandlers, McpConfig, type McpError, McpProtocol, McpSession, McpTransport } from "@mcp-runtime/core"
import * as LeakCheck from "@mcp-runtime/testing/LeakCheck"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { Chunk, Deferred, Effect, Exit, Fiber, Option, Scope, Stream, TestClock } from "effect"
import { z } from "zod"

/** Through the service, as an application does it. */
const open = (
  server: () => unknown,
  options: {
    readonly handlers?: ClientHandlers.Handlers
    readonly timeouts?: object
  } = {}
): Effect.Effect<McpSession.McpSession, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    const config = yield* McpConfig.decodeUnknown({
      name: "inside",
      transport: "inMemory",
      server,
      timeouts: options.timeouts
    })
    const channel = yield* transport.channel(config)
    return yield* McpSession.open(channel, { handlers: options.handlers })
  }).pipe(Effect.provide(McpTransport.layerFetch))

const sdkServer = () =>
  new McpServer({ name: "sdk", version: "1.2.3" }, { capabilities: { logging: {} }, instructions: "be kind" })

const text = (text: string) => ({ content: [{ type: "text" as const, text }] })

const call = (session: McpSession.McpSession, name: string, args: object = {}, options?: McpSession.RequestOptions) =>
  McpSession.callTool(session, { name, arguments: { ...args } }, options)

/** A server by hand: it answers `initialize` and `ping`, and whatever else the test wants. */
const handMade = (
  options: {
    readonly connect?: (end: McpConfig.InProcessTransport) => Promise<void>
    readonly close?: () => Promise<void>
    readonly onmessage?: (message: McpProtocol.JsonRpcRequest, end: McpConfig.InProcessTransport) => boolean
    readonly onclose?: () => void
  } = {}
) => {
  const log: Array<string> = []
  const connect = (end: McpConfig.InProcessTransport): Promise<void> => {
    Object.assign(end, {
      onclose: () => {
        log.push("onclose")
        options.onclose?.()
      },
      onmessage: (message: McpProtocol.JsonRpcRequest) => {
        log.push(message.method)
        if (options.onmessage?.(message, end) === true || message.id === undefined) return
        const result = message.method === "initialize"
          ? { protocolVersion: McpProtocol.latestProtocolVersion, capabilities: { tools: {} } }
          : {}
        void end.send({ jsonrpc: "2.0", id: message.id, result })
      }
    })
    return options.connect === undefined ? end.start() : options.connect(end)
  }
  const close = () => {
    log.push("close")
    return options.close === undefined ? Promise.resolve() : options.close()
  }
  return { log, connect, close }
}

describe("a server of the SDK", () => {
  it.live("lists and calls tools, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const server = sdkServer()
      server.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => text(String(a + b)))
      server.registerTool("fail", {}, () => Promise.reject(new Error("no")))
      const session = yield* open(() => server)
      assert.strictEqual(session.info.transport, "inMemory")
      assert.strictEqual(session.info.implementation.version, "1.2.3")
      assert.strictEqual(session.info.instructions, "be kind")
      assert.strictEqual(session.info.sessionId, undefined)
      const { dropped, items } = yield* McpSession.listTools(session)
      assert.deepStrictEqual(items.map((_) => _.name), ["add", "fail"])
      assert.deepStrictEqual(dropped, [])
      assert.deepStrictEqual((yield* call(session, "add", { a: 2, b: 3 })).content, text("5").content)
      assert.isTrue((yield* call(session, "fail")).isError)
      assert.isTrue((yield* call(session, "add", { a: "x" })).isError)
      yield* McpSession.ping(session)
    }).pipe(LeakCheck.scoped))

  it.live("P05: sends progress, and log messages, before the result", () =>
    Effect.gen(function*() {
      const server = sdkServer()
      server.registerTool("work", {}, ({ _meta, sendNotification }) =>
        [1, 2, 3].reduce(
          (before, progress) =>
            before.then(() =>
              sendNotification({
                method: "notifications/progress",
                params: { progressToken: _meta!.progressToken!, progress, total: 3 }
              })
            ),
          Promise.resolve()
        ).then(() => server.sendLoggingMessage({ level: "error", data: { a: 1 } })).then(() => text("done")))
      const logs: Array<McpProtocol.LogMessage> = []
      const progress: Array<number> = []
      const session = yield* open(() => server, { handlers: { onLog: (_) => Effect.sync(() => logs.push(_)) } })
      yield* call(session, "work", {}, { onProgress: (_) => Effect.sync(() => progress.push(_.progress)) })
      assert.deepStrictEqual(progress, [1, 2, 3])
      assert.deepStrictEqual(logs, [{ level: "error", data: { a: 1 } }])
    }).pipe(LeakCheck.scoped))

  it.live("asks for sampling, elicitation and roots while it runs a tool", () =>
    Effect.gen(function*() {
      const server = sdkServer()
      server.registerTool("ask", {}, () =>
        Promise.all([
          server.server.createMessage({
            messages: [{ role: "user", content: { type: "text", text: "hi" } }],
            maxTokens: 10
          }),
          server.server.elicitInput({
            message: "who?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
          }),
          server.server.listRoots()
        ]).then((answers) => text(JSON.stringify(answers))))
      const session = yield* open(() => server, {
        handlers: {
          sampling: {
            create: ({ maxTokens }) =>
              Effect.succeed({ role: "assistant", model: `m${maxTokens}`, content: { type: "text", text: "yo" } })
          },
          elicitation: { form: ({ message }) => Effect.succeed({ action: "accept", content: { name: message } }) },
          roots: ClientHandlers.rootsOf({ uri: "file:///a", name: "a" })
        }
      })
      const result = yield* call(session, "ask")
      assert.deepStrictEqual(JSON.parse((result.content[0] as McpProtocol.TextContent).text), [
        { role: "assistant", model: "m10", content: { type: "text", text: "yo" } },
        { action: "accept", content: { name: "who?" } },
        { roots: [{ uri: "file:///a", name: "a" }] }
      ])
    }).pipe(LeakCheck.scoped))

  it.live("P07: an interrupted call aborts the tool", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const aborted = yield* Deferred.make<void>()
      const server = sdkServer()
      server.registerTool("hang", {}, (extra) =>
        new Promise((resolve) => {
          extra.signal.addEventListener("abort", () => {
            Deferred.unsafeDone(aborted, Effect.void)
            resolve(text("too late"))
          })
          Deferred.unsafeDone(started, Effect.void)
        }))
      const session = yield* open(() => server)
      const fiber = yield* Effect.fork(call(session, "hang"))
      yield* Deferred.await(started)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      yield* Deferred.await(aborted)
      yield* McpSession.ping(session)
    }).pipe(LeakCheck.scoped))

  it.live("S11: the server's own close ends the session, and whoever waits", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const server = sdkServer()
      server.registerTool("hang", {}, () => {
        Deferred.unsafeDone(started, Effect.void)
        return new Promise(() => {})
      })
      const session = yield* open(() => server)
      const fiber = yield* Effect.fork(Effect.flip(call(session, "hang")))
      yield* Deferred.await(started)
      yield* Effect.promise(() => server.close())
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "ConnectionClosed" && error.reason === "Reset" && error.executed === "maybe")
      assert.include(error.message, "in-process server has closed")
      assert.strictEqual((yield* Deferred.await(session.closed))._tag, "ConnectionClosed")
      assert.strictEqual((yield* Effect.flip(McpSession.ping(session))).executed, "no")
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(session.incoming)), [])
    }).pipe(LeakCheck.scoped))

  it.live("the end of the session closes the server, once per session", () =>
    Effect.gen(function*() {
      let made = 0
      let closed = 0
      const factory = () => {
        made++
        const server = sdkServer()
        Object.assign(server.server, { onclose: () => closed++ })
        return server
      }
      const transport = yield* McpTransport.McpTransport
      const channel = yield* transport.channel(
        yield* McpConfig.decode({ name: "inside", transport: "inMemory", server: factory })
      )
      assert.strictEqual(made, 0, "nothing is made before a session is opened")
      for (let i = 1; i <= 3; i++) {
        yield* Effect.scoped(McpSession.open(channel))
        assert.deepStrictEqual([made, closed], [i, i])
      }
      yield* Effect.scoped(Effect.zip(McpSession.open(channel), McpSession.open(channel)))
      assert.deepStrictEqual([made, closed], [5, 5])
    }).pipe(Effect.provide(McpTransport.layerFetch), LeakCheck.scoped))

  it.live("what arrives is frozen, what the server holds is not; and neither sees the other's objects", () =>
    Effect.gen(function*() {
      const tools = { tools: [{ name: "own", inputSchema: { type: "object" as const, properties: {} } }] }
      const server = new Server({ name: "low", version: "1" }, { capabilities: { tools: {} } })
      server.setRequestHandler(ListToolsRequestSchema, () => tools)
      const session = yield* open(() => server)
      const { items } = yield* McpSession.listTools(session)
      assert.deepStrictEqual(items, tools.tools)
      assert.isTrue(Object.isFrozen(items[0]!.inputSchema))
      assert.isFalse(Object.isFrozen(tools) || Object.isFrozen(tools.tools) || Object.isFrozen(tools.tools[0]))
      tools.tools[0]!.name = "changed"
      assert.strictEqual(items[0]!.name, "own")
    }).pipe(LeakCheck.scoped))
})

describe("servers that misbehave", () => {
  const failing: Record<string, () => unknown> = {
    "a factory that throws": () => {
      throw new Error("no licence")
    },
    "a factory that gives nothing": () => undefined,
    "a factory that gives a promise": () => Promise.resolve(handMade()),
    "connect that rejects": () => handMade({ connect: () => Promise.reject(new Error("no licence")) }),
    "connect that throws": () =>
      handMade({
        connect: () => {
          throw new Error("no licence")
        }
      }),
    "connect that rejects when it has started": () =>
      handMade({ connect: (end) => end.start().then(() => Promise.reject(new Error("no licence"))) }),
    "connect that throws when it has started": () =>
      handMade({
        connect: (end) => {
          void end.start()
          throw new Error("no licence")
        }
      })
  }
  for (const [what, factory] of Object.entries(failing)) {
    it.live(`P13: ${what} is HandshakeFailed, and says why`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(open(factory))
        assert(error._tag === "HandshakeFailed" && error.operation === "open" && error.executed === "no")
        assert.include(error.message, what.includes("gives") ? `no function "connect"` : "no licence")
      }).pipe(LeakCheck.scoped))
  }

  for (
    const [what, factory] of Object.entries({
      "gives the server": async () => handMade(),
      rejects: () => Promise.reject(new Error("no licence"))
    })
  ) {
    it.live(`an async function that ${what} is HandshakeFailed, and no rejection that nobody handles`, () =>
      Effect.gen(function*() {
        const unhandled: Array<unknown> = []
        const note = (error: unknown) => void unhandled.push(error)
        yield* Effect.acquireRelease(
          Effect.sync(() => process.on("unhandledRejection", note)),
          () => Effect.sync(() => process.off("unhandledRejection", note))
        )
        const error = yield* Effect.flip(open(factory as never))
        assert(error._tag === "HandshakeFailed", error._tag)
        assert.include(error.message, "since it is a promise")
        yield* Effect.promise(() => new Promise((resolve) => void setImmediate(resolve)))
        assert.deepStrictEqual(unhandled, [])
      }).pipe(LeakCheck.scoped))
  }

  it.scoped("a server whose connect waits for the client, which waits for it, is connected all the same", () =>
    Effect.gen(function*() {
      let initialized = () => {}
      const server = handMade({
        connect: (end) => end.start().then(() => new Promise<void>((resolve) => void (initialized = resolve))),
        onmessage: ({ method }) => {
          if (method === "notifications/initialized") initialized()
          return false
        }
      })
      const opening = yield* Effect.fork(open(() => server))
      yield* Effect.yieldNow()
      yield* TestClock.adjust("100 millis")
      const session = yield* Fiber.join(opening)
      yield* McpSession.ping(session)
      assert.deepStrictEqual(server.log, ["initialize", "notifications/initialized", "ping"])
    }))

  it.scoped("the end of such a server, when its connect fails at last, is that of the session, and says why", () =>
    Effect.gen(function*() {
      let fail = (_: Error) => {}
      const server = handMade({
        connect: (end) => end.start().then(() => new Promise<void>((_, reject) => void (fail = reject)))
      })
      const opening = yield* Effect.fork(open(() => server))
      yield* Effect.yieldNow()
      yield* TestClock.adjust("100 millis")
      const session = yield* Fiber.join(opening)
      yield* McpSession.ping(session)
      fail(new Error("no licence"))
      const error = yield* Deferred.await(session.closed)
      assert(error._tag === "ConnectionClosed")
      assert.include(error.message, "no licence")
      assert.include(server.log, "onclose")
    }))

  it.live("P13: a server whose connect rejects is closed", () =>
    Effect.gen(function*() {
      const server = handMade({ connect: () => Promise.reject(new Error("no")) })
      yield* Effect.flip(open(() => server))
      assert.deepStrictEqual(server.log, ["onclose", "close"])
    }).pipe(LeakCheck.scoped))

  it.scoped("P13: connect that hangs ends with the deadline of the handshake, and the server is closed", () =>
    Effect.gen(function*() {
      const server = handMade({ connect: () => new Promise(() => {}) })
      const fiber = yield* Effect.fork(Effect.flip(open(() => server, { timeouts: { handshake: "3 seconds" } })))
      yield* Effect.yieldNow()
      yield* TestClock.adjust("3 seconds")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "RequestTimeout" && error.kind === "handshake")
      assert.deepStrictEqual(server.log, ["onclose", "close"])
    }))

  it.scoped("P11: an interruption while it connects closes it", () =>
    Effect.gen(function*() {
      const connecting = yield* Deferred.make<void>()
      const server = handMade({
        connect: () => {
          Deferred.unsafeDone(connecting, Effect.void)
          return new Promise(() => {})
        }
      })
      const fiber = yield* Effect.fork(open(() => server))
      yield* Deferred.await(connecting)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.deepStrictEqual(server.log, ["onclose", "close"])
    }))

  it.scoped("P11: an interruption in the very turn in which the server is made closes it", () =>
    Effect.gen(function*() {
      const server = handMade()
      const fiber: Fiber.RuntimeFiber<unknown, unknown> = yield* Effect.fork(open(() => {
        fiber.unsafeInterruptAsFork(fiber.id())
        return server
      }, { timeouts: { handshake: null } }))
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(server.log, ["close"], "and never connects it")
    }))

  it.live("a server that throws when it is given a message loses that request only", () =>
    Effect.gen(function*() {
      const server = handMade({
        onmessage: (message) => {
          if (message.method.startsWith("x/")) throw new Error("bug")
          return false
        }
      })
      const session = yield* open(() => server)
      const error = yield* Effect.flip(session.request("x/boom"))
      assert(error._tag === "ResponseLost" && error.executed === "maybe" && error.operation === "x/boom")
      assert.strictEqual((yield* Effect.flip(session.notify("x/boom")))._tag, "ResponseLost")
      yield* McpSession.ping(session)
      assert.strictEqual((yield* session.stats).inFlight, 0)
    }).pipe(LeakCheck.scoped))

  it.live("a server that sends what JSON can't hold is told so, and the session goes on", () =>
    Effect.gen(function*() {
      const rejected = yield* Deferred.make<unknown>()
      const server = handMade({
        onmessage: (message, end) => {
          if (message.method !== "x/big") return false
          end.send({ jsonrpc: "2.0", id: message.id, result: { n: 1n } }).catch((error: unknown) => {
            Deferred.unsafeDone(rejected, Effect.succeed(error))
          })
          return false
        }
      })
      const session = yield* open(() => server)
      yield* session.request("x/big")
      assert.instanceOf(yield* Deferred.await(rejected), TypeError)
    }).pipe(LeakCheck.scoped))

  it.live("a server that speaks after the end is refused, and not heard", () =>
    Effect.gen(function*() {
      let end: McpConfig.InProcessTransport | undefined
      const server = handMade({
        connect: (_) => {
          end = _
          return _.start()
        }
      })
      const scope = yield* Scope.make()
      const session = yield* Scope.extend(open(() => server), scope)
      yield* Scope.close(scope, Exit.void)
      const { received } = yield* session.stats
      const late = yield* Effect.tryPromise(() => end!.send({ jsonrpc: "2.0", method: "late" })).pipe(Effect.flip)
      assert.include(String(late.error), "Not connected")
      yield* Effect.promise(() => end!.close())
      assert.strictEqual((yield* session.stats).received, received)
      assert.strictEqual(server.log.filter((_) => _ === "onclose").length, 1)
    }).pipe(LeakCheck.scoped))

  it.live("P14: close that rejects, throws, or is missing, and onclose that throws, do no harm", () =>
    Effect.gen(function*() {
      const throwing = () => {
        throw new Error("bug")
      }
      const rejecting = handMade({ close: () => Promise.reject(new Error("bug")), onclose: throwing })
      const servers = [
        rejecting,
        handMade({ close: throwing }),
        { connect: handMade().connect },
        { connect: handMade().connect, close: () => undefined }
      ]
      for (const server of servers) yield* Effect.scoped(open(() => server))
      assert.deepStrictEqual(rejecting.log.slice(-2), ["onclose", "close"])
    }).pipe(LeakCheck.scoped))

  it.effect("P14: close that hangs is waited for within its time, and may reject afterwards", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<(error: Error) => void>()
      const server = handMade({
        close: () =>
          new Promise((_, reject) => {
            Deferred.unsafeDone(asked, Effect.succeed(reject))
          })
      })
      const scope = yield* Scope.make()
      yield* Scope.extend(open(() => server, { timeouts: { close: "5 seconds" } }), scope)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      const reject = yield* Deferred.await(asked)
      assert.deepStrictEqual(server.log.slice(-2), ["onclose", "close"])
      yield* TestClock.adjust("4999 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      reject(new Error("too late"))
    }).pipe(LeakCheck.noLeaks))

  it.effect("P09, P11: interruption sweep: each server that was made is closed, once", () =>
    Effect.gen(function*() {
      let finished = 0
      for (let steps = 0; steps < 1000 && finished < 3; steps++) {
        let made = 0
        let closed = 0
        const fiber = yield* Effect.gen(function*() {
          const session = yield* open(() => {
            made++
            return handMade({
              close: () => {
                closed++
                return Promise.resolve()
              }
            })
          })
          yield* McpSession.ping(session)
        }).pipe(Effect.scoped, Effect.withMaxOpsBeforeYield(20), Effect.fork)
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
        if (Exit.isSuccess(yield* Fiber.interrupt(fiber))) finished++
        assert.deepStrictEqual({ steps, made }, { steps, made: closed })
      }
      assert.strictEqual(finished, 3)
    }).pipe(LeakCheck.noLeaks))
})
