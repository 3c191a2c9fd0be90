import { assert, describe, it } from "@effect/vitest"
import type { McpAuth, McpError, McpTransport } from "@mcp-runtime/core"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import {
  credentialsOf,
  eventOf,
  handshake,
  handshaking,
  type HttpInput,
  initialize,
  inScope,
  notification,
  openScripted,
  record,
  request,
  response,
  type Scripted,
  scriptedClient,
  url
} from "./harness.js"

const opened = (rest: (exchange: Scripted) => void = () => {}, input: HttpInput = {}, at = url) =>
  Effect.gen(function*() {
    const client = handshaking(rest)
    const recorded = record()
    const { scope, value: transport } = yield* inScope(openScripted(client, recorded, input, "http", at))
    yield* handshake(transport, recorded)
    return { client, recorded, scope, transport }
  })

/** How many fibers a transport runs. */
const fibersOf = (transport: McpTransport.MessageTransport) =>
  (transport as unknown as { readonly wire: { readonly timers: { readonly running: number } } }).wire.timers.running

const close = (scope: Scope.CloseableScope) => Scope.close(scope, Exit.void)

describe("the end of a session over Streamable HTTP", () => {
  it.scoped("H13, H14: stops everything without a report, then deletes the session, then is silent", () =>
    Effect.gen(function*() {
      const { client, recorded, scope, transport } = yield* opened((_) => {
        if (_.request.method === "GET") _.sse()
      })
      yield* transport.listen
      transport.send(request(1, "a"))
      transport.send(request(2, "b"))
      client.last().sse().data(eventOf(notification("n")))
      transport.send(request(3, "c"))
      client.last().sse().data(eventOf("", "e-1", 500)).end()
      const told: Array<McpError.McpError | undefined> = []
      transport.send(notification("n"), (_) => told.push(_))
      const before = recorded.count()
      const sent = client.exchanges.length
      yield* close(scope)
      assert.strictEqual(client.exchanges.length, sent + 1)
      assert.strictEqual(client.last().request.method, "DELETE")
      assert.strictEqual(client.last().kind, "stream")
      assert.deepStrictEqual(client.last().request.headers, {
        "mcp-session-id": "session-1",
        "mcp-protocol-version": "2025-11-25"
      })
      assert.isTrue(client.exchanges.slice(0, sent).every((_) => !_.open))
      assert.deepStrictEqual(told.map((_) => [_?._tag, _?.executed]), [["ConnectionClosed", "maybe"]])
      yield* TestClock.adjust("1 day")
      assert.strictEqual(client.exchanges.length, sent + 1)
      assert.strictEqual(recorded.count(), before)
    }))

  for (const [what, renewed] of [["a call's", "before"], ["its DELETE's", "during"]] as const) {
    it.scoped(`A04, H13: a stream that was refused is not opened again by ${what} new credentials, once it is closed`, () =>
      Effect.gen(function*() {
        let token = "Bearer old"
        const client = handshaking((_) => {
          if (_.request.method === "GET") _.status(_.request.headers["authorization"] === "Bearer old" ? 401 : 503)
        }, (_) => _.status(renewed === "during" && _.request.headers["authorization"] === "Bearer old" ? 401 : 200))
        const recorded = record()
        const refused = ({ alone }: McpAuth.AuthRefusal) =>
          Effect.sync(() => {
            if (!alone || client.of("DELETE").length === 0) return "no"
            token = "Bearer new"
            return "again"
          })
        const credentials = credentialsOf(() => token, refused)
        const { scope, value: transport } = yield* inScope(
          openScripted(client, recorded, { allowTokensOverHttp: true }, "http", url, credentials)
        )
        yield* handshake(transport, recorded)
        yield* transport.listen
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(client.of("GET").length, 2)
        if (renewed === "before") token = "Bearer new"
        yield* close(scope)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(client.of("GET").length, 2)
        assert.deepStrictEqual(client.last().request.method, "DELETE")
        assert.strictEqual(client.last().request.headers["authorization"], "Bearer new")
        assert.strictEqual(fibersOf(transport), 0)
      }))
  }

  const outcomes: ReadonlyArray<readonly [string, (exchange: Scripted) => unknown]> = [
    ["200", (_) => _.status(200)],
    ["204", (_) => _.status(204)],
    ["405", (_) => _.status(405)],
    ["404", (_) => _.status(404)],
    ["500 with a body", (_) => _.status(500, "x".repeat(100_000))],
    ["401", (_) => _.status(401, "", { "www-authenticate": "Bearer" })],
    ["a redirect elsewhere", (_) => _.status(307, "", { location: "http://evil.test/" })],
    ["a failure", (_) => _.fail()]
  ]
  for (const [what, reply] of outcomes) {
    it.scoped(`H14: DELETE answered with ${what} ends the session`, () =>
      Effect.gen(function*() {
        const client = scriptedClient((_) => {
          if (_.request.method === "DELETE") reply(_)
          else _.json(response(0), { "mcp-session-id": "s" })
        })
        const { scope, value } = yield* inScope(openScripted(client, record()))
        value.send(initialize)
        yield* close(scope)
        assert.strictEqual(client.of("DELETE").length, 1)
        assert.strictEqual(client.open(), 0)
      }))
  }

  for (const [what, reply] of [["no head", () => {}], ["a body without end", (_: Scripted) => _.head(200)]] as const) {
    it.scoped(`H14: DELETE with ${what} is given up at its own deadline`, () =>
      Effect.gen(function*() {
        const client = scriptedClient((_) => {
          if (_.request.method === "DELETE") reply(_)
          else _.json(response(0), { "mcp-session-id": "s" })
        })
        const { scope, value } = yield* inScope(
          openScripted(client, record(), { timeouts: { close: "300 millis" } })
        )
        value.send(initialize)
        const fiber = yield* Effect.fork(close(scope))
        yield* TestClock.adjust("299 millis")
        assert.isTrue(fiber.unsafePoll() === null)
        assert.strictEqual(client.open(), 1)
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(fiber)
        assert.strictEqual(client.open(), 0)
      }))
  }

  it.scoped("A08: headers that never come do not hold the close beyond its deadline, and are given up", () =>
    Effect.gen(function*() {
      let given = true
      let interrupted = 0
      const { client, scope } = yield* opened(undefined, {
        timeouts: { close: "300 millis" },
        requestHeaders: Effect.suspend(() =>
          given ? Effect.succeed({}) : Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
        )
      })
      given = false
      const fiber = yield* Effect.fork(close(scope))
      yield* TestClock.adjust("300 millis")
      yield* Fiber.join(fiber)
      assert.strictEqual(interrupted, 1)
      assert.strictEqual(client.of("DELETE").length, 0)
    }))

  it.scoped("A08: headers that can't be interrupted do not hold the close beyond its deadline either", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      let given = true
      const { scope, transport } = yield* opened(undefined, {
        timeouts: { close: "300 millis" },
        requestHeaders: Effect.suspend(() =>
          given ? Effect.succeed({}) : Effect.as(Effect.uninterruptible(Deferred.await(gate)), {})
        )
      })
      given = false
      transport.send(request(1, "a"))
      const fiber = yield* Effect.fork(close(scope))
      yield* TestClock.adjust("300 millis")
      yield* Fiber.join(fiber)
      yield* Deferred.succeed(gate, undefined)
    }))

  it.scoped("the DELETE carries the credentials of every request", () =>
    Effect.gen(function*() {
      let n = 0
      const { client, scope } = yield* opened(undefined, {
        headers: { "x-api-key": "static-key" },
        requestHeaders: Effect.sync(() => ({ authorization: `Bearer token-${++n}` }))
      }, "https://server.test/mcp")
      yield* close(scope)
      assert.deepInclude(client.last().request.headers, { "x-api-key": "static-key", authorization: "Bearer token-3" })
    }))

  it.scoped("H15: nothing else goes out while the DELETE is waited for", () =>
    Effect.gen(function*() {
      const client = scriptedClient((_) => {
        if (_.request.method === "GET") _.status(500)
        else if (_.rpc.method === "initialize") _.json(response(0), { "mcp-session-id": "s" })
        else if (_.request.method === "POST") _.sse().data(eventOf("", "e-1", 100)).end()
      })
      const recorded = record()
      const { scope, value: transport } = yield* inScope(
        openScripted(client, recorded, { timeouts: { close: "10 seconds" } })
      )
      transport.send(initialize)
      yield* transport.listen
      transport.send(request(1, "a"))
      const [sent, told] = [client.exchanges.length, recorded.count()]
      const fiber = yield* Effect.fork(close(scope))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(client.exchanges.slice(sent).map((_) => _.request.method), ["DELETE"])
      assert.strictEqual(recorded.count(), told)
    }))

  it.scoped("H02: a session that the server has forgotten is not deleted", () =>
    Effect.gen(function*() {
      const { client, recorded, scope, transport } = yield* opened((_) => void _.status(404))
      transport.send(request(1, "a"))
      assert.strictEqual(recorded.failed[0]?.error._tag, "SessionExpired")
      yield* close(scope)
      assert.strictEqual(client.of("DELETE").length, 0)
    }))

  it.scoped("H14: a session in which only a cancellation was answered 404 is deleted: the request was forgotten", () =>
    Effect.gen(function*() {
      const { client, scope, transport } = yield* opened((_) => void _.status(404, "unknown request"))
      transport.send(notification("notifications/cancelled", { requestId: 1 }))
      yield* close(scope)
      assert.deepStrictEqual(client.of("DELETE").map((_) => _.request.headers["mcp-session-id"]), ["session-1"])
    }))

  it.scoped("a server without session ids gets no DELETE", () =>
    Effect.gen(function*() {
      const client = scriptedClient((_) => void _.json(response(0)))
      const { scope, value } = yield* inScope(openScripted(client, record()))
      value.send(initialize)
      yield* close(scope)
      assert.strictEqual(client.of("DELETE").length, 0)
    }))

  it.scoped("H23: a session whose handshake fails or is interrupted at any step is deleted, if there is one", () =>
    Effect.gen(function*() {
      const steps: ReadonlyArray<readonly [deleted: boolean, initialize: (exchange: Scripted) => unknown]> = [
        [false, () => {}],
        [true, (_) => _.head(200, { "content-type": "application/json", "mcp-session-id": "s" })],
        [true, (_) => _.sse({ "mcp-session-id": "s" })],
        [true, (_) => _.status(200, "nonsense", { "content-type": "application/json", "mcp-session-id": "s" })],
        [true, (_) => _.json({ jsonrpc: "2.0", id: 0, error: { code: 1, message: "no" } }, { "mcp-session-id": "s" })],
        [true, (_) => _.json(response(0), { "mcp-session-id": "s" })],
        [false, (_) => _.status(500, "", { "mcp-session-id": "s" })]
      ]
      for (const [deleted, reply] of steps) {
        for (const initialized of ["unsent", "hangs", "fails"]) {
          const client = scriptedClient((_) => {
            if (_.request.method === "DELETE") _.status(200)
            else if (_.rpc.method === "initialize") reply(_)
            else if (initialized === "fails") _.status(500)
          })
          const recorded = record()
          const { scope, value } = yield* inScope(openScripted(client, recorded))
          value.send(initialize)
          if (initialized !== "unsent") value.send(notification("notifications/initialized"))
          value.release(0)
          yield* close(scope)
          assert.strictEqual(client.of("DELETE").length, deleted ? 1 : 0)
          assert.strictEqual(client.open(), 0)
        }
      }
    }))

  it.scoped("H15, P10: what is sent after the close is refused at once, not executed", () =>
    Effect.gen(function*() {
      const { client, recorded, scope, transport } = yield* opened()
      yield* close(scope)
      const sent = client.exchanges.length
      const told: Array<McpError.McpError | undefined> = []
      transport.send(request(1, "a"))
      transport.send(notification("n"), (_) => told.push(_))
      yield* transport.listen
      transport.release(1)
      assert.deepStrictEqual([recorded.failed[0]?.error.executed, told[0]?.executed], ["no", "no"])
      assert.strictEqual(client.exchanges.length, sent)
    }))

  it.scoped("H15: closing in every wait of the standalone stream and of a resumption ends it", () =>
    Effect.gen(function*() {
      for (const wait of ["0 millis", "100 millis", "499 millis", "700 millis", "3 seconds", "40 seconds"]) {
        const { client, recorded, scope, transport } = yield* opened((_) => {
          if (_.request.method === "GET") _.status(500)
          else _.sse().data(eventOf("", "e-1", 500)).end()
        })
        transport.send(request(1, "a"))
        yield* transport.listen
        yield* TestClock.adjust(wait as "1 second")
        yield* close(scope)
        const [sent, told] = [client.exchanges.length, recorded.count()]
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual([client.exchanges.length, recorded.count()], [sent, told])
        assert.strictEqual(fibersOf(transport), 0)
      }
    }))

  it.scoped("H15: a transport that was opened in a region without interruption has no sleeping fiber after its close", () =>
    Effect.gen(function*() {
      const client = handshaking((_) => {
        if (_.request.method === "GET") _.status(500)
      })
      const recorded = record()
      const { scope, value } = yield* Effect.uninterruptible(inScope(openScripted(client, recorded)))
      yield* handshake(value, recorded)
      yield* value.listen
      yield* close(scope)
      assert.strictEqual(fibersOf(value), 0)
    }))
})
