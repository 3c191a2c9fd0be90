/**
 * When to act on what a server keeps saying.
 *
 * Owns: that many sayings cause one act, after a silence, and that a server which says it again after each act is listened
 * to ever more slowly.
 * May not touch: what is done then.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Steady } from "../steady.js"

/** How many silences a server that never stops talking can cause before the act. */
const mostSilences = 10

/** A server that answers every act by saying it again causes one act in this time, in milliseconds. */
const slowest = 30_000

export class Debounce {
  private due: { at: number; readonly atLast: number } | undefined = undefined
  /** The silence that is waited for now. */
  private silence: number
  /** Until when the next saying is taken for an echo of the last act. */
  private calmAt = Number.NEGATIVE_INFINITY
  private readonly steady: Steady

  constructor(private readonly shortest: number, clock: Clock.Clock) {
    this.silence = shortest
    this.steady = Steady.of(clock)
  }

  /** It was said. The act, after its silence; nothing where that is waited for already. */
  heard<A, E>(act: Effect.Effect<A, E>): Effect.Effect<A, E> | undefined {
    const now = this.steady.now()
    if (this.due !== undefined) {
      this.due.at = Math.min(now + this.silence, this.due.atLast)
      return undefined
    }
    this.silence = now < this.calmAt ? Math.min(this.silence * 2, Math.max(slowest, this.shortest)) : this.shortest
    const due = { at: now + this.silence, atLast: now + Math.max(this.shortest * mostSilences, this.silence) }
    this.due = due
    const wait: Effect.Effect<A, E> = Effect.suspend(() => {
      // What was said meanwhile has moved it, and timers of the system may be a millisecond early.
      const left = due.at - this.steady.now()
      if (left > 0) return Effect.zipRight(Effect.sleep(left), wait)
      this.due = undefined
      this.calmAt = Number.POSITIVE_INFINITY
      return Effect.ensuring(act, Effect.sync(() => this.acted()))
    })
    return wait
  }

  private acted(): void {
    this.calmAt = this.steady.now() + this.silence
  }
}
