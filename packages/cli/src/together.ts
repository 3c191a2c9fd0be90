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
import * as Runtime from "effect/Runtime"

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
    Effect.flatMap(Effect.runtime<R>(), (runtime) => {
      const result = Deferred.unsafeMake<A | A2, E | E2>(FiberId.none)
      const begin = (effect: Effect.Effect<A | A2, E | E2, R>) =>
        Runtime.runFork(runtime)(Effect.intoDeferred(Effect.interruptible(effect), result))
      const first = begin(effect)
      // Most bounds are never needed.
      const begun = first.unsafePoll() === null
        ? [first, begin(Effect.delay(Effect.suspend(tooLate), limit))]
        : [first]
      return Effect.ensuring(restore(Deferred.await(result)), Fiber.interruptAll(begun))
    })
  )
