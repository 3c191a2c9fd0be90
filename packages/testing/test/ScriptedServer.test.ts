/**
 * The scripted server as a wire: what a protocol engine would see of it.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError, type McpProtocol, McpTransport } from "@mcp-runtime/core"
import { ScriptedServer } from "@mcp-runtime/testing"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"

type Event = readonly [kind: string, ...details: ReadonlyArray<unknown>]

interface Wire {
  readonly transport: McpTransport.MessageTransport
  /** What the server said, without `jsonrpc`. */
  readonly events: Array<Event>
  readonly awaitEvents: (count: number) => Effect.Effect<ReadonlyArray<Event>>
  readonly request: (id: McpProtocol.RequestId, method: string, params?: McpProtocol.JsonObject) => void
  readonly notify: (method: string, params?: McpProtocol.JsonObject) => Effect.Effect<McpError.McpError | undefined>
  readonly onEvent: { current: ((event: Event) => void) | undefined }
}

const withoutVersion = (message: unknown): unknown => {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return message
  const { jsonrpc: _, ...rest } = message as McpProtocol.JsonObject
  return rest
}

/** Opens a session and records every event. */
const openWire = (channel: McpTransport.Channel): Effect.Effect<Wire, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const events: Array<Event> = []
    const waiting = new Set<() => void>()
    const onEvent: Wire["onEvent"] = { current: undefined }
    const add = (...event: Event) => {
      events.push(event)
      onEvent.current?.(event)
      for (const look of waiting) look()
    }
    const transport = yield* channel.open({
      message: (message) => add("message", withoutVersion(message)),
      requestFailed: (id, error) => add("requestFailed", id, error._tag, error.executed),
      closed: (error) => add("closed", error._tag),
      warning: (kind, detail) => add("warning", kind, detail),
      serverStream: (state) => add("serverStream", state)
    })
    return {
      transport,
      events,
      onEvent,
      awaitEvents: (count) =>
        Effect.async((resume) => {
          const look = () => {
            if (events.length < count) return
            waiting.delete(look)
            resume(Effect.succeed(events))
          }
          waiting.add(look)
          look()
          return Effect.sync(() => waiting.delete(look))
        }),
      request: (id, method, params) => transport.send({ jsonrpc: "2.0", id, method, params }),
      notify: (method, params) =>
        Effect.async((resume) => {
          transport.send({ jsonrpc: "2.0", method, params }, (error) => resume(Effect.succeed(error)))
        })
    }
  })

const start = (options: ScriptedServer.Options = {}) =>
  Effect.gen(function*() {
    const server = yield* ScriptedServer.make(options)
    const wire = yield* openWire(server.channel)
    return { server, wire }
  })

const hanging: ScriptedServer.Handler = () => Effect.never

const refused = new McpError.ConnectFailed({
  server: "scripted",
  operation: "open",
  executed: "no",
  reason: "Refused",
  url: "http://127.0.0.1:1/",
  detail: "refused"
})

