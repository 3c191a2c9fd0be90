/**
 * Several effects at once, and one with a bound, that end when they are interrupted.
 *
 * `Effect.forEach` and `Effect.all` with a concurrency, `raceFirst` and `timeoutTo` (3.22.4) wait for ever where they are interrupted
 * just before their first fiber has begun: Ctrl-C would do nothing. The core has the like for itself. Another package can't
 * import it: it would have to be public there, and concerns no application.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"

/** What they succeed with, in the order of the items. The first one that fails ends all the others. */
export const together = <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A) => Effect.Effect<B, E, R>
): Effect.Effect<ReadonlyArray<B>, E, R> => {
  if (items.length === 0) return Effect.succeed([])
  return Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const results: Array<B> = []
      const ended = Deferred.unsafeMake<void, E>(FiberId.none)
      let left = items.length
      const run = (item: A, at: number) =>
        Effect.suspend(() => f(item)).pipe(
          Effect.interruptible,
          Effect.map((result) => {
            results[at] = result
            if (--left === 0) Deferred.unsafeDone(ended, Effect.void)
          }),
          Effect.catchAllCause((cause) => Effect.sync(() => Deferred.unsafeDone(ended, Effect.failCause(cause))))
        )
      const fibers: Array<Fiber.Fiber<void>> = []
      for (const [at, item] of items.entries()) fibers.push(yield* Effect.forkDaemon(run(item, at)))
      yield* Effect.ensuring(restore(Deferred.await(ended)), Fiber.interruptAll(fibers))
      return results
    })
  )
}

/** The effect, or `tooLate` when this time is over before it has ended; then it is interrupted, and waited for. */
export const inTime = <A, E, R, A2, E2>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.DurationInput,
  tooLate: () => Effect.Effect<A2, E2>
): Effect.Effect<A | A2, E | E2, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const first = Deferred.unsafeMake<A | A2, E | E2>(FiberId.none)
      const run = <B extends A | A2, F extends E | E2, S>(effect: Effect.Effect<B, F, S>) =>
        Effect.forkDaemon(Effect.intoDeferred(Effect.interruptible(effect), first))
      const both = [yield* run(effect), yield* run(Effect.delay(Effect.suspend(tooLate), limit))]
      return yield* Effect.ensuring(restore(Deferred.await(first)), Fiber.interruptAll(both))
    })
  )
