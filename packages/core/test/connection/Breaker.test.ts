/**
 * The breaker at the end of the ladder: servers that keep ending are left alone for a while, and then tried once.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { connect, echo, failure, forkExit, http, pass, ready, settled, stdio, tagOf } from "./kit.js"

const crash = new McpError.ConnectionClosed({
  server: "scripted",
  operation: "receive",
  executed: "maybe",
  reason: "Exited",
  detail: "its output has ended",
  exit: { code: 42, signal: null }
})

/** A process that ends right after each handshake, as long as `crashing` says so. */
const crashing = (until: { crashes: boolean } = { crashes: true }) =>
  Effect.gen(function*() {
    const { connection, server } = yield* connect(stdio, {
      handlers: {
        "notifications/initialized": (_, peer) => until.crashes ? peer.disconnect(crash) : Effect.void
      },
      // The handshake is over before the process ends.
      listen: () => settled
    })
    return { connection, server, until }
  })

/** Good sessions that the test ends by hand until the breaker opens. */
const broken = Effect.gen(function*() {
  const { connection, server } = yield* connect(stdio)
  yield* ready(connection)
  for (const wait of [0, 500, 1000, 2000, 4000]) {
    yield* server.disconnect(crash)
    yield* settled
    yield* pass(wait)
    assert.strictEqual(yield* tagOf(connection), "Ready")
  }
  yield* server.disconnect(crash)
  yield* settled
  return { connection, server }
})

describe("open", () => {
  it.scoped("a process that keeps ending stops after its ladder; the error names the last reason", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* broken
      const state = yield* connection.state
      assert(state._tag === "Failed")
      assert.strictEqual(state.since, 7500)
      assert.strictEqual(state.retryAt, 67_500)
      assert(state.error._tag === "ConnectionUnavailable")
      assert.strictEqual(state.error.reason, "CrashLoop")
      assert.include(state.error.message, "exited with code 42")
      yield* pass(3_600_000)
      assert.strictEqual((yield* server.stats).attempts, 6)
    }))

  it.scoped("a process that ends during each start, as well", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* crashing()
      for (let i = 0; i < 6; i++) {
        yield* forkExit(ready(connection))
        yield* pass(5000, 500)
      }
      const error = yield* Effect.flip(ready(connection))
      assert(error._tag === "ConnectionUnavailable", error._tag)
      assert.strictEqual(error.reason, "CrashLoop")
      assert.include(error.message, "exited with code 42")
      assert.deepStrictEqual((yield* server.stats).live, [])
      const { attempts } = yield* server.stats
      assert.isAtMost(attempts, 12)
    }))

  it.scoped("uses fail at once, without a try, and say when it is over", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* broken
      yield* pass(20_000)
      for (let i = 0; i < 10; i++) {
        const error = yield* Effect.flip(echo(connection))
        assert(error._tag === "ConnectionUnavailable")
        assert.strictEqual(error.reason, "CrashLoop")
        assert.strictEqual(error.retryAfterMillis, 40_000)
        assert.strictEqual(error.operation, "tools/call")
        assert.strictEqual(error.executed, "no")
      }
      assert.strictEqual((yield* server.stats).attempts, 6)
    }))

  it.scoped("calls that wait when it opens are told", () =>
    Effect.gen(function*() {
      const until = { crashes: false }
      const { connection, server } = yield* crashing(until)
      yield* ready(connection)
      until.crashes = true
      yield* server.disconnect(crash)
      const call = yield* forkExit(echo(connection, { replay: "never" }))
      yield* pass(7500, 500)
      const error = failure(yield* Fiber.join(call))
      assert(error._tag === "ConnectionUnavailable", error.message)
      assert.strictEqual(error.reason, "CrashLoop")
    }))
})

