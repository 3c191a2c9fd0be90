/**
 * A clock for whatever measures how long something takes: it does not go back where the wall clock does.
 *
 * Owns: how far it is ahead of the wall clock. It is the same as long as that was not set back.
 * May not touch: what is shown as a time of the day. That is the wall clock's.
 *
 * To ask the clock for nanoseconds each time would make a bigint or two. So that is done only when the milliseconds have gone
 * back: what they have lost is what has passed since the beginning.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export class Steady {
  private static readonly all = new WeakMap<Clock.Clock, Steady>()

  /** One for all who use the same clock: they compare their times. */
  static of(clock: Clock.Clock): Steady {
    const known = Steady.all.get(clock)
    if (known !== undefined) return known
    const made = new Steady(clock)
    Steady.all.set(clock, made)
    return made
  }

  private last: number
  private ahead = 0
  private readonly begin: number
  private readonly beginNanos: bigint

  constructor(private readonly clock: Clock.Clock) {
    this.begin = this.last = clock.unsafeCurrentTimeMillis()
    this.beginNanos = clock.unsafeCurrentTimeNanos()
  }

  /** In milliseconds. */
  now(): number {
    const millis = this.clock.unsafeCurrentTimeMillis()
    if (millis < this.last) this.catchUp(millis)
    this.last = millis
    return millis + this.ahead
  }

  /** A machine that has slept knows of less: then at least nothing is taken back. */
  private catchUp(millis: number): void {
    const passed = Number(this.clock.unsafeCurrentTimeNanos() - this.beginNanos) / 1e6
    this.ahead = Math.max(this.last + this.ahead, this.begin + Math.round(passed)) - millis
  }
}

/** The time of the clock of whoever asks. */
export const now: Effect.Effect<number> = Effect.map(Effect.clock, (clock) => Steady.of(clock).now())
