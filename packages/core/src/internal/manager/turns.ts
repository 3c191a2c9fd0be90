/**
 * One after the other.
 *
 * Owns: the order, which is that of arrival. `Effect.Semaphore` lets who comes at the right moment overtake those that wait.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"

export class Turns {
  /** Completes when the last one that has come is over. */
  private last: Effect.Effect<void> = Effect.void

  inTurn<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) => {
      const before = this.last
      const over = Deferred.unsafeMake<void>(FiberId.none)
      const end = Deferred.succeed(over, undefined)
      this.last = Deferred.await(over)
      return Effect.matchCauseEffect(restore(before), {
        // Whoever comes next waits for those before all the same.
        onFailure: (cause) => Effect.zipRight(Effect.forkDaemon(Effect.zipRight(before, end)), Effect.failCause(cause)),
        onSuccess: () => Effect.ensuring(restore(effect), end)
      })
    })
  }
}
