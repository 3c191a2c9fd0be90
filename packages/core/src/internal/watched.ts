/**
 * A value that others read and follow.
 *
 * Owns: that nobody who follows it can slow down or fill the memory of whoever sets it: a slow reader misses what is
 * between, never the last.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

export class Watched<A> {
  private version = 0
  private ended = false
  private waiting: Set<() => void> | undefined = undefined

  constructor(private value: A) {}

  get current(): A {
    return this.value
  }

  set(value: A): void {
    if (this.ended) return
    this.value = value
    this.version++
    this.wake()
  }

  /** Nobody who follows it needs to know. */
  replace(value: A): void {
    this.value = value
  }

  /** The streams end after the last value. */
  end(): void {
    this.ended = true
    this.wake()
  }

  private wake(): void {
    const { waiting } = this
    this.waiting = undefined
    if (waiting !== undefined) { for (const resume of waiting) resume() }
  }

  private untilAfter(seen: number): Effect.Effect<void> {
    return Effect.async((resume) => {
      const wake = () => resume(Effect.void)
      if (this.version !== seen || this.ended) return wake()
      const waiting = this.waiting ??= new Set()
      waiting.add(wake)
      return Effect.sync(() => waiting.delete(wake))
    })
  }

  /** The current value, then the newest one each time that it was set. */
  get changes(): Stream.Stream<A> {
    return Stream.suspend(() => {
      let seen = -1
      const next: Effect.Effect<A, Option.Option<never>> = Effect.suspend(() => {
        if (this.version !== seen) {
          seen = this.version
          return Effect.succeed(this.value)
        }
        return this.ended ? Effect.fail(Option.none()) : Effect.zipRight(this.untilAfter(seen), next)
      })
      return Stream.repeatEffectOption(next)
    })
  }
}
