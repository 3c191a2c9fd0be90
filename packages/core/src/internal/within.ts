/**
 * Waiting with a bound, on the Effect clock, also in a finalizer.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"

/**
 * How the effect ended, or nothing when it did not end in this time; then it is interrupted. Whoever waits is not, until
 * then. The two fibers are daemons,
 * because the interruption of a fiber is passed to its children even where the fiber itself is uninterruptible:
 * `Effect.timeout` in a finalizer would end at once.
 */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.DurationInput
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const first = Deferred.unsafeMake<Option.Option<Exit.Exit<A, E>>>(FiberId.none)
      const end = (outcome: Option.Option<Exit.Exit<A, E>>) => Deferred.succeed(first, outcome)
      const waiting = yield* Effect.exit(Effect.interruptible(effect)).pipe(
        Effect.flatMap((exit) => end(Option.some(exit))),
        Effect.forkDaemon
      )
      const timer = yield* Effect.interruptible(Effect.sleep(limit)).pipe(
        Effect.zipRight(end(Option.none())),
        Effect.forkDaemon
      )
      return yield* Effect.ensuring(Deferred.await(first), Fiber.interruptAll([waiting, timer]))
    })
  )
