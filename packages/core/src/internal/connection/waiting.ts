/**
 * Those who wait for a session.
 *
 * Owns: how many there are, and that all who wait at one moment are told the same.
 * May not touch: when there is a session, or why there is none.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type { McpError } from "../../McpError.js"
import type { Live } from "./live.js"

export class Waiting {
  private count = 0
  private outcome = Deferred.unsafeMake<Live, McpError>(FiberId.none)

  get isAnybody(): boolean {
    return this.count > 0
  }

  /** What those are told who wait from now on. */
  get next(): Effect.Effect<Live, McpError> {
    const { outcome } = this
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        this.count++
      }),
      () => Deferred.await(outcome),
      () =>
        Effect.sync(() => {
          this.count--
        })
    )
  }

  /** Tells those who wait now. */
  end(exit: Exit.Exit<Live, McpError>): Effect.Effect<void> {
    const { outcome } = this
    this.outcome = Deferred.unsafeMake<Live, McpError>(FiberId.none)
    return Effect.asVoid(Deferred.done(outcome, exit))
  }
}
