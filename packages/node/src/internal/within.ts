/**
 * Waiting with a bound, on the Effect clock, also in a finalizer.
 *
 * The core has the like for itself. Another package can't import it: it would have to be public there, and concerns no
 * application. `within` says less here than it does there.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Runtime from "effect/Runtime"

/**
 * Whether the effect came to its end in this time. Its two fibers have no parent, because the interruption of a fiber is
 * passed to its children even where the fiber itself is uninterruptible: `Effect.timeout` in a finalizer would end at once.
 *
 * @internal
 */
export const within = (effect: Effect.Effect<unknown>, limit: Duration.DurationInput): Effect.Effect<boolean> =>
  Effect.flatMap(Effect.runtime<never>(), (runtime) =>
    Effect.uninterruptible(Effect.async<boolean>((resume) => {
      // Who closes may have been interrupted, which a child would not inherit.
      const fork = Runtime.runFork(Runtime.deleteFiberRef(runtime, FiberRef.interruptedCause))
      // A fiber that fails is logged by Effect as one that nobody handles.
      const waiting = fork(Effect.uninterruptible(Effect.exit(Effect.interruptible(effect))))
      if (waiting.unsafePoll() !== null) return resume(Effect.succeed(true))
      // The bound itself, on the Effect clock.
      const timer = fork(Effect.interruptible(Effect.sleep(limit)))
      waiting.addObserver(() => timer.unsafeInterruptAsFork(FiberId.none))
      timer.addObserver(() => {
        const ended = waiting.unsafePoll() !== null
        if (!ended) waiting.unsafeInterruptAsFork(FiberId.none)
        resume(Effect.succeed(ended))
      })
    })))

/**
 * As whichever ends first; the other one is interrupted. Where the first one needs no waiting, the other one never begins: most
 * bounds are never needed. `Effect.raceFirst` and `timeoutTo` (3.22.4) lose an interruption that comes just before they have
 * begun: whoever interrupts would wait until one of the two has ended.
 *
 * @internal
 */
export const firstOf = <A, E, R, A2, E2, R2>(
  one: Effect.Effect<A, E, R>,
  other: Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.runtime<R | R2>(), (runtime) => {
      const result = Deferred.unsafeMake<A | A2, E | E2>(FiberId.none)
      const begin = (effect: Effect.Effect<A | A2, E | E2, R | R2>) =>
        Runtime.runFork(runtime)(Effect.intoDeferred(Effect.interruptible(effect), result))
      const first = begin(one)
      const begun = first.unsafePoll() === null ? [first, begin(other)] : [first]
      return Effect.ensuring(restore(Deferred.await(result)), Fiber.interruptAll(begun))
    })
  )

/**
 * The effect, or another one that begins when this time is over: as whichever ends first.
 *
 * @internal
 */
export const inTime = <A, E, R, A2, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.DurationInput,
  tooLate: () => Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> => firstOf(effect, Effect.delay(Effect.suspend(tooLate), limit))
