/** What the tests of effects that run at once share. */
import { assert, it } from "@effect/vitest"
import { Deferred, type Duration, Effect, Exit, Fiber, TestClock } from "effect"
import { macrotask } from "./moments.js"

const settled = Effect.repeatN(macrotask, 4)

/** Counts how many are under way, and leaves none. */
export const counting = () => {
  const now = { running: 0, most: 0 }
  const busy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        now.most = Math.max(now.most, ++now.running)
      }),
      () => effect,
      () => Effect.sync(() => void now.running--)
    )
  return { now, busy }
}

/** So many that need a while to end: whoever interrupts waits until they have. */
export const interruptedAndAwaited = (count: number, all: (slow: Effect.Effect<never>) => Effect.Effect<unknown>) =>
  Effect.gen(function*() {
    const { busy, now } = counting()
    const cleaned = yield* Deferred.make<void>()
    const running = yield* Effect.fork(all(busy(Effect.onInterrupt(Effect.never, () => Deferred.await(cleaned)))))
    yield* settled
    assert.strictEqual(now.running, count)
    const ended = yield* Effect.fork(Fiber.interrupt(running))
    yield* settled
    assert.strictEqual((yield* ended.poll)._tag, "None")
    yield* Deferred.succeed(cleaned, undefined)
    assert.isTrue(Exit.isInterrupted(yield* Fiber.join(ended)))
    assert.strictEqual(now.running, 0)
  })

type FirstOf = <A, E, A2, E2>(
  one: Effect.Effect<A, E>,
  other: Effect.Effect<A2, E2>
) => Effect.Effect<A | A2, E | E2>

type InTime = <A, E, A2, E2>(
  effect: Effect.Effect<A, E>,
  limit: Duration.DurationInput,
  tooLate: () => Effect.Effect<A2, E2>
) => Effect.Effect<A | A2, E | E2>

/** What is promised of the first of two, and of a bound. Each package has them for itself, or only the bound. */
export const testBounds = (
  inTime: InTime,
  firstOf: FirstOf = (one, other) => inTime(one, 0, () => other)
): void => {
  it.effect("where the first needs no waiting, the other one does not begin", () =>
    Effect.gen(function*() {
      const begun: Array<string> = []
      const other = Effect.sync(() => begun.push("other"))
      for (const one of [Effect.succeed(1), Effect.fail("no"), Effect.die("no")]) {
        assert.deepStrictEqual(yield* Effect.exit(firstOf(one, other)), yield* Effect.exit(one))
        assert.deepStrictEqual(yield* Effect.exit(inTime(one, 0, () => other)), yield* Effect.exit(one))
      }
      yield* settled
      assert.deepStrictEqual(begun, [])
    }))

  it.effect("the other one is interrupted and waited for, whichever it is and however the first ends", () =>
    Effect.gen(function*() {
      for (const end of [Effect.succeed(1), Effect.fail("no"), Effect.die("no")]) {
        for (const order of ["first", "second"]) {
          const { busy, now } = counting()
          const gate = yield* Deferred.make<void>()
          const cleaned = yield* Deferred.make<void>()
          const winner = Effect.zipRight(Deferred.await(gate), end)
          const loser = busy(Effect.onInterrupt(Effect.never, () => Deferred.await(cleaned)))
          const both = yield* Effect.fork(order === "first" ? firstOf(winner, loser) : firstOf(loser, winner))
          yield* settled
          yield* Deferred.succeed(gate, undefined)
          yield* settled
          assert.deepStrictEqual([now.running, (yield* both.poll)._tag], [1, "None"])
          yield* Deferred.succeed(cleaned, undefined)
          assert.deepStrictEqual(yield* Fiber.await(both), yield* Effect.exit(end))
          assert.strictEqual(now.running, 0)
        }
      }
    }))

  it.effect("an interruption of whoever waits ends both, and they are waited for", () =>
    interruptedAndAwaited(2, (slow) => firstOf(slow, slow)))

  it.effect("where whoever waits can't be interrupted, the two still can", () =>
    Effect.gen(function*() {
      const late = yield* Effect.fork(
        Effect.uninterruptible(inTime(Effect.never, "1 second", () => Effect.succeed("late")))
      )
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(late), "late")
    }))

  it.effect("where whoever waits was interrupted before, the two are not", () =>
    Effect.gen(function*() {
      let ended: string | undefined
      const late = Effect.map(inTime(Effect.never, "1 second", () => Effect.succeed("late")), (_) => void (ended = _))
      const cleaning = yield* Effect.fork(Effect.onInterrupt(Effect.never, () => late))
      yield* settled
      yield* Effect.fork(Fiber.interrupt(cleaning))
      yield* TestClock.adjust("1 second")
      yield* Fiber.await(cleaning)
      assert.strictEqual(ended, "late")
    }))
}