describe("ScriptedServer without a script", () => {
  it.scoped("negotiates, answers ping, lists and calls its tool", () =>
    Effect.gen(function*() {
      const { wire } = yield* start()
      wire.request(1, "initialize", { protocolVersion: "2025-03-26" })
      wire.request(2, "initialize", { protocolVersion: "1999-01-01" })
      wire.request(3, "ping")
      wire.request(4, "tools/list")
      wire.request(5, "tools/call", { name: "echo", arguments: { a: 1 } })
      wire.request(6, "tools/call", { name: "none" })
      wire.request(7, "resources/list")
      const events = yield* wire.awaitEvents(7)
      const serverInfo = { name: "scripted", version: "0.0.0" }
      assert.deepStrictEqual(events.map(([, message]) => message), [
        { id: 1, result: { protocolVersion: "2025-03-26", capabilities: { tools: {} }, serverInfo } },
        { id: 2, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } },
        { id: 3, result: {} },
        {
          id: 4,
          result: {
            tools: [{ inputSchema: { type: "object" }, name: "echo", description: "Gives its arguments back" }]
          }
        },
        { id: 5, result: { content: [{ type: "text", text: `{"a":1}` }] } },
        { id: 6, error: { code: -32602, message: `there is no tool "none"` } },
        { id: 7, error: { code: -32601, message: "Method not found" } }
      ])
    }))

  it.scoped("logs everything in order with the time of the test's clock, before anything is answered", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start()
      wire.request("a", "ping")
      yield* TestClock.adjust("5 seconds")
      yield* wire.notify("notifications/initialized", { x: 1 })
      wire.request(7, "tools/call", { name: "echo" })
      assert.deepStrictEqual(
        (yield* server.received).map((_) => [_.session, _.at, _.id, _.method, _.params]),
        [
          [1, 0, "a", "ping", {}],
          [1, 5000, undefined, "notifications/initialized", { x: 1 }],
          [1, 5000, 7, "tools/call", { name: "echo" }]
        ]
      )
      assert.strictEqual((yield* server.receivedOf("ping")).length, 1)
    }))

  it.scoped("gives pages of tools", () =>
    Effect.gen(function*() {
      const { wire } = yield* start({ pageSize: 2, tools: ["a", "b", "c"].map((name) => ({ name })) })
      const names = (event: Event | undefined) => {
        const { result } = event![1] as { readonly result: McpProtocol.JsonObject }
        return [(result.tools as ReadonlyArray<McpProtocol.Tool>).map((_) => _.name), result.nextCursor]
      }
      wire.request(1, "tools/list")
      wire.request(2, "tools/list", { cursor: "2" })
      wire.request(3, "tools/list", { cursor: "-1" })
      const events = yield* wire.awaitEvents(3)
      assert.deepStrictEqual(names(events[0]), [["a", "b"], "2"])
      assert.deepStrictEqual(names(events[1]), [["c"], undefined])
      assert.deepStrictEqual(events[2], ["message", {
        id: 3,
        error: { code: -32602, message: "there is no such page" }
      }])
    }))
})

