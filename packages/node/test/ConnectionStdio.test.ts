/** A connection whose server is a real process that dies, hangs or crashes: S03, S04, S09, S10, S11. */
import { assert, describe, it } from "@effect/vitest"
import { type McpConnection, McpError, RetryPolicy } from "@mcp-runtime/core"
import { StdioFixture } from "@mcp-runtime/testing"
import { Effect, Fiber, Schedule, TestClock } from "effect"
import { fileURLToPath } from "node:url"
import { awaitState, call, clean, connect, whoIsThere } from "./internal/connections.js"
import { isAlive } from "./internal/processes.js"

const crashingServer = fileURLToPath(new URL("fixtures/crashing-server.mjs", import.meta.url))

/** What a call that was under way says when its process has died. */
const lostWith = (error: McpError.McpError): McpError.ConnectionClosed => {
  assert.instanceOf(error, McpError.OutcomeUnknown)
  const { error: reason } = error as McpError.OutcomeUnknown
  assert.instanceOf(reason, McpError.ConnectionClosed)
  assert.strictEqual(error.executed, "maybe")
  return reason as McpError.ConnectionClosed
}

const unavailable = (error: McpError.McpError): McpError.ConnectionUnavailable => {
  assert.instanceOf(error, McpError.ConnectionUnavailable)
  return error as McpError.ConnectionUnavailable
}

const hangingCalls = (connection: McpConnection.McpConnection, count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.fork(Effect.flip(call(connection, "hang")))
  )

/** Its first failure is its last. */
const once: McpConnection.CallOptions = { retry: RetryPolicy.none }

const stubborn = { afterEof: "50 millis", afterTerm: "50 millis", afterKill: "1 hour" } as const

describe("a process that is killed", () => {
  // The clock stands still: nothing here may need any time.
  it.effect("S11: 20 running calls end at once with the signal and stderr, none runs twice, the next call heals", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(StdioFixture.config([], { env: journal.env }))
        const first = yield* whoIsThere(connection)
        const calls = yield* hangingCalls(connection, 20)
        yield* journal.awaitCount("stage call hang", 20)
        process.kill(first.pid, "SIGKILL")
        for (const fiber of calls) {
          const reason = lostWith(yield* Fiber.join(fiber))
          assert.strictEqual(reason.reason, "Exited")
          assert.deepStrictEqual(reason.exit, { code: null, signal: "SIGKILL" })
          assert.include(reason.stderrTail, "stage call hang")
        }
        const second = yield* whoIsThere(connection)
        assert.notStrictEqual(second.pid, first.pid)
        assert.deepStrictEqual(journal.alive(), [second.pid])
        assert.strictEqual(journal.count("stage call hang"), 20)
        assert.deepStrictEqual(journal.beside(), ["", ""])
        const { open, replays, sessions } = yield* connection.stats
        assert.deepStrictEqual({ open, replays, sessions }, { open: 1, replays: 0, sessions: 2 })
      })
    ))

  it.effect("S11: calls that wait for their turn were not executed, and run on the next process, each once", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(StdioFixture.config([], { env: journal.env, concurrency: "serial" }))
        const { pid } = yield* whoIsThere(connection)
        const [running] = yield* hangingCalls(connection, 1)
        yield* journal.awaitCount("stage call hang", 1)
        const waiting = yield* Effect.forEach(
          [1, 2, 3],
          (n) => Effect.fork(call(connection, "echo", { n }))
        )
        yield* Effect.yieldNow()
        process.kill(pid, "SIGKILL")
        assert.strictEqual(lostWith(yield* Fiber.join(running!)).exit?.signal, "SIGKILL")
        yield* journal.awaitCount("stage initialized", 2)
        // The delay before the replay is time of the budget.
        yield* awaitState(connection, "Ready")
        yield* TestClock.adjust("250 millis")
        const answers = yield* Effect.forEach(waiting, Fiber.join)
        assert.deepStrictEqual(answers, [`{"n":1}`, `{"n":2}`, `{"n":3}`])
        assert.strictEqual(journal.count("stage call echo"), 3)
        assert.strictEqual(journal.count("stage call hang"), 1)
      })
    ))

  it.live("S09: a wrapper's server is killed: the wrapper ends too, and the next call has another of both", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(StdioFixture.wrapped(["keepalive"], { env: journal.env, shutdown: stubborn }))
        const first = yield* whoIsThere(connection)
        const before = journal.alive()
        assert.lengthOf(before, 2)
        const [running] = yield* hangingCalls(connection, 1)
        yield* journal.awaitCount("stage call hang", 1)
        process.kill(first.pid, "SIGKILL")
        // The shell lives a little longer than its child, and says what became of it.
        assert.strictEqual(lostWith(yield* Fiber.join(running!)).exit?.code, 137)
        const second = yield* whoIsThere(connection)
        assert.notStrictEqual(second.pid, first.pid)
        assert.deepStrictEqual(before.filter(isAlive), [])
        assert.deepStrictEqual(journal.beside(), ["", ""])
      })
    ))

  it.live("S09, S10: a wrapper is killed: its server, which ignores everything, is dead before the next one starts", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(StdioFixture.wrapped(["keepalive", "ignoreterm", "stubbornchild"], {
          env: journal.env,
          shutdown: stubborn
        }))
        const first = yield* whoIsThere(connection)
        const before = journal.alive()
        // The shell around the server, the server, its helper, and what that one runs.
        assert.lengthOf(before, 4)
        const wrapper = first.ppid
        assert.include(before, wrapper)
        const [running] = yield* hangingCalls(connection, 1)
        yield* journal.awaitCount("stage call hang", 1)
        process.kill(wrapper, "SIGKILL")
        assert.strictEqual(lostWith(yield* Fiber.join(running!)).exit?.signal, "SIGKILL")
        const second = yield* whoIsThere(connection)
        assert.notStrictEqual(second.pid, first.pid)
        assert.deepStrictEqual(before.filter(isAlive), [])
        assert.deepStrictEqual(journal.beside(), ["", ""])
      })
    ))
})

