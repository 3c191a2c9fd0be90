/**
 * The few things of a session that need time or an Effect: waiting before a stream is opened again, headers that an
 * Effect gives.
 *
 * Owns: their fibers. Each exists only while it is needed, and all are gone when the session has closed.
 * May not touch: anything that happens per message.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import { Steady } from "../steady.js"

const noop = () => {}

const enableInterruption = Runtime.enableRuntimeFlag(RuntimeFlags.Interruption)

export class Timers {
  private readonly cancels = new Set<() => void>()
  private running = 0
  private over = false
  private onIdle: (() => void) | undefined = undefined
  /** What measures how long something takes. */
  readonly steady: Steady

  constructor(
    private readonly runtime: Runtime.Runtime<never>,
    private readonly clock: Clock.Clock
  ) {
    this.steady = Steady.of(clock)
  }

  /** The time of the day. */
  now(): number {
    return this.clock.unsafeCurrentTimeMillis()
  }

  /**
   * Runs an Effect and reports how it ended, unless the answer of this function was called before. After the shutdown
   * nothing is run, and nothing reported.
   */
  run<A, E>(effect: Effect.Effect<A, E>, onExit: (exit: Exit.Exit<A, E>) => void): () => void {
    if (this.over) return noop
    const fiber = Runtime.runFork(this.runtime)(effect)
    const cancel = () => {
      if (this.cancels.delete(cancel)) fiber.unsafeInterruptAsFork(FiberId.none)
    }
    this.running++
    this.cancels.add(cancel)
    fiber.addObserver((exit) => {
      this.running--
      if (this.cancels.delete(cancel)) onExit(exit)
      if (this.running === 0) this.onIdle?.()
    })
    return cancel
  }

  /** Calls back after this time, unless the answer of this function was called before. */
  after(millis: number, callback: () => void): () => void {
    return this.run(Effect.sleep(millis), (exit) => {
      if (Exit.isSuccess(exit)) callback()
    })
  }

  /** The same with up to a quarter more or less, but never longer than `most`; and never shorter than `least`. */
  afterAbout(millis: number, most: number, least: number, callback: () => void): () => void {
    const about = (random: number) => Math.max(least, Math.min(most, Math.round(millis * (0.75 + random / 2))))
    return this.run(Effect.flatMap(Random.next, (_) => Effect.sleep(about(_))), (exit) => {
      if (Exit.isSuccess(exit)) callback()
    })
  }

  /** Cancels everything without waiting for it. */
  cancelAll(): void {
    for (const cancel of this.cancels) cancel()
  }

  /** Cancels everything, for good, and waits until it is gone, but for foreign Effects not longer than this. */
  shutdown(atMostMillis: number): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      this.over = true
      this.cancelAll()
      if (this.running === 0) return resume(Effect.void)
      const bound = Runtime.runFork(this.runtime)(Effect.sleep(atMostMillis))
      bound.addObserver(() => resume(Effect.void))
      this.onIdle = () => bound.unsafeInterruptAsFork(FiberId.none)
    })
  }
}

export const make: Effect.Effect<Timers> = Effect.zipWith(
  Effect.runtime<never>(),
  Effect.clock,
  (runtime, clock) => new Timers(enableInterruption(runtime), clock)
)