describe("ScriptedServer answers", () => {
  it.scoped("with a result, an error, nothing, late, and in the order in which handlers end", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start({
        handlers: {
          later: () => Effect.delay(Effect.succeed({ late: true }), "1 second"),
          now: () => Effect.void,
          fails: () => Effect.fail(new ScriptedServer.RpcError({ code: -32001, message: "no", data: { why: 1 } })),
          dies: () => Effect.die("a mistake"),
          silent: () => Effect.succeed(ScriptedServer.silence),
          hangs: hanging,
          lost: () => Effect.fail(refused)
        }
      })
      for (const [id, method] of ["later", "now", "fails", "dies", "silent", "hangs", "lost"].entries()) {
        wire.request(id, method)
      }
      yield* wire.awaitEvents(4)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* wire.awaitEvents(5), [
        ["message", { id: 1, result: {} }],
        ["message", { id: 2, error: { code: -32001, message: "no", data: { why: 1 } } }],
        ["message", { id: 3, error: { code: -32603, message: "the script is wrong: a mistake" } }],
        ["requestFailed", 6, "ConnectFailed", "no"],
        ["message", { id: 0, result: { late: true } }]
      ])
      assert.strictEqual((yield* server.stats).handling, 1)
    }))

  it.scoped("P01, H05, H06: twice, with another id, with its id as text, with garbage", () =>
    Effect.gen(function*() {
      const { wire } = yield* start({
        handlers: {
          twice: () => Effect.succeed(ScriptedServer.twice({ n: 1 })),
          other: () => Effect.succeed(ScriptedServer.withId(99, { n: 2 })),
          text: () => Effect.succeed(ScriptedServer.withStringId({ n: 3 })),
          garbage: () => Effect.succeed(ScriptedServer.raw(null, 1, "text", [], {}, [{ id: 4 }]))
        }
      })
      wire.request(1, "twice")
      wire.request(2, "other")
      wire.request(3, "text")
      wire.request(4, "garbage")
      assert.deepStrictEqual((yield* wire.awaitEvents(10)).map(([, message]) => message), [
        { id: 1, result: { n: 1 } },
        { id: 1, result: { n: 1 } },
        { id: 99, result: { n: 2 } },
        { id: "3", result: { n: 3 } },
        null,
        1,
        "text",
        [],
        {},
        [{ id: 4 }]
      ])
    }))

  it.scoped("P05: notifications before and after the result, in one chunk", () =>
    Effect.gen(function*() {
      const { wire } = yield* start({
        handlers: {
          before: (request) =>
            Effect.succeed(ScriptedServer.before([ScriptedServer.progress(request, { progress: 1 })], { done: true })),
          after: () => Effect.succeed(ScriptedServer.after({}, [ScriptedServer.notification("notifications/x")]))
        }
      })
      // a turn of the client between two messages would show up between them
      const turns: Array<Event> = []
      wire.onEvent.current = () => {
        queueMicrotask(() => wire.events.push(["turn"]))
      }
      wire.request(1, "before", { _meta: { progressToken: "p" } })
      yield* wire.awaitEvents(2)
      turns.push(...wire.events.splice(0))
      wire.request(2, "after")
      yield* wire.awaitEvents(2)
      const withoutTurns = [...turns, ...wire.events].filter(([kind]) => kind === "message")
      assert.deepStrictEqual(withoutTurns.map(([, message]) => message), [
        { method: "notifications/progress", params: { progressToken: "p", progress: 1 } },
        { id: 1, result: { done: true } },
        { id: 2, result: {} },
        { method: "notifications/x" }
      ])
      assert.deepStrictEqual(turns.slice(0, 2).map(([kind]) => kind), ["message", "message"])
    }))

  it.scoped("after send has returned, or inside of it", () =>
    Effect.gen(function*() {
      const { wire: later } = yield* start()
      later.request(1, "ping")
      assert.strictEqual(later.events.length, 0)
      yield* later.awaitEvents(1)

      const { server, wire: inside } = yield* start({ reaction: "insideSend" })
      inside.request(1, "ping")
      assert.strictEqual(inside.events.length, 1)
      assert.strictEqual((yield* server.stats).handling, 0)
    }))

  it.scoped("with copies: neither side can change what the other holds", () =>
    Effect.gen(function*() {
      const mine = { list: [1], gone: undefined }
      const { server, wire } = yield* start({
        handlers: {
          get: (request) => {
            ;(request.params.nested as { changed?: boolean }).changed = true
            return Effect.succeed(mine)
          }
        }
      })
      const params = { nested: {} }
      wire.request(1, "get", params)
      const [event] = yield* wire.awaitEvents(1)
      const { result } = event![1] as { readonly result: { readonly list: Array<number> } }
      result.list.push(2)
      assert.deepStrictEqual(result, { list: [1, 2] })
      assert.deepStrictEqual(mine, { list: [1], gone: undefined })
      assert.deepStrictEqual(params, { nested: {} })
      assert.strictEqual((yield* server.received).length, 1)
    }))

  it.scoped("-32603 to a request whose result is not JSON, and refuses a message that is none", () =>
    Effect.gen(function*() {
      const circle: Record<string, unknown> = {}
      circle.self = circle
      const { server, wire } = yield* start({ handlers: { circle: () => Effect.succeed(circle) } })
      wire.request(1, "circle")
      const [event] = yield* wire.awaitEvents(1)
      assert.strictEqual((event![1] as McpProtocol.JsonRpcError).error.code, -32603)
      wire.request(2, "ping", { big: 1n })
      assert.deepStrictEqual(wire.events[1], ["requestFailed", 2, "ConfigInvalid", "no"])
      assert.strictEqual((yield* wire.notify("notifications/x", { big: 1n }))?._tag, "ConfigInvalid")
      assert.strictEqual((yield* server.received).length, 1)
    }))
})

