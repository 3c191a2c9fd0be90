import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, FiberId, Logger, LogLevel, Scope, TestClock } from "effect"
import { together } from "../src/internal/together.js"
import { endingWithin, firstOf, inTime } from "../src/internal/within.js"
import { settled } from "./connection/kit.js"
import { interruptedAtEveryStep } from "./moments.js"
import { counting, interruptedAndAwaited, testBounds } from "./races.js"

describe("together", () => {
  it.effect("gives what they succeed with, in the order of the items, and has no more of them at once than it may", () =>
    Effect.gen(function*() {
      for (const atMost of [1, 2, 5, Number.POSITIVE_INFINITY]) {
        const { busy, now } = counting()
        // Each takes its own time of the test clock, so that they end in another order than they begin.
        const all = yield* Effect.fork(
          together([4, 1, 3, 2], (item) => busy(Effect.as(Effect.sleep(item * 100), item * 10)), atMost)
        )
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(all), [40, 10, 30, 20])
        assert.deepStrictEqual(now, { running: 0, most: Math.min(atMost, 4) })
      }
      assert.deepStrictEqual(yield* together([], () => Effect.die("nothing to do")), [])
    }))

  it.effect("the first that fails or dies ends the others, and those that have not begun do not begin", () =>
    Effect.gen(function*() {
      for (const end of [Effect.fail("no"), Effect.die("no"), Effect.failCause(Cause.interrupt(FiberId.none))]) {
        const { busy, now } = counting()
        let begun = 0
        const exit = yield* Effect.exit(together([0, 1, 2, 3], (item) => {
          begun++
          return busy(item === 1 ? end : Effect.never)
        }, 2))
        assert.deepStrictEqual(exit, yield* Effect.exit(end))
        assert.deepStrictEqual([begun, now.running], [2, 0])
      }
      const thrown = yield* Effect.exit(together([0, 1], (): Effect.Effect<void> => {
        throw new Error("no")
      }))
      assert.isTrue(Exit.isFailure(thrown))
    }))

  it.effect("each begins as soon as it may: where nothing is waited for, all have ended before anybody else has a turn", () =>
    Effect.gen(function*() {
      const done: Array<number> = []
      const fibers = new Set<number>()
      yield* Effect.fork(Effect.sync(() => done.push(-1)))
      yield* together([0, 1, 2], (item) =>
        Effect.map(Effect.fiberId, (id) => {
          if (FiberId.isRuntime(id)) fibers.add(id.id)
          done.push(item)
        }))
      assert.deepStrictEqual(done, [0, 1, 2])
      assert.strictEqual(fibers.size, 1)
    }))

  it.effect("an interruption ends all of them, and they are waited for", () =>
    interruptedAndAwaited(3, (slow) => together([0, 1, 2], () => slow)))

  it.effect("nothing begins after an interruption, also where an item makes its fiber forget that it is interrupted", () =>
    Effect.gen(function*() {
      const begun: Array<number> = []
      const gate = yield* Deferred.make<void>()
      const opened = yield* Deferred.make<void>()
      const scopes = [yield* Scope.make(), yield* Scope.make()] as const
      // Closed, they give a fiber the fiber refs of whoever has opened them: that it is not interrupted.
      const opening = Effect.forEach(scopes, (_) => Scope.extend(Effect.addFinalizer(() => Deferred.await(gate)), _))
      const opener = yield* Effect.fork(Effect.uninterruptible(Effect.zipRight(Deferred.await(opened), opening)))
      yield* settled
      yield* Effect.fork(Fiber.interrupt(opener))
      yield* settled
      yield* Deferred.succeed(opened, undefined)
      yield* Fiber.await(opener)
      const forgetful = (item: number) =>
        Effect.suspend(() => {
          begun.push(item)
          const scope = scopes[item]
          return scope === undefined ? Effect.never : Effect.uninterruptible(Scope.close(scope, Exit.void))
        })
      const all = yield* Effect.fork(together([0, 1, 2, 3], forgetful, 2))
      yield* settled
      const ended = yield* Effect.forkDaemon(Fiber.interrupt(all))
      yield* settled
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual([begun, (yield* ended.poll)._tag], [[0, 1], "Some"])
    }))

  it.effect("where the caller can't be interrupted, they come to their end", () =>
    Effect.gen(function*() {
      const done: Array<number> = []
      const all = yield* Effect.fork(Effect.uninterruptible(
        together([1, 2], (item) => Effect.delay(Effect.sync(() => void done.push(item)), item * 100))
      ))
      yield* settled
      const ended = yield* Effect.fork(Fiber.interrupt(all))
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(ended)
      assert.deepStrictEqual(done, [1, 2])
    }))
})