describe("half open", () => {
  it.scoped("after the cool-down exactly one probe, however many uses there are", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(stdio, {
        start: (n) => n === 7 ? Deferred.await(gate) : Effect.void
      }, { reconnect: { coolDown: "10 seconds" } })
      yield* ready(connection)
      for (const wait of [0, 500, 1000, 2000, 4000, 0]) {
        yield* server.disconnect(crash)
        yield* settled
        yield* pass(wait)
      }
      yield* pass(9999)
      assert.strictEqual((yield* Effect.flip(ready(connection)))._tag, "ConnectionUnavailable")
      yield* pass(1)
      const uses = yield* Effect.forEach(Array.from({ length: 20 }), () => forkExit(echo(connection)))
      assert.strictEqual((yield* server.stats).attempts, 7)
      yield* Deferred.succeed(gate, undefined)
      for (const use of uses) assert(Exit.isSuccess(yield* Fiber.join(use)))
      assert.strictEqual((yield* server.stats).attempts, 7)
    }))

  it.scoped("a probe that fails, or whose session is lost early, doubles the cool-down, up to ten times", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, {
        start: (n) => n > 6 && n % 2 === 0 ? Effect.fail(crash) : Effect.void
      }, { reconnect: { coolDown: "10 seconds" } })
      yield* ready(connection)
      for (const wait of [0, 500, 1000, 2000, 4000, 0]) {
        yield* server.disconnect(crash)
        yield* settled
        yield* pass(wait)
      }
      const coolDowns: Array<number> = []
      for (let i = 0; i < 7; i++) {
        const state = yield* connection.state
        assert(state._tag === "Failed" && state.retryAt !== undefined)
        coolDowns.push(state.retryAt - state.since)
        yield* pass(state.retryAt - state.since)
        const probe = yield* forkExit(connection.awaitReady)
        if (Exit.isSuccess(yield* Fiber.join(probe))) {
          yield* pass(29_999)
          yield* server.disconnect(crash)
          yield* settled
        }
        assert.strictEqual((yield* server.stats).attempts, 7 + i)
      }
      assert.deepStrictEqual(coolDowns, [10_000, 20_000, 40_000, 80_000, 100_000, 100_000, 100_000])
    }))

  it.scoped("a probe that lasts begins the ladder anew", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* broken
      yield* pass(60_000)
      yield* echo(connection)
      yield* pass(30_000)
      for (const wait of [0, 500, 1000, 2000, 4000]) {
        yield* server.disconnect(crash)
        yield* settled
        yield* pass(wait)
        assert.strictEqual(yield* tagOf(connection), "Ready")
      }
      yield* server.disconnect(crash)
      yield* settled
      const state = yield* connection.state
      assert(state._tag === "Failed" && state.retryAt !== undefined)
      assert.strictEqual(state.retryAt - state.since, 60_000)
    }))
})

describe("what closes it", () => {
  it.scoped("an explicit reconnect, and close, forget all failures", () =>
    Effect.gen(function*() {
      for (const command of ["reconnect", "close", "disable"] as const) {
        const { connection, server } = yield* broken
        yield* Effect.asVoid(connection[command])
        if (command === "disable") yield* connection.enable
        yield* echo(connection)
        for (const wait of [0, 500, 1000, 2000, 4000]) {
          yield* server.disconnect(crash)
          yield* settled
          yield* pass(wait)
          assert.strictEqual(yield* tagOf(connection), "Ready", command)
        }
      }
    }))

  it.scoped("sessions that end because nobody uses them are no failures", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, lifetime: { idle: "5 seconds" } })
      for (let day = 0; day < 10; day++) {
        yield* Effect.scoped(Effect.gen(function*() {
          yield* Effect.asVoid(connection.hold)
          yield* server.disconnect(crash)
          yield* settled
          assert.strictEqual(yield* tagOf(connection), "Ready", `day ${day}`)
        }))
        yield* pass(5000)
        assert.strictEqual(yield* tagOf(connection), "Idle")
        yield* pass(86_400_000)
      }
    }))

  it.scoped("a remote server has none", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http)
      yield* ready(connection)
      for (let i = 0; i < 10; i++) {
        yield* server.disconnect(crash)
        yield* settled
        const state = yield* connection.state
        if (state._tag === "Reconnecting") {
          assert(state.nextAt !== undefined)
          yield* pass(Math.ceil(state.nextAt - state.since))
        }
        assert.strictEqual(yield* tagOf(connection), "Ready")
        yield* pass(1000)
      }
    }))
})
