/**
 * A clock for whatever measures how long something takes: it goes on evenly where the wall clock is set back or forward.
 *
 * Owns: how far it is off the wall clock. That stays as it is as long as nobody sets the wall clock.
 * May not touch: what is shown as a time of the day. That is the wall clock's.
 *
 * To ask the clock for nanoseconds, which nobody sets, would make a bigint or two each time. So that is done only when the
 * milliseconds have gone back, or a second after the last time. What they say in between is believed: that they were set
 * forward may count for a second at most. Each look compares with the look before and not with the beginning, so that what the
 * two clocks differ by in hours, because one of them is slowed down a little, is never made up for at once.
 *
 * While a machine sleeps, no more time passes than its nanoseconds count: on Linux none, as for the timers of Node.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** In milliseconds. */
const lookEvery = 1000

/** By how many milliseconds the two may differ from one look to the next: they are not read at the same moment. */
const alike = 100

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
  private lookedAt: number
  private lookedAtNanos: bigint

  constructor(private readonly clock: Clock.Clock) {
    this.lookedAt = this.last = clock.unsafeCurrentTimeMillis()
    this.lookedAtNanos = clock.unsafeCurrentTimeNanos()
  }

  /** In milliseconds. */
  now(): number {
    const millis = this.clock.unsafeCurrentTimeMillis()
    if (millis < this.last || millis >= this.lookedAt + lookEvery) this.look(millis)
    this.last = millis
    return millis + this.ahead
  }

  /** Where the wall clock was set, as much has passed as the nanoseconds say; what was said before is not taken back. */
  private look(millis: number): void {
    const nanos = this.clock.unsafeCurrentTimeNanos()
    const passed = Number(nanos - this.lookedAtNanos) / 1e6
    const wasSet = millis < this.last || Math.abs(millis - this.lookedAt - passed) > alike
    if (wasSet) this.ahead += Math.max(this.last, this.lookedAt + Math.round(passed)) - millis
    this.lookedAt = millis
    this.lookedAtNanos = nanos
  }
}

/** The time of the clock of whoever asks. */
export const now: Effect.Effect<number> = Effect.map(Effect.clock, (clock) => Steady.of(clock).now())