/** More than begin at once. */
const many = Array.from({ length: 200 }, (_, i) => i)

describe("together, many", () => {
  it.effect("others have a turn while they begin, and none waits for another", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      let begun = 0
      const all = yield* Effect.fork(together(many, (item) => {
        begun++
        return Effect.as(Deferred.await(gate), item)
      }))
      while (begun < many.length) {
        const before = begun
        yield* Effect.yieldNow()
        assert.isAtMost(begun - before, 64)
      }
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(all), many)
    }))

  it.effect("an interruption before all have begun ends those that have, and no more begin", () =>
    Effect.gen(function*() {
      const { busy, now } = counting()
      const cleaned = yield* Deferred.make<void>()
      const slow = Effect.onInterrupt(Effect.never, () => Deferred.await(cleaned))
      const all = yield* Effect.fork(together(many, () => busy(slow)))
      yield* Effect.yieldNow()
      assert.strictEqual(now.running, 64)
      all.unsafeInterruptAsFork(FiberId.none)
      yield* settled
      assert.deepStrictEqual([now.running, (yield* all.poll)._tag], [64, "None"])
      yield* Deferred.succeed(cleaned, undefined)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(all)))
      assert.deepStrictEqual(now, { running: 0, most: 64 })
    }))

  it.effect("one that fails before all have begun ends those that have, and no more begin", () =>
    Effect.gen(function*() {
      const { busy, now } = counting()
      const failing = Effect.zipRight(Effect.yieldNow(), Effect.fail("no"))
      const exit = yield* Effect.exit(together(many, (item) => busy(item === 7 ? failing : Effect.never)))
      assert.deepStrictEqual([exit, now.running], [Exit.fail("no"), 0])
      assert.isAtMost(now.most, 128)
    }))

  it.effect("where the caller can't be interrupted, all of them begin and end", () =>
    Effect.gen(function*() {
      const done: Array<number> = []
      const all = yield* Effect.fork(Effect.uninterruptible(
        together(many, (item) => Effect.delay(Effect.sync(() => void done.push(item)), "1 second"))
      ))
      yield* Effect.yieldNow()
      const ended = yield* Effect.fork(Fiber.interrupt(all))
      yield* settled
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ended)
      assert.deepStrictEqual(new Set(done), new Set(many))
    }))
})

describe("the first of two", () => testBounds(inTime, firstOf))

describe("interrupted at every step, it ends", () => {
  it.effect("together", () => interruptedAtEveryStep(together([1, 2, 3], () => Effect.never, 2)))
  it.effect("together, many", () => interruptedAtEveryStep(together(many, () => Effect.never), 10))
  it.effect("the first of two", () => interruptedAtEveryStep(firstOf(Effect.never, Effect.never)))
  it.effect("in time", () => interruptedAtEveryStep(inTime(Effect.never, "1 hour", () => Effect.void)))
})

describe("what is given time to end", () => {
  it.effect("ends as it is, and nobody is told of a failure but who waits", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void lines.push(message)))
      for (const end of [Effect.succeed(1), Effect.fail("no"), Effect.die("no"), Effect.interrupt]) {
        const exit = yield* Effect.exit(endingWithin(Effect.zipRight(Effect.yieldNow(), end), "1 second")).pipe(
          Effect.provide(logger),
          Logger.withMinimumLogLevel(LogLevel.All)
        )
        assert.deepStrictEqual(Exit.isInterrupted(exit) || exit, end === Effect.interrupt || (yield* Effect.exit(end)))
      }
      assert.deepStrictEqual(lines, [])
    }))

  for (const [what, takes, isDone] of [["in time", 900, true], ["too late", 1100, false]] as const) {
    it.effect(`whoever is interrupted waits for it, and no longer than it may take: ${what}`, () =>
      Effect.gen(function*() {
        let done = false
        const slow = Effect.delay(Effect.sync(() => void (done = true)), takes)
        const waiting = yield* Effect.fork(endingWithin(slow, "1 second"))
        yield* settled
        const interrupting = yield* Effect.fork(Fiber.interrupt(waiting))
        yield* TestClock.adjust(Math.min(takes, 1000) - 1)
        assert.isNull(interrupting.unsafePoll())
        yield* TestClock.adjust(1)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.join(interrupting)))
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(done, isDone)
      }))
  }
})
