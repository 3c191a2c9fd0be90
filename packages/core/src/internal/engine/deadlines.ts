/**
 * One timer for all deadlines of a session, on the Effect clock.
 *
 * Owns: when to look. It never knows what expires: `expire(now)` ends what is due and says when to look next.
 * A deadline costs its caller one comparison. The fiber exists only while there is something to wait for, and is woken only
 * when a deadline comes before all that it knows of.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"

/** Node fires longer timers at once. */
const longestSleep = 2_147_483_647

export class Deadlines {
  private wakeAt = Number.POSITIVE_INFINITY
  private fiber: Fiber.RuntimeFiber<void> | undefined = undefined
  private stopped = false
  private readonly earlier = Effect.unsafeMakeLatch(false)

  constructor(
    private readonly clock: Clock.Clock,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly expire: (now: number) => number
  ) {}

  now(): number {
    return this.clock.unsafeCurrentTimeMillis()
  }

  /** Something ends at this time. */
  add(at: number): void {
    if (at >= this.wakeAt) return
    this.wakeAt = at
    if (this.fiber !== undefined) this.earlier.unsafeOpen()
    else if (!this.stopped) this.start()
  }

  /** No deadline is looked at any more. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() => {
    this.stopped = true
    return this.fiber === undefined ? Effect.void : Fiber.interrupt(this.fiber)
  })

  private start(): void {
    this.earlier.unsafeClose()
    const fiber = Runtime.runFork(this.runtime)(Effect.interruptible(this.wait), { immediate: false })
    this.fiber = fiber
  }

  /** Sleeps until the next deadline it knows of, again and again, and ends when there is none. */
  private readonly wait: Effect.Effect<void> = Effect.suspend(() => {
    const now = this.now()
    if (now >= this.wakeAt) {
      this.wakeAt = Number.POSITIVE_INFINITY
      const next = this.expire(now)
      this.wakeAt = Math.min(this.wakeAt, next)
      return this.wait
    }
    if (this.wakeAt === Number.POSITIVE_INFINITY) {
      this.fiber = undefined
      return Effect.void
    }
    this.earlier.unsafeClose()
    const sleep = this.clock.sleep(Duration.millis(Math.min(this.wakeAt - now, longestSleep)))
    return Effect.zipRight(Effect.raceFirst(sleep, this.earlier.await), this.wait)
  })
}
