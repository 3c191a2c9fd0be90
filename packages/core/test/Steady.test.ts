/** What measures a time does not notice that the wall clock was set back. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Clock, Effect, Fiber, TestClock } from "effect"
import { McpConfig, McpConnection, McpSession } from "../src/index.js"
import { Steady } from "../src/internal/steady.js"
import { connect, http, pass, ready, tagOf } from "./connection/kit.js"

const hour = 3_600_000

/** The clock of the test, whose wall clock can be set back. */
const settable = Effect.map(Effect.clock, (base) => {
  let back = 0
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => base.unsafeCurrentTimeMillis() + 2 * hour - back,
    unsafeCurrentTimeNanos: () => base.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.sync(() => clock.unsafeCurrentTimeMillis()),
    currentTimeNanos: base.currentTimeNanos,
    sleep: (duration) => base.sleep(duration)
  }
  return { clock, setBack: (millis: number) => void (back += millis) }
})

const hang = { "x/hang": () => Effect.never }

describe("Steady", () => {
  it.effect("goes on where the wall clock goes back, as far as time has passed", () =>
    Effect.gen(function*() {
      const { clock, setBack } = yield* settable
      const steady = new Steady(clock)
      const begin = steady.now()
      const passed = () => steady.now() - begin
      yield* TestClock.adjust(500)
      setBack(hour)
      yield* TestClock.adjust(500)
      assert.strictEqual(passed(), 1000)
      yield* TestClock.adjust(500)
      assert.strictEqual(passed(), 1500)
      setBack(10)
      yield* TestClock.adjust(5)
      assert.strictEqual(passed(), 1505)
      setBack(-hour)
      assert.strictEqual(passed(), 1505 + hour)
      assert.strictEqual(Steady.of(clock), Steady.of(clock))
    }))
})

describe("the wall clock is set back by an hour", () => {
  it.scoped("a request of a session ends at its deadline, and one after it at its own", () =>
    Effect.gen(function*() {
      const { clock, setBack } = yield* settable
      const config = yield* McpConfig.decodeUnknown({ name: "s", ...http })
      const server = yield* ScriptedServer.make({ config, handlers: hang })
      const session = yield* Effect.withClock(McpSession.open(server.channel), clock)
      for (const _ of [1, 2]) {
        const call = yield* Effect.fork(Effect.flip(session.request("x/hang", {}, { timeout: 2000 })))
        yield* pass(500)
        setBack(hour)
        yield* pass(1499)
        assert.strictEqual(call.unsafePoll(), null)
        yield* pass(1)
        assert.strictEqual((yield* Fiber.join(call))._tag, "RequestTimeout")
      }
    }))

  it.scoped("a call of a connection ends in time, though it has waited for its session", () =>
    Effect.gen(function*() {
      const { clock, setBack } = yield* settable
      const { connection } = yield* Effect.withClock(
        connect(http, { start: () => Effect.sleep(1000), handlers: hang }),
        clock
      )
      const call = yield* Effect.fork(Effect.flip(connection.request("x/hang", {}, { maxTotal: 3000 })))
      yield* pass(500)
      setBack(hour)
      yield* pass(2499, 100)
      assert.strictEqual(call.unsafePoll(), null)
      yield* pass(1)
      assert.strictEqual((yield* Fiber.join(call))._tag, "OutcomeUnknown")
    }))

  it.scoped("a session that nobody uses ends in time", () =>
    Effect.gen(function*() {
      const { clock, setBack } = yield* settable
      const { connection } = yield* Effect.withClock(connect({ ...http, lifetime: { idle: "1 minute" } }), clock)
      yield* Effect.withClock(ready(connection), clock)
      yield* pass(30_000)
      setBack(hour)
      yield* McpConnection.listTools(connection)
      yield* pass(61_000, 500)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))
})
