/**
 * What is left of the time of a call for which something else had to be done first.
 *
 * Owns: that `maxTotal` is all of it. What is to be done first has bounds of its own.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CallOptions } from "../../McpConnection.js"
import * as Steady from "../steady.js"

/** How long a wish is in milliseconds, where it is a bound. */
export const millisOf = (wish: Duration.DurationInput | null | undefined): number => {
  const millis = Option.map(Duration.decodeUnknown(wish), Duration.toMillis)
  return Option.isSome(millis) && millis.value > 0 ? millis.value : Number.POSITIVE_INFINITY
}

/** After this many milliseconds. A time that is refused when it is sent stays what it is. */
export const after = <O extends CallOptions>(options: O | undefined, passed: number): O | undefined => {
  const total = millisOf(options?.maxTotal)
  return options === undefined || passed === 0 || total === Number.POSITIVE_INFINITY
    ? options
    : { ...options, maxTotal: Math.max(1, total - passed) }
}

/** From now on: what is left whenever it is asked for, or the error where that is nothing: nobody waits for it any more. */
export const since = <O extends CallOptions>(
  options: O | undefined
): Effect.Effect<<E>(late: () => E) => Effect.Effect<O | undefined, E>> => {
  const total = millisOf(options?.maxTotal)
  if (total === Number.POSITIVE_INFINITY) return Effect.succeed(() => Effect.succeed(options))
  return Effect.map(Effect.clock, (clock) => {
    const steady = Steady.Steady.of(clock)
    const began = steady.now()
    return (late) =>
      Effect.suspend(() => {
        const passed = steady.now() - began
        return passed < total ? Effect.succeed(after(options, passed)) : Effect.fail(late())
      })
  })
}