describe("ScriptedServer speaks unasked", () => {
  it.scoped("notifies, sends anything, reports the state of its stream, warnings and lost requests", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start({ handlers: { hangs: hanging } })
      wire.request(1, "hangs")
      yield* server.notify("notifications/tools/list_changed")
      yield* server.notify("notifications/message", { level: "info", data: 1 })
      yield* server.sendRaw({ jsonrpc: "1.0" }, "x")
      yield* server.serverStream("down")
      yield* server.warn("NotJson", "a line")
      yield* server.failRequest(1, refused)
      assert.deepStrictEqual(wire.events, [
        ["message", { method: "notifications/tools/list_changed" }],
        ["message", { method: "notifications/message", params: { level: "info", data: 1 } }],
        ["message", {}],
        ["message", "x"],
        ["serverStream", "down"],
        ["warning", "NotJson", "a line"],
        ["requestFailed", 1, "ConnectFailed", "no"]
      ])
    }))

  it.scoped("asks the client: result, error, any id", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start()
      const roots = yield* Effect.fork(server.request("roots/list"))
      const ping = yield* Effect.fork(Effect.flip(server.request("ping", {}, { id: 0 })))
      assert.deepStrictEqual(yield* wire.awaitEvents(2), [
        ["message", { id: "server-1", method: "roots/list" }],
        ["message", { id: 0, method: "ping", params: {} }]
      ])
      wire.transport.send({ jsonrpc: "2.0", id: 0, error: { code: -32601, message: "no", data: 1 } })
      wire.transport.send({ jsonrpc: "2.0", id: "server-1", result: { roots: [] } })
      assert.deepStrictEqual(yield* Fiber.join(roots), { roots: [] })
      const error = yield* Fiber.join(ping)
      assert.deepStrictEqual([error.code, error.message, error.data], [-32601, "no", 1])
    }))

  it.scoped("C02: an interrupted request of the server's is cancelled; its late answer is ignored", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start()
      const asking = yield* Effect.fork(server.request("sampling/createMessage", {}, { id: 7 }))
      yield* wire.awaitEvents(1)
      yield* Fiber.interrupt(asking)
      assert.deepStrictEqual(wire.events[1], ["message", {
        method: "notifications/cancelled",
        params: { requestId: 7, reason: "The server has changed its mind" }
      }])
      wire.transport.send({ jsonrpc: "2.0", id: 7, result: {} })
      yield* server.awaitReceived((_) => _.id === 7)
    }))
})

