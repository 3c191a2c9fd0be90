/**
 * Waiting with a bound, on the Effect clock, also in a finalizer.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
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
      // The bound itself, on the Effect clock; nothing is waited for by sleeping.
      const timer = fork(Effect.interruptible(Effect.sleep(limit)))
      waiting.addObserver(() => timer.unsafeInterruptAsFork(FiberId.none))
      timer.addObserver(() => {
        const ended = waiting.unsafePoll() !== null
        if (!ended) waiting.unsafeInterruptAsFork(FiberId.none)
        resume(Effect.succeed(ended))
      })
    })))
