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

/** After this many milliseconds. */
export const after = <O extends CallOptions>(options: O | undefined, passed: number): O | undefined =>
  options?.maxTotal === undefined || options.maxTotal === null || passed === 0 ? options : {
    ...options,
    // A time that is refused when it is sent stays what it is.
    maxTotal: Option.match(Duration.decodeUnknown(options.maxTotal), {
      onNone: () => options.maxTotal,
      onSome: (total) => Math.max(1, Duration.toMillis(total) - passed)
    })
  }

/** From now on: what is left whenever it is asked for. */
export const since = <O extends CallOptions>(options: O | undefined): Effect.Effect<() => O | undefined> =>
  options?.maxTotal === undefined || options.maxTotal === null
    ? Effect.succeed(() => options)
    : Effect.map(Effect.clock, (clock) => {
      const steady = Steady.Steady.of(clock)
      const began = steady.now()
      return () => after(options, steady.now() - began)
    })
