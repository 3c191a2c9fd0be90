/**
 * Waiting with a bound, on the Effect clock, also in a finalizer.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"

/**
 * Whether the effect came to its end in this time. Its two fibers are daemons, because the interruption of a fiber is passed
 * to its children even where the fiber itself is uninterruptible: `Effect.timeout` in a finalizer would end at once.
 *
 * @internal
 */
export const within = (effect: Effect.Effect<unknown>, limit: Duration.DurationInput): Effect.Effect<boolean> =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const first = Deferred.unsafeMake<boolean>(FiberId.none)
      const race = (contender: Effect.Effect<unknown>, outcome: boolean) =>
        Effect.forkDaemon(Effect.interruptible(Effect.zipRight(contender, Deferred.succeed(first, outcome))))
      const waiting = yield* race(effect, true)
      const timer = yield* race(Effect.sleep(limit), false)
      return yield* Effect.ensuring(Deferred.await(first), Fiber.interruptAll([waiting, timer]))
    })
  )