describe("a process that never becomes a server", () => {
  it.effect("S11: it crashes after each handshake: the tries end, the reason is told, nothing lives, a probe comes later", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(
          StdioFixture.config([], { env: journal.env, args: [crashingServer] }),
          { reconnect: { schedule: Schedule.recurs(5), coolDown: "1 minute" } }
        )
        yield* Effect.exit(Effect.asVoid(connection.awaitReady))
        const failed = yield* awaitState(connection, "Failed")
        assert.lengthOf(journal.pids(), 6)
        assert.deepStrictEqual(journal.beside(), ["", "", "", "", "", ""])
        assert.deepStrictEqual(journal.alive(), [])
        for (const error of [failed.error, yield* Effect.flip(call(connection, "echo"))]) {
          const { executed, message, reason, retryAfterMillis } = unavailable(error)
          assert.strictEqual(executed, "no")
          assert.strictEqual(reason, "CrashLoop")
          assert.strictEqual(retryAfterMillis, 60_000)
          assert.include(message, "exited with code 9")
          assert.include(message, "the database is on fire")
        }
        assert.lengthOf(journal.pids(), 6)
        yield* TestClock.adjust("1 minute")
        yield* Effect.exit(Effect.asVoid(connection.awaitReady))
        const again = yield* awaitState(connection, "Failed")
        assert.lengthOf(journal.pids(), 7)
        assert.strictEqual(unavailable(again.error).retryAfterMillis, 120_000)
        assert.deepStrictEqual(journal.alive(), [])
      })
    ))

  it.effect("S04: it never answers initialize: the deadline of the handshake ends it, and the next use tries again", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(
          StdioFixture.config(["noinit", "keepalive", "ignoreterm", "logeof", "logsig"], {
            env: journal.env,
            timeouts: { handshake: "10 seconds" },
            shutdown: { afterEof: "1 second", afterTerm: "1 second", afterKill: "1 second" }
          })
        )
        for (const nth of [1, 2]) {
          const waiting = yield* Effect.fork(Effect.flip(call(connection, "echo", {}, once)))
          yield* journal.awaitCount("stage initialize", nth)
          yield* TestClock.adjust("9999 millis")
          assert.lengthOf(journal.alive(), 1)
          yield* TestClock.adjust("1 millis")
          yield* journal.awaitCount("stage eof", nth)
          yield* TestClock.adjust("1 second")
          yield* journal.awaitCount("stage SIGTERM", nth)
          yield* TestClock.adjust("1 second")
          const error = yield* Fiber.join(waiting)
          assert.instanceOf(error, McpError.RequestTimeout)
          assert.strictEqual((error as McpError.RequestTimeout).kind, "handshake")
          assert.strictEqual(error.executed, "no")
          assert.deepStrictEqual(journal.alive(), [])
          assert.strictEqual((yield* connection.state)._tag, "Failed")
          assert.lengthOf(journal.pids(), nth)
        }
      })
    ))

  for (const flag of ["earlyexit", "dieoninit"] as const) {
    it.effect(`S03: it exits (${flag}): every one that waits gets its code and stderr, and the next use tries again`, () =>
      clean((journal) =>
        Effect.gen(function*() {
          const connection = yield* connect(StdioFixture.config([`${flag}=6`], { env: journal.env }))
          for (const nth of [1, 2]) {
            const errors = yield* Effect.all(
              [1, 2, 3].map(() => Effect.flip(call(connection, "echo", {}, once))),
              { concurrency: "unbounded" }
            )
            for (const error of errors) {
              assert.instanceOf(error, McpError.HandshakeFailed)
              const { executed, exit, message, stderrTail } = error as McpError.HandshakeFailed
              assert.deepStrictEqual({ executed, exit }, { executed: "no", exit: { code: 6, signal: null } })
              assert.include(stderrTail, "fatal:")
              assert.include(message, "exited with code 6")
            }
            assert.lengthOf(journal.pids(), nth)
            assert.deepStrictEqual(journal.alive(), [])
            assert.strictEqual((yield* connection.state)._tag, "Failed")
          }
        })
      ))
  }
})
