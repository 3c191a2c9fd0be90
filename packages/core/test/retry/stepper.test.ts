import { assert, describe, it } from "@effect/vitest"
import {
  type Clock,
  Duration,
  Effect,
  Fiber,
  Option,
  Random,
  Schedule,
  ScheduleDecision,
  ScheduleInterval,
  TestClock
} from "effect"
import * as Stepper from "../../src/internal/retry/stepper.js"

/** When `Effect.retry` runs what always fails, within this time. */
const executions = (schedule: Schedule.Schedule<unknown>, millis: number) =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const execution = Effect.clockWith((clock: Clock.Clock) => {
      times.push(clock.unsafeCurrentTimeMillis())
      return Effect.fail("again")
    })
    const fiber = yield* Effect.fork(Effect.ignore(Effect.retry(execution, schedule)))
    yield* TestClock.adjust(millis)
    yield* Fiber.interrupt(fiber)
    return times
  })

describe("the stepper", () => {
  /** The delays of a ladder, each slept. */
  const ladder = (schedule: Schedule.Schedule<unknown>, count: number) =>
    Effect.gen(function*() {
      const stepper = Stepper.make(schedule)
      const found: Array<number> = []
      for (let i = 0; i < count; i++) {
        const stepped = yield* stepper.next(undefined)
        if (Option.isNone(stepped)) break
        found.push(stepped.value.delayMillis)
        yield* TestClock.adjust(stepped.value.delayMillis)
      }
      return found
    })

  it.effect("gives the delays of Effect's own schedules", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* ladder(Schedule.exponential(500), 4), [500, 1000, 2000, 4000])
      assert.deepStrictEqual(yield* ladder(Schedule.spaced("15 seconds"), 3), [15_000, 15_000, 15_000])
      assert.deepStrictEqual(yield* ladder(Schedule.recurs(3), 9), [0, 0, 0])
      assert.deepStrictEqual(yield* ladder(Schedule.stop, 9), [])
      const capped = Schedule.union(Schedule.exponential(1000), Schedule.spaced(5000))
      assert.deepStrictEqual(yield* ladder(capped, 5), [1000, 2000, 4000, 5000, 5000])
      const few = Schedule.intersect(Schedule.spaced(10), Schedule.recurs(2))
      assert.deepStrictEqual(yield* ladder(few, 9), [10, 10])
      const rungs = Schedule.fromDelays(0, 500, 1000, 2000, 4000)
      assert.deepStrictEqual(yield* ladder(rungs, 9), [0, 500, 1000, 2000, 4000])
      const thenSlowly = Schedule.andThen(rungs, Schedule.spaced("15 seconds"))
      assert.deepStrictEqual(yield* ladder(thenSlowly, 7), [0, 500, 1000, 2000, 4000, 15_000, 15_000])
    }))

  it.effect("agrees with Effect.retry about every schedule", () =>
    Effect.gen(function*() {
      for (
        const schedule of [
          Schedule.exponential(100, 3),
          Schedule.fibonacci(70),
          Schedule.linear(40),
          Schedule.fixed(250),
          Schedule.windowed(300),
          Schedule.union(Schedule.spaced(333), Schedule.exponential(10)),
          Schedule.exponential(50).pipe(Schedule.jittered, Schedule.intersect(Schedule.recurs(8)))
        ]
      ) {
        const start = yield* Effect.clockWith((_) => _.currentTimeMillis)
        const times = yield* Effect.withRandom(executions(schedule, 5000), Random.make("seed"))
        yield* TestClock.setTime(start)
        const found = yield* Effect.withRandom(ladder(schedule, times.length - 1), Random.make("seed"))
        let at = start
        assert.deepStrictEqual([start, ...found.map((_) => at += _)], times)
      }
    }))

  it.effect("does not sleep: it says how long, and counts from when it is asked", () =>
    Effect.gen(function*() {
      const stepper = Stepper.make(Schedule.fixed(1000))
      assert.strictEqual(Option.getOrThrow(yield* stepper.next(undefined)).delayMillis, 1000)
      yield* TestClock.adjust(1400)
      assert.strictEqual(Option.getOrThrow(yield* stepper.next(undefined)).delayMillis, 600)
    }))

  it.effect("never gives a negative delay, one that is no number, or one that no timer can wait for", () =>
    Effect.gen(function*() {
      const at = (startMillis: (now: number) => number) =>
        Schedule.makeWithState(
          undefined,
          (now) =>
            Effect.succeed([undefined, now, ScheduleDecision.continueWith(ScheduleInterval.after(startMillis(now)))])
        )
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* ladder(at((now) => now - 5), 2), [0, 0])
      assert.deepStrictEqual(yield* ladder(at(() => Number.NaN), 2), [0, 0])
      assert.strictEqual((yield* ladder(Schedule.exponential(1000, 10), 12)).at(-1), 2_147_483_647)
      const late = Schedule.modifyDelay(Schedule.forever, () => Duration.infinity)
      assert.deepStrictEqual(yield* ladder(late, 2), [2_147_483_647, 2_147_483_647])
    }))

  it.effect("hands the input to the schedule and its output back", () =>
    Effect.gen(function*() {
      const stepper = Stepper.make(
        Schedule.identity<number>().pipe(Schedule.whileInput((_: number) => _ < 3), Schedule.addDelay((_) => _ * 10))
      )
      assert.deepStrictEqual(yield* stepper.next(2), Option.some({ out: 2, delayMillis: 20 }))
      assert.deepStrictEqual(yield* stepper.next(3), Option.none())
    }))

  it.effect("stays over until it is reset, and then begins anew", () =>
    Effect.gen(function*() {
      const stepper = Stepper.make(Schedule.whileInput(Schedule.exponential(100), (_: boolean) => _))
      yield* stepper.next(true)
      assert.strictEqual(Option.getOrThrow(yield* stepper.next(true)).delayMillis, 200)
      assert(Option.isNone(yield* stepper.next(false)))
      assert(Option.isNone(yield* stepper.next(true)))
      yield* stepper.reset
      assert.strictEqual(Option.getOrThrow(yield* stepper.next(true)).delayMillis, 100)
    }))

  it.effect("one ladder knows nothing of another of the same schedule", () =>
    Effect.gen(function*() {
      const schedule = Schedule.exponential(100)
      const [one, other] = [Stepper.make(schedule), Stepper.make(schedule)]
      yield* one.next(undefined)
      yield* one.next(undefined)
      assert.strictEqual(Option.getOrThrow(yield* other.next(undefined)).delayMillis, 100)
    }))
})
