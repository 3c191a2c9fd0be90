/**
 * One time at which the owner wants to be called, on the Effect clock. A newer one replaces it.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"

export class Alarm {
  private number = 0
  private sleeping: Fiber.RuntimeFiber<unknown> | undefined = undefined

  constructor(private readonly scope: Scope.Scope, private readonly ring: (number: number) => void) {}

  get isSet(): boolean {
    return this.sleeping !== undefined
  }

  in(millis: number): Effect.Effect<void> {
    this.cancel()
    const { number } = this
    return Effect.sleep(millis).pipe(
      Effect.zipRight(Effect.sync(() => this.ring(number))),
      Effect.interruptible,
      Effect.forkIn(this.scope),
      Effect.map((fiber) => {
        this.sleeping = fiber
      })
    )
  }

  cancel(): void {
    this.number++
    this.sleeping?.unsafeInterruptAsFork(FiberId.none)
    this.sleeping = undefined
  }

  /** Whether this ringing still matters, which it does once. */
  take(number: number): boolean {
    if (number !== this.number) return false
    this.sleeping = undefined
    return true
  }
}