describe("ScriptedServer and what a client does", () => {
  it.scoped("interrupts a handler when its request is cancelled", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const { server, wire } = yield* start({
        handlers: { hangs: () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)) }
      })
      wire.request(1, "hangs")
      yield* server.awaitStats((_) => _.handling === 1)
      yield* wire.notify("notifications/cancelled", { requestId: 1 })
      yield* Deferred.await(interrupted)
      yield* server.awaitStats((_) => _.handling === 0)
      assert.deepStrictEqual(wire.events, [])
    }))

  it.scoped("P01: answers late when it does not hear cancellation", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start({
        cancellation: "ignore",
        handlers: { slow: () => Effect.delay(Effect.succeed({ late: true }), "1 minute") }
      })
      wire.request(1, "slow")
      yield* server.awaitStats((_) => _.handling === 1)
      yield* wire.notify("notifications/cancelled", { requestId: 1 })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* wire.awaitEvents(1), [["message", { id: 1, result: { late: true } }]])
    }))

  it.scoped("keeps released ids, negotiated versions and listeners", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start({ listen: (peer) => peer.serverStream("open") })
      wire.transport.release(3)
      wire.transport.negotiated("2025-06-18")
      yield* wire.transport.listen
      assert.deepStrictEqual(yield* server.stats, {
        attempts: 1,
        opened: 1,
        closed: 0,
        live: [1],
        listening: [1],
        negotiated: [{ session: 1, protocolVersion: "2025-06-18" }],
        released: [{ session: 1, id: 3 }],
        handling: 0
      })
      assert.deepStrictEqual(wire.events, [["serverStream", "open"]])
    }))

  it.scoped("H20: has a session id from the answer to initialize on", () =>
    Effect.gen(function*() {
      const { wire } = yield* start({ sessionId: (session) => `sid-${session}` })
      assert.isUndefined(wire.transport.sessionId())
      wire.request(1, "initialize")
      yield* wire.awaitEvents(1)
      assert.strictEqual(wire.transport.sessionId(), "sid-1")
    }))

  it.scoped("accepts, refuses or holds what is sent", () =>
    Effect.gen(function*() {
      const { server, wire } = yield* start({
        accept: ({ method }) =>
          method === "refused" ? Effect.fail(refused) : method === "held" ? Effect.sleep("1 second") : Effect.void
      })
      wire.request(1, "refused")
      wire.request(2, "ping")
      assert.strictEqual((yield* wire.notify("refused"))?._tag, "ConnectFailed")
      assert.isUndefined(yield* wire.notify("notifications/x"))
      assert.deepStrictEqual(wire.events, [
        ["requestFailed", 1, "ConnectFailed", "no"],
        ["message", { id: 2, result: {} }]
      ])
      const held = yield* Effect.fork(wire.notify("held"))
      yield* server.awaitReceived("held")
      assert.isNull(held.unsafePoll())
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* Fiber.join(held))
    }))

  it.scoped("a held notification is refused when the session closes, once", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const server = yield* ScriptedServer.make({ accept: () => Effect.never })
      const wire = yield* Scope.extend(openWire(server.channel), scope)
      const held = yield* Effect.fork(wire.notify("held"))
      yield* server.awaitReceived("held")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(held))?._tag, "ConnectionClosed")
    }))

  it.scoped("hears notifications in a handler, whose failure harms nothing", () =>
    Effect.gen(function*() {
      const heard = yield* Deferred.make<McpProtocol.JsonObject>()
      const { wire } = yield* start({
        handlers: {
          "notifications/x": (request) => Effect.as(Deferred.succeed(heard, request.params), {}),
          "notifications/bad": () => Effect.die("bad")
        }
      })
      assert.isUndefined(yield* wire.notify("notifications/bad"))
      assert.isUndefined(yield* wire.notify("notifications/x", { a: 1 }))
      assert.deepStrictEqual(yield* Deferred.await(heard), { a: 1 })
    }))
})

