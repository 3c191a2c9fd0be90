/**
 * One timer for all deadlines of a session, on the Effect clock.
 *
 * Owns: when to look. It never knows what expires: `expire(now)` ends what is due and says when to look next.
 * A deadline costs its caller one comparison; the fiber is woken only when one comes before all that it knows of.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** Node fires longer timers at once. */
const longestSleep = 2_147_483_647

export class Deadlines {
  private wakeAt = Number.POSITIVE_INFINITY
  private readonly earlier = Effect.unsafeMakeLatch(false)

  constructor(
    private readonly clock: Clock.Clock,
    private readonly expire: (now: number) => number
  ) {}

  now(): number {
    return this.clock.unsafeCurrentTimeMillis()
  }

  /** Something ends at this time. */
  add(at: number): void {
    if (at < this.wakeAt) {
      this.wakeAt = at
      this.earlier.unsafeOpen()
    }
  }

  /** Ends with its fiber only. */
  readonly run: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() => {
      this.earlier.unsafeClose()
      const now = this.now()
      if (now >= this.wakeAt) {
        this.wakeAt = Number.POSITIVE_INFINITY
        this.add(this.expire(now))
        return Effect.void
      }
      if (this.wakeAt === Number.POSITIVE_INFINITY) return this.earlier.await
      const sleep = this.clock.sleep(Duration.millis(Math.min(this.wakeAt - now, longestSleep)))
      return Effect.raceFirst(sleep, this.earlier.await)
    })
  )
}
