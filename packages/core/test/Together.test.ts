import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, FiberId, Scope, TestClock } from "effect"
import { together } from "../src/internal/together.js"
import { firstOf, inTime } from "../src/internal/within.js"
import { settled } from "./connection/kit.js"
import { interruptedAtEveryStep } from "./moments.js"

/** Counts how many are under way, and leaves none. */
const counting = () => {
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

  it.effect("an interruption ends all of them, and they are waited for", () =>
    Effect.gen(function*() {
      const { busy, now } = counting()
      const cleaned = yield* Deferred.make<void>()
      const all = yield* Effect.fork(
        together([0, 1, 2], () => busy(Effect.onInterrupt(Effect.never, () => Deferred.await(cleaned))))
      )
      yield* settled
      assert.strictEqual(now.running, 3)
      const ended = yield* Effect.fork(Fiber.interrupt(all))
      yield* settled
      assert.strictEqual((yield* ended.poll)._tag, "None")
      yield* Deferred.succeed(cleaned, undefined)
      yield* Fiber.join(ended)
      assert.strictEqual(now.running, 0)
    }))

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

describe("interrupted at every step, it ends", () => {
  it.effect("together", () => interruptedAtEveryStep(together([1, 2, 3], () => Effect.never, 2)))
  it.effect("the first of two", () => interruptedAtEveryStep(firstOf(Effect.never, Effect.never)))
  it.effect("in time", () => interruptedAtEveryStep(inTime(Effect.never, "1 hour", () => Effect.void)))
})
