/**
 * A clock for whatever measures how long something takes: the time of the day may be set back meanwhile.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** In milliseconds, since some moment. */
export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / 1_000_000n))
