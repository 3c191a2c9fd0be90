/**
 * One timer for all deadlines of a session, on the Effect clock.
 *
 * Owns: when to look. It never knows what expires: `expire(now)` ends what is due and says when to look next.
 * A deadline costs its caller one comparison. The fiber exists only while there is something to wait for, and gives way to
 * another one only when a deadline comes before all that it knows of.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import { Steady } from "../steady.js"

/** Node fires longer timers at once. */
const longestSleep = 2_147_483_647

export class Deadlines {
  private wakeAt = Number.POSITIVE_INFINITY
  private fiber: Fiber.RuntimeFiber<void> | undefined = undefined
  private looking = false
  private stopped = false
  private readonly steady: Steady

  constructor(
    private readonly clock: Clock.Clock,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly expire: (now: number) => number
  ) {
    this.steady = Steady.of(clock)
  }

  now(): number {
    return this.steady.now()
  }

  /** Something ends at this time. */
  add(at: number): void {
    if (at >= this.wakeAt) return
    this.wakeAt = at
    if (this.looking || this.stopped) return
    // A race between the sleep and a latch would be two more fibers, for as long as a session is idle.
    this.fiber?.unsafeInterruptAsFork(FiberId.none)
    this.fiber = Runtime.runFork(this.runtime)(Effect.interruptible(this.wait()), { immediate: false })
  }

  /** No deadline is looked at any more. */
  get stop(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.stopped = true
      return this.fiber === undefined ? Effect.void : Fiber.interrupt(this.fiber)
    })
  }

  /** Sleeps until the next deadline it knows of, again and again, and ends when there is none. */
  private wait(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const now = this.now()
      if (now >= this.wakeAt) this.look(now)
      if (this.wakeAt === Number.POSITIVE_INFINITY) {
        this.fiber = undefined
        return Effect.void
      }
      return Effect.zipRight(
        this.clock.sleep(Duration.millis(Math.min(Math.max(this.wakeAt - now, 0), longestSleep))),
        this.wait()
      )
    })
  }

  private look(now: number): void {
    this.looking = true
    this.wakeAt = Number.POSITIVE_INFINITY
    const next = this.expire(now)
    this.wakeAt = Math.min(this.wakeAt, next)
    this.looking = false
  }
}
