/**
 * The moments at which a session has nothing under way, and `SessionOptions.listen`.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpError, type McpProtocol, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, Fiber, TestClock } from "effect"
import { answer, failure, forkWork, hanging, macrotask } from "./gateWire.js"

describe("SessionOptions.listen", () => {
  it.scoped("false: what the server needs to speak unasked is not opened", () =>
    Effect.gen(function*() {
      for (const [listen, listening] of [[false, []], [true, [1]], [undefined, [1]]] as const) {
        const server = yield* ScriptedServer.make({ listen: (peer) => peer.serverStream("open") })
        const session = yield* McpSession.open(server.channel, { listen })
        assert.deepStrictEqual((yield* server.stats).listening, [...listening])
        yield* macrotask
        assert.strictEqual(yield* session.serverStream.get, listen === false ? "none" : "open")
        yield* McpSession.ping(session)
        const methods = (yield* server.received).map((_) => _.method)
        assert.deepStrictEqual(methods, ["initialize", "notifications/initialized", "ping"])
      }
    }))
})

describe("quiet", () => {
  it.scoped("is since the handshake, never while one is under way or waits, and since the last one after it", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const since = (session: McpSession.McpSession) => Effect.map(session.stats, (_) => _.quietSince)
      yield* TestClock.adjust("5 seconds")
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      assert.strictEqual(yield* since(session), 5000)
      yield* session.quiet
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* since(session), 5000)

      const first = yield* forkWork(session, 0, { timeout: null })
      const second = yield* forkWork(session, 1, { timeout: null })
      const third = yield* forkWork(session, 2, { timeout: "2 seconds" })
      const waiters = yield* Effect.forEach([1, 2, 3], () => Effect.fork(session.quiet))
      assert.strictEqual(yield* since(session), undefined)
      yield* TestClock.adjust("1 second")
      yield* answer(server, 0)
      assert(Exit.isSuccess(yield* Fiber.join(first)))
      assert.strictEqual(yield* since(session), undefined)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(failure(yield* Fiber.join(third))._tag, "RequestTimeout")
      for (const waiter of waiters) {
        assert.strictEqual(yield* Fiber.poll(waiter).pipe(Effect.map((_) => _._tag)), "None")
      }
      yield* TestClock.adjust("1 second")
      yield* answer(server, 1)
      assert(Exit.isSuccess(yield* Fiber.join(second)))
      assert.strictEqual(yield* since(session), 9000)
      for (const waiter of waiters) yield* Fiber.join(waiter)
      yield* session.quiet
    }))

  const ends: ReadonlyArray<
    readonly [
      string,
      (
        server: ScriptedServer.ScriptedServer,
        call: Fiber.RuntimeFiber<unknown>,
        id: McpProtocol.RequestId
      ) => Effect.Effect<unknown>
    ]
  > = [
    ["a result", (server, _, id) => server.sendRaw(ScriptedServer.result(id, {}))],
    ["a JSON-RPC error", (server, _, id) => server.sendRaw({ jsonrpc: "2.0", id, error: { code: 1, message: "" } })],
    ["an answer without a result", (server, _, id) => server.sendRaw({ jsonrpc: "2.0", id })],
    [
      "a failure of the wire",
      (server, _, id) => server.failRequest(id, McpError.unwritable("scripted", "x/work"))
    ],
    ["its deadline", () => TestClock.adjust("59 seconds")],
    ["an interruption", (_, call) => Fiber.interrupt(call)],
    ["the end of the session", (server) => server.disconnect()]
  ]
  for (const [what, end] of ends) {
    it.scoped(`begins with ${what}, and again each time`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make(hanging)
        const session = yield* McpSession.open(server.channel)
        for (const n of what === "the end of the session" ? [0] : [0, 1]) {
          const call = yield* forkWork(session, n, { timeout: "1 minute" })
          const { id } = yield* server.awaitReceived((_) => _.params.n === n)
          const quiet = yield* Effect.fork(session.quiet)
          yield* TestClock.adjust("1 second")
          assert.strictEqual(quiet.unsafePoll(), null)
          const before = yield* session.stats
          yield* end(server, call, id as number)
          yield* Fiber.join(quiet)
          const after = yield* session.stats
          assert.deepStrictEqual([before.inFlight, after.inFlight], [1, 0])
          assert.strictEqual(before.quietSince, undefined)
          assert.strictEqual(after.quietSince, yield* Effect.clockWith((_) => _.currentTimeMillis))
          yield* Fiber.await(call)
        }
      }))
  }

  it.scoped("one who no longer waits for it leaves the others waiting", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel)
      yield* forkWork(session, 0)
      const [left, stays] = [yield* Effect.fork(session.quiet), yield* Effect.fork(session.quiet)]
      yield* macrotask
      assert(Exit.isInterrupted(yield* Fiber.interrupt(left)))
      yield* answer(server, 0)
      yield* Fiber.join(stays)
    }))
})