describe("ScriptedServer opens and closes", () => {
  it.effect("start fails, dies or hangs: nothing is live", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        start: (session) => session === 1 ? Effect.fail(refused) : session === 2 ? Effect.die("broken") : Effect.never
      })
      const open = Effect.scoped(openWire(server.channel))
      assert.strictEqual((yield* Effect.flip(open))._tag, "ConnectFailed")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(open)))
      const hanging = yield* Effect.fork(open)
      yield* server.awaitStats((_) => _.attempts === 3)
      yield* Fiber.interrupt(hanging)
      const { attempts, closed, live, opened } = yield* server.stats
      assert.deepStrictEqual([attempts, opened, closed, live], [3, 0, 0, []])
    }))

  it.effect("many sessions at once; each has its peer, the newest live one is the default", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const scopes = [yield* Scope.make(), yield* Scope.make()] as const
      const first = yield* Scope.extend(openWire(server.channel), scopes[0])
      const second = yield* Scope.extend(openWire(server.channel), scopes[1])
      yield* server.notify("a")
      yield* Effect.flatMap(server.session(1), (_) => _.notify("b"))
      yield* Scope.close(scopes[1], Exit.void)
      yield* server.notify("c")
      assert.deepStrictEqual(first.events.map(([, _]) => _), [{ method: "b" }, { method: "c" }])
      assert.deepStrictEqual(second.events.map(([, _]) => _), [{ method: "a" }])
      yield* Scope.close(scopes[0], Exit.void)
      assert.include(String(yield* Effect.exit(server.notify("d"))), "no session of")
      assert.include(String(yield* Effect.exit(server.session(2))), "is not live")
      assert.strictEqual((yield* server.stats).closed, 2)
    }))

  it.effect("S11: a disconnect is told once, refuses what is sent, ends handlers and requests of the server", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const server = yield* ScriptedServer.make({ handlers: { hangs: hanging }, stderrTail: () => "the end" })
      const wire = yield* Scope.extend(openWire(server.channel), scope)
      wire.request(1, "hangs")
      yield* server.awaitStats((_) => _.handling === 1)
      const asking = yield* Effect.fork(Effect.flip(server.request("ping")))
      yield* wire.awaitEvents(1)
      yield* server.disconnect()
      yield* server.disconnect()
      yield* server.awaitStats((_) => _.handling === 0)
      assert.strictEqual((yield* Fiber.join(asking)).code, -32000)
      wire.request(2, "ping")
      assert.strictEqual((yield* wire.notify("x"))?.executed, "no")
      yield* server.notify("too late")
      assert.deepStrictEqual(wire.events.slice(1), [
        ["closed", "ConnectionClosed"],
        ["requestFailed", 2, "ConnectionClosed", "no"]
      ])
      assert.strictEqual(wire.transport.stderrTail(), "the end")
      assert.strictEqual((yield* Effect.flip(server.request("ping"))).code, -32000)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.effect("a disconnect from a handler, in the middle of its own answer", () =>
    Effect.scoped(Effect.gen(function*() {
      const { wire } = yield* start({
        handlers: { dies: (_, peer) => Effect.as(peer.disconnect(refused), { never: "seen" }) }
      })
      wire.request(1, "dies")
      assert.deepStrictEqual(yield* wire.awaitEvents(1), [["closed", "ConnectFailed"]])
    })))

  it.effect("H13: a closed session says nothing more and its handlers are over, whoever opened it uninterruptibly", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const server = yield* ScriptedServer.make({ handlers: { hangs: hanging } })
      const wire = yield* Effect.uninterruptible(Scope.extend(openWire(server.channel), scope))
      const peer = yield* server.session(1)
      wire.request(1, "hangs")
      yield* server.awaitStats((_) => _.handling === 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* server.stats).handling, 0)
      yield* peer.notify("late")
      yield* peer.failRequest(1, refused)
      yield* peer.serverStream("down")
      yield* peer.warn("NotJson", "late")
      yield* peer.disconnect()
      wire.request(2, "ping")
      assert.strictEqual((yield* wire.notify("x"))?.executed, "no")
      assert.deepStrictEqual(wire.events, [])
    }))

  it.effect("close hangs: the session stays live; close dies: it is over", () =>
    Effect.gen(function*() {
      const latch = yield* Deferred.make<void>()
      const server = yield* ScriptedServer.make({
        close: (session) => session === 1 ? Deferred.await(latch) : Effect.die("broken")
      })
      const closing = yield* Effect.fork(Effect.scoped(openWire(server.channel)))
      yield* server.awaitStats((_) => _.opened === 1)
      assert.deepStrictEqual((yield* server.stats).live, [1])
      yield* Deferred.succeed(latch, undefined)
      yield* Fiber.join(closing)
      const exit = yield* Effect.exit(Effect.scoped(openWire(server.channel)))
      assert.isTrue(Exit.isFailure(exit))
      const { closed, live } = yield* server.stats
      assert.deepStrictEqual([closed, live], [2, []])
    }))

  it.effect("the transport service finds servers by name and keeps the configuration that was asked for", () =>
    Effect.gen(function*() {
      const servers = [yield* ScriptedServer.make({ name: "a" }), yield* ScriptedServer.make({ name: "b" })]
      const config = yield* McpConfig.decode({ name: "b", transport: "stdio", command: "b" })
      yield* Effect.gen(function*() {
        const service = yield* McpTransport.McpTransport
        const channel = yield* service.channel(config)
        assert.strictEqual(channel.config, config)
        yield* openWire(channel)
        const none = yield* McpConfig.decode({ name: "c", transport: "stdio", command: "c" })
        assert.strictEqual((yield* Effect.flip(service.channel(none)))._tag, "ConfigInvalid")
      }).pipe(Effect.scoped, Effect.provide(ScriptedServer.layer(...servers)))
      assert.strictEqual((yield* servers[1]!.stats).opened, 1)
    }))
})
