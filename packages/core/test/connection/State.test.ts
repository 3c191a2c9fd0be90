/**
 * The state machine of a connection: its states with their facts, who hears of them, and what changes nothing.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpConnection, McpError } from "@mcp-runtime/core"
import { Deferred, Effect, Exit, Fiber, Scope, Stream, TestClock } from "effect"
import {
  connect,
  connectFailed,
  echo,
  expired,
  failure,
  forkExit,
  http,
  inMemory,
  pass,
  ready,
  record,
  refused,
  settled,
  stdio,
  tagOf,
  tags,
  unauthorized
} from "./kit.js"

describe("facts", () => {
  it.scoped("Idle, Connecting and Ready say since when, the number of the try, and the session", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust(100)
      const gate = yield* Deferred.make<void>()
      const { connection } = yield* connect(inMemory, {
        info: { name: "the server", version: "7" },
        start: () => Deferred.await(gate)
      })
      assert.deepStrictEqual(yield* connection.state, { _tag: "Idle", since: 100 })
      yield* pass(10)
      const call = yield* forkExit(ready(connection))
      assert.deepStrictEqual(yield* connection.state, { _tag: "Connecting", since: 110, attempt: 1 })
      yield* pass(10)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(call)
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.since, 120)
      assert.strictEqual(state.generation, 1)
      assert.strictEqual(state.info.implementation.name, "the server")
      assert.strictEqual(state.info.transport, "inMemory")
    }))

  it.scoped("Failed carries the error; the next use is the next try, with the next number", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection } = yield* connect(inMemory, {
        start: (n) => n === 1 ? Effect.fail(refused) : Deferred.await(gate)
      })
      const error = yield* Effect.flip(ready(connection))
      assert.strictEqual(error._tag, "ConnectFailed")
      const state = yield* connection.state
      assert(state._tag === "Failed")
      assert.strictEqual(state.error._tag, "ConnectFailed")
      assert.strictEqual(state.retryAt, undefined)
      yield* forkExit(ready(connection))
      assert.deepStrictEqual(yield* connection.state, { _tag: "Connecting", since: 0, attempt: 2 })
    }))

  it.scoped("Reconnecting says why, the number of the try, and when the next one is", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http, {
        start: (n) => n === 2 ? Effect.fail(refused) : n === 3 ? Effect.never : Effect.void
      })
      yield* ready(connection)
      const states = yield* record(connection)
      yield* pass(50)
      yield* server.disconnect()
      yield* settled
      const waiting = yield* connection.state
      assert(waiting._tag === "Reconnecting")
      assert.strictEqual(waiting.error._tag, "ConnectFailed")
      assert.deepStrictEqual([waiting.since, waiting.attempt, waiting.nextAt], [50, 2, 550])
      yield* pass(500)
      const trying = yield* connection.state
      assert(trying._tag === "Reconnecting")
      assert.deepStrictEqual([trying.since, trying.attempt, trying.nextAt], [550, 3, undefined])
      assert.deepStrictEqual(tags(states), ["Ready", "Reconnecting", "Reconnecting", "Reconnecting"])
      const first = states[1]!
      assert(first._tag === "Reconnecting")
      assert.strictEqual(first.error._tag, "ConnectionClosed")
      assert.deepStrictEqual([first.since, first.attempt, first.nextAt], [50, 2, undefined])
    }))

  it.scoped("the generation grows with each session, not with each try", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http, {
        start: (n) => n === 2 ? Effect.fail(refused) : Effect.void
      })
      yield* ready(connection)
      yield* server.disconnect()
      yield* settled
      yield* pass(500)
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.generation, 2)
      const stats = yield* connection.stats
      assert.deepStrictEqual([stats.sessions, stats.attempts, stats.open], [2, 3, 1])
    }))

  it.scoped("NeedsAuthorization carries the error, Disabled and Closed since when", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(http, { start: () => Effect.fail(unauthorized) })
      yield* Effect.flip(ready(connection))
      const state = yield* connection.state
      assert(state._tag === "NeedsAuthorization")
      assert.strictEqual(state.error._tag, "Unauthorized")
      yield* pass(7)
      yield* connection.disable
      assert.deepStrictEqual(yield* connection.state, { _tag: "Disabled", since: 7 })
      yield* connection.enable
      assert.deepStrictEqual(yield* connection.state, { _tag: "Idle", since: 7 })
      yield* pass(7)
      yield* connection.close
      assert.deepStrictEqual(yield* connection.state, { _tag: "Closed", since: 14 })
    }))

  it.scoped("a lost session is never shown as Ready, also while it hangs in its end", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http, { close: (n) => n === 1 ? Effect.never : Effect.void })
      yield* ready(connection)
      yield* server.disconnect()
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Reconnecting")
      assert.strictEqual((yield* server.stats).attempts, 1)
      yield* pass(7000)
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))

  it.scoped("a server that was lost once too often is never shown as Ready, also while it hangs in its end", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, { close: (n) => n === 6 ? Effect.never : Effect.void })
      yield* ready(connection)
      for (const wait of [0, 500, 1000, 2000, 4000]) {
        yield* server.disconnect()
        yield* settled
        yield* pass(wait)
        assert.strictEqual(yield* tagOf(connection), "Ready")
      }
      yield* server.disconnect()
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Failed")
      const error = failure(yield* Fiber.join(yield* Effect.tap(forkExit(ready(connection)), () => pass(20_000))))
      assert(error._tag === "ConnectionUnavailable")
      assert.strictEqual(error.reason, "CrashLoop")
    }))
})

describe("changes", () => {
  it.scoped("the current one first, then each; Closed is the last, and the stream ends with the scope", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connection, server } = yield* Scope.extend(connect(http), scope)
      yield* ready(connection)
      const seen = yield* Effect.fork(Stream.runCollect(connection.changes))
      yield* settled
      yield* server.disconnect()
      yield* settled
      yield* connection.close
      yield* ready(connection)
      yield* Scope.close(scope, Exit.void)
      const states = yield* Fiber.join(seen)
      assert.deepStrictEqual(tags([...states]), [
        "Ready",
        "Reconnecting",
        "Ready",
        "Closed",
        "Connecting",
        "Ready",
        "Closed"
      ])
      // Who comes later hears the last one, and that it was the last.
      assert.deepStrictEqual(tags([...(yield* Stream.runCollect(connection.changes))]), ["Closed"])
      assert.strictEqual(yield* tagOf(connection), "Closed")
    }))

  it.scoped("a reader that sleeps through hundreds of changes still hears the last one", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connection } = yield* Scope.extend(connect(inMemory), scope)
      const wake = yield* Deferred.make<void>()
      const seen: Array<McpConnection.ConnectionState> = []
      const reader = yield* Effect.fork(Stream.runForEach(
        connection.changes,
        (state) => Effect.zipRight(Effect.sync(() => void seen.push(state)), Deferred.await(wake))
      ))
      yield* settled
      for (let i = 0; i < 150; i++) {
        yield* ready(connection)
        yield* connection.close
      }
      yield* ready(connection)
      yield* Deferred.succeed(wake, undefined)
      yield* settled
      assert.strictEqual(seen.at(-1)!._tag, "Ready")
      assert.isBelow(seen.length, 451)
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(reader)
      assert.strictEqual(seen.at(-1)!._tag, "Closed")
    }))

  it.scoped("many readers, also slow ones, hear the same end", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connection } = yield* Scope.extend(connect(inMemory), scope)
      const last = Stream.runLast(Stream.tap(connection.changes, () => Effect.yieldNow()))
      const readers = yield* Effect.fork(
        Effect.all(Array.from({ length: 20 }, () => last), { concurrency: "unbounded" })
      )
      yield* settled
      yield* ready(connection)
      yield* Scope.close(scope, Exit.void)
      for (const state of yield* Fiber.join(readers)) {
        assert(state._tag === "Some")
        assert.strictEqual(state.value._tag, "Closed")
      }
    }))

  it.scoped("notifications are heard over all sessions, and end with the scope", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connection, server } = yield* Scope.extend(connect(http), scope)
      const heard = yield* Effect.fork(Stream.runCollect(connection.notifications))
      yield* settled
      yield* ready(connection)
      yield* server.notify("notifications/one")
      yield* settled
      yield* server.disconnect()
      yield* settled
      yield* server.notify("notifications/two")
      yield* settled
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual([...(yield* Fiber.join(heard))].map((_) => _.method), [
        "notifications/one",
        "notifications/two"
      ])
    }))
})

describe("awaitReady", () => {
  it.scoped("makes a session, and gives what it settled", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory)
      const info = yield* connection.awaitReady
      assert.strictEqual(info.transport, "inMemory")
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 1)
      yield* connection.awaitReady
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 1)
    }))

  it.scoped("after the end of the scope everything fails with a typed error, at once", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connection } = yield* Scope.extend(connect(inMemory), scope)
      yield* ready(connection)
      yield* Scope.close(scope, Exit.void)
      for (const use of [ready(connection), echo(connection), Effect.asVoid(connection.reconnect)]) {
        const error = yield* Effect.flip(use)
        assert(error._tag === "ConnectionUnavailable")
        assert.strictEqual(error.reason, "Released")
      }
      yield* connection.close
      yield* connection.disable
      yield* connection.enable
      assert.strictEqual(yield* tagOf(connection), "Closed")
    }))
})

describe("the end of the scope", () => {
  it.scoped("while a try hangs, those who wait are told that the connection is gone", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connection, server } = yield* Scope.extend(connect(inMemory, { start: () => Effect.never }), scope)
      const calls = yield* Effect.forEach([ready(connection), echo(connection)], forkExit)
      assert.strictEqual(yield* tagOf(connection), "Connecting")
      yield* Scope.close(scope, Exit.void)
      for (const call of calls) {
        const error = failure(yield* Fiber.join(call))
        assert.strictEqual(error._tag, "ConnectionUnavailable", error.message)
      }
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("while a try can't be interrupted, it is bounded, and what comes up later is closed", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* Scope.extend(
        connect({ ...inMemory, timeouts: { handshake: null } }, {
          start: () => Effect.uninterruptible(Deferred.await(gate))
        }),
        scope
      )
      const call = yield* forkExit(ready(connection))
      const closing = yield* forkExit(Scope.close(scope, Exit.void))
      const error = failure(yield* Fiber.join(call))
      assert.strictEqual(error._tag, "ConnectionUnavailable", error.message)
      yield* pass(8000)
      yield* Fiber.join(closing)
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("a command given at that very moment returns", () =>
    Effect.gen(function*() {
      for (const command of ["close", "disable", "enable", "reconnect"] as const) {
        const scope = yield* Scope.make()
        const { connection } = yield* Scope.extend(connect(inMemory), scope)
        yield* ready(connection)
        yield* settled
        const commanded = yield* Effect.fork(Effect.exit(Effect.asVoid(connection[command])))
        yield* Effect.yieldNow()
        yield* Scope.close(scope, Exit.void)
        yield* settled
        assert.strictEqual((yield* Fiber.poll(commanded))._tag, "Some", command)
      }
    }))

  it.scoped("a command that was given just before it returns", () =>
    Effect.gen(function*() {
      for (let yields = 0; yields < 6; yields++) {
        const scope = yield* Scope.make()
        const { connection } = yield* Scope.extend(connect(inMemory), scope)
        yield* settled
        const commanded = yield* Effect.fork(connection.close)
        const closing = yield* Effect.fork(Effect.zipRight(
          Effect.repeatN(Effect.yieldNow(), yields),
          Scope.close(scope, Exit.void)
        ))
        yield* Fiber.join(closing)
        yield* settled
        assert.strictEqual((yield* Fiber.poll(commanded))._tag, "Some", `after ${yields} yields`)
      }
    }))
})

describe("what is about an older session changes nothing", () => {
  it.scoped("its end, its notifications, the state of its stream, an expiry that is noticed late", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...http, lifetime: "lazy" }, {
        handlers: {
          "x/hang": () => Effect.never,
          "x/expire": () => Effect.fail(expired)
        },
        listen: (peer) => peer.serverStream("open")
      })
      yield* ready(connection)
      const running = yield* forkExit(connection.request("x/hang", { n: 1 }, { replay: "never" }))
      const late = yield* forkExit(connection.request("x/hang", { n: 2 }, { replay: "never" }))
      const heard: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(connection.notifications, (_) => Effect.sync(() => void heard.push(_.method)))
      )
      // Expired in both sessions: the second time nothing is sent again.
      const cause = yield* forkExit(connection.request("x/expire", {}, { replay: "never" }))
      yield* Fiber.join(cause)
      yield* settled
      const before = yield* connection.state
      assert(before._tag === "Ready")
      assert.strictEqual(before.generation, 2)
      assert.deepStrictEqual((yield* server.stats).live, [1, 2])

      const states = yield* record(connection)
      const old = yield* server.session(1)
      yield* old.notify("notifications/old")
      yield* old.serverStream("down")
      yield* old.serverStream("none")
      yield* old.serverStream("open")
      yield* settled
      yield* old.failRequest((yield* server.awaitReceived((_) => _.params.n === 2)).id!, expired)
      yield* settled
      assert.strictEqual(failure(yield* Fiber.join(late))._tag, "SessionExpired")
      yield* old.disconnect()
      yield* settled
      assert.strictEqual(failure(yield* Fiber.join(running))._tag, "OutcomeUnknown")
      yield* server.notify("notifications/new")
      yield* settled
      assert.deepStrictEqual(tags(states), ["Ready"])
      assert.strictEqual(yield* connection.state, before)
      assert.deepStrictEqual(heard, ["notifications/new"])
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 2)
      assert.deepStrictEqual((yield* server.stats).live, [2])
    }))

  it.scoped("a ping of the old session without an answer", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...http, keepAlive: { every: "10 seconds" } }, {
        handlers: {
          ping: ({ session }) => session === 1 ? Effect.never : Effect.succeed({}),
          "x/hang": () => Effect.never,
          "x/expire": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({})
        }
      })
      yield* ready(connection)
      yield* forkExit(connection.request("x/hang"))
      yield* pass(10_000)
      yield* server.awaitReceived("ping")
      yield* connection.request("x/expire")
      const before = yield* connection.state
      assert(before._tag === "Ready")
      assert.strictEqual(before.generation, 2)
      yield* pass(8000, 1000)
      assert.strictEqual(yield* connection.state, before)
    }))
})

describe("what a use is told", () => {
  it.scoped("names the operation it failed in, and that nothing was executed", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(http, { start: () => Effect.fail(connectFailed("Tls")) })
      const error = yield* Effect.flip(echo(connection))
      assert(McpError.isMcpError(error))
      assert.strictEqual(error._tag, "ConnectFailed")
      assert.strictEqual(error.operation, "tools/call")
      assert.strictEqual(error.executed, "no")
    }))
})
