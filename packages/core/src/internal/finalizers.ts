/**
 * What happens when a scope closes.
 *
 * Owns: that it is done as whoever closes the scope, and can't be interrupted. `Effect.addFinalizer` (3.22.4) does it as whoever
 * opened: it keeps their fiber refs for as long as the scope lives, some kilobytes for each session, compares all of them twice
 * when it closes, and forgets an interruption that came meanwhile.
 * May not touch: what is done.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

export const addFinalizer = (
  finalizer: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<unknown>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(
    Effect.scope,
    (scope) => Scope.addFinalizerExit(scope, (exit) => Effect.uninterruptible(finalizer(exit)))
  )

export const acquireRelease = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (acquired: A) => Effect.Effect<unknown>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptible(Effect.tap(acquire, (acquired) => addFinalizer(() => release(acquired))))
