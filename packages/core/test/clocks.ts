/** Clocks that tell what was waited for, on which a wait may end with an event, and whose time of the day may be set. */
import { Clock, Duration, Effect } from "effect"

const withSleep = (clock: Clock.Clock, sleep: Clock.Clock["sleep"]): Clock.Clock => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
  unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
  currentTimeMillis: clock.currentTimeMillis,
  currentTimeNanos: clock.currentTimeNanos,
  sleep
})

/** The clock of the test, and how long the waits were, in milliseconds, that have come to their end. */
export const telling = Effect.map(Effect.clock, (clock) => {
  const over: Array<number> = []
  return {
    over: over as ReadonlyArray<number>,
    clock: withSleep(
      clock,
      (duration) =>
        Effect.tap(clock.sleep(duration), () => Effect.sync(() => void over.push(Duration.toMillis(duration))))
    )
  }
})

/** The clock of the test, whose time of the day can be set forward, or back. */
export const settable = Effect.map(Effect.clock, (clock) => {
  let ahead = 10_000_000
  const millis = () => clock.unsafeCurrentTimeMillis() + ahead
  const settable: Clock.Clock = {
    ...withSleep(clock, (duration) => clock.sleep(duration)),
    unsafeCurrentTimeMillis: millis,
    currentTimeMillis: Effect.sync(millis)
  }
  return { clock: settable, set: (by: number) => void (ahead += by) }
})

/** The clock of the test, on which the waits of just this length end when something has happened, and not in time. */
export const ending = (
  ...events: ReadonlyArray<readonly [length: Duration.DurationInput, event: Effect.Effect<unknown>]>
): Effect.Effect<Clock.Clock> =>
  Effect.map(Effect.clock, (clock) =>
    withSleep(clock, (duration) => {
      const event = events.find(([length]) => Duration.equals(Duration.decode(length), duration))?.[1]
      return event === undefined ? clock.sleep(duration) : Effect.asVoid(event)
    }))
