/** What measures a time does not notice that the wall clock was set back, or forward. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Clock, Effect, Fiber, TestClock } from "effect"
import { McpConfig, McpConnection, McpSession } from "../src/index.js"
import { Steady } from "../src/internal/steady.js"
import { settable } from "./clocks.js"
import { connect, http, pass, ready, settled, tagOf } from "./connection/kit.js"

const second = 1000
const hour = 3_600_000

/** Two clocks that are moved by hand: the one on the wall, which is also set, and the one that only passes. */
class TwoClocks {
  private wall = 10_000_000
  private even = 0
  /** How often the second one was asked. */
  asked = 0
  private readonly steady: Steady
  private readonly begin: number

  constructor() {
    const millis = () => this.wall
    const nanos = () => {
      this.asked++
      return BigInt(this.even) * 1_000_000n
    }
    this.steady = new Steady({
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: millis,
      unsafeCurrentTimeNanos: nanos,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanos: Effect.sync(nanos),
      sleep: () => Effect.never
    })
    this.begin = this.steady.now()
  }

  set(by: number): void {
    this.wall += by
  }

  pass(millis: number): void {
    this.wall += millis
    this.even += millis
  }

  /** As one sees it who measures how much has passed since the beginning. */
  get passed(): number {
    return this.steady.now() - this.begin
  }

  /** And since then. */
  during(change: () => void): number {
    const before = this.passed
    change()
    return this.passed - before
  }
}

describe("Steady", () => {
  it("goes on where the wall clock goes back, as far as time has passed", () => {
    const clocks = new TwoClocks()
    clocks.pass(500)
    clocks.set(-hour)
    clocks.pass(500)
    assert.strictEqual(clocks.passed, 1000)
    clocks.pass(500)
    assert.strictEqual(clocks.passed, 1500)
    clocks.set(-10)
    clocks.pass(5)
    assert.strictEqual(clocks.passed, 1505)
    clocks.set(hour)
    assert.strictEqual(clocks.passed, 1505)
  })

  it("does not jump with the wall clock, however often it is asked, and be it that the machine has slept", () => {
    for (const between of [0, 1, 300, second, 10 * second, hour]) {
      const clocks = new TwoClocks()
      for (let round = 0; round < 2000; round++) {
        const passed = clocks.during(() => {
          if (round % 100 === 0) clocks.set(8 * hour)
          clocks.pass(between)
        })
        assert.strictEqual(passed, between)
      }
    }
  })

  it("where the wall clock was set by less than a second, it goes neither back nor astray", () => {
    const clocks = new TwoClocks()
    let last = 0
    for (let at = 10; at <= 60 * second; at += 10) {
      if (at === 30 * second + 50) clocks.set(900)
      if (at === 40 * second + 500) clocks.set(-900)
      clocks.pass(10)
      assert.isAtLeast(clocks.passed, last)
      last = clocks.passed
      assert.isAtMost(Math.abs(last - at), 900)
    }
    for (const by of [900, -900]) {
      assert.strictEqual(
        clocks.during(() => {
          clocks.set(by)
          clocks.pass(2 * second)
        }),
        2 * second
      )
    }
  })

  it("a wall clock that is slowed down or hurried a little neither stops it nor adds up to a jump", () => {
    for (const drift of [-1, 1]) {
      const clocks = new TwoClocks()
      // Somebody asks again and again for an hour: then the two are 36 s apart.
      for (let turn = 0; turn < hour / 100; turn++) {
        const passed = clocks.during(() => {
          clocks.set(drift)
          clocks.pass(100)
        })
        assert.strictEqual(passed, 100 + drift)
      }
      for (const by of [-hour, hour]) {
        const passed = clocks.during(() => {
          clocks.set(by)
          clocks.pass(5 * second)
        })
        assert.isAtMost(Math.abs(passed - 5 * second), 10)
      }
      const idle = clocks.during(() => {
        clocks.set(drift * 36 * second)
        clocks.pass(hour)
      })
      assert.strictEqual(idle, hour)
    }
  })

  it("asks for nanoseconds once in a second at most, however often it is asked itself", () => {
    const clocks = new TwoClocks()
    assert.strictEqual(clocks.asked, 1)
    for (let turn = 0; turn < 100_000; turn++) {
      if (turn % 10 === 0) clocks.pass(1)
      assert.strictEqual(clocks.passed, Math.floor(turn / 10) + 1)
    }
    assert.strictEqual(clocks.asked, 11)
  })

  it.effect("is as long as the test clock says, by hours and by parts of milliseconds", () =>
    Effect.gen(function*() {
      const clock = yield* Effect.clock
      const steady = Steady.of(clock)
      for (const by of ["1 hour", "250 micros", "100 hours", "999 millis", "1 nanos", "1 second"] as const) {
        yield* TestClock.adjust(by)
        assert.strictEqual(steady.now(), clock.unsafeCurrentTimeMillis())
      }
      assert.strictEqual(Steady.of(clock), steady)
    }))
})

const hang = { "x/hang": () => Effect.never }

for (const [where, by] of [["back", -hour], ["forward", hour]] as const) {
  describe(`the wall clock is set ${where} by an hour`, () => {
    it.scoped("a request of a session ends at its deadline, and one after it at its own", () =>
      Effect.gen(function*() {
        const { clock, set } = yield* settable
        const config = yield* McpConfig.decodeUnknown({ name: "s", ...http })
        const server = yield* ScriptedServer.make({ config, handlers: hang })
        const session = yield* Effect.withClock(McpSession.open(server.channel), clock)
        const request = (timeout: number) => Effect.fork(Effect.flip(session.request("x/hang", {}, { timeout })))
        for (const _ of [1, 2]) {
          const call = yield* request(2000)
          yield* pass(500)
          set(by)
          // When that one ends, the other one is looked at, too.
          const short = yield* request(500)
          yield* pass(500)
          assert.strictEqual((yield* Fiber.join(short))._tag, "RequestTimeout")
          yield* pass(999)
          assert.strictEqual(call.unsafePoll(), null)
          yield* pass(1)
          assert.strictEqual((yield* Fiber.join(call))._tag, "RequestTimeout")
        }
      }))

    it.scoped("a call of a connection ends in time, though it has waited for its session", () =>
      Effect.gen(function*() {
        const { clock, set } = yield* settable
        const { connection } = yield* Effect.withClock(
          // On the clock of the test, too.
          connect(http, { start: () => Effect.sleep(1000), handlers: hang }),
          clock
        )
        const call = yield* Effect.fork(Effect.flip(connection.request("x/hang", {}, { maxTotal: 3000 })))
        yield* pass(500)
        set(by)
        yield* pass(2499, 100)
        assert.strictEqual(call.unsafePoll(), null)
        yield* pass(1)
        assert.strictEqual((yield* Fiber.join(call))._tag, "OutcomeUnknown")
      }))

    it.scoped("a session that nobody uses ends in time", () =>
      Effect.gen(function*() {
        const { clock, set } = yield* settable
        const { connection } = yield* Effect.withClock(connect({ ...http, lifetime: { idle: "1 minute" } }), clock)
        yield* Effect.withClock(ready(connection), clock)
        yield* pass(30_000)
        yield* McpConnection.listTools(connection)
        yield* pass(10_000)
        set(by)
        yield* pass(49_000, 500)
        assert.strictEqual(yield* tagOf(connection), "Ready")
        yield* pass(2000, 500)
        yield* settled
        assert.strictEqual(yield* tagOf(connection), "Idle")
      }))
  })
}
