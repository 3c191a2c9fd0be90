/**
 * Steps a schedule by hand.
 *
 * Owns: the state of one schedule, and when it wants to go on. It never sleeps: whoever asks waits in its own way.
 * May not touch: what is retried, and why.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import { longestDelay } from "./budget.js"

/** What the schedule said, and how long to wait before going on: from 0 to `longestDelay`. */
export interface Stepped<out Out> {
  readonly out: Out
  readonly delayMillis: number
}

/** For one fiber at a time. */
export interface Stepper<in In, out Out, out R = never> {
  /** Nothing when the schedule is over; it stays over until `reset`. */
  readonly next: (input: In) => Effect.Effect<Option.Option<Stepped<Out>>, never, R>
  readonly reset: Effect.Effect<void>
}

export const make = <Out, In, R>(schedule: Schedule.Schedule<Out, In, R>): Stepper<In, Out, R> => {
  let state: unknown = schedule.initial
  let over = false
  return {
    next: (input) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (now) =>
          over ? Effect.succeedNone : Effect.map(schedule.step(now, input, state), ([next, out, decision]) => {
            state = next
            if (ScheduleDecision.isDone(decision)) {
              over = true
              return Option.none()
            }
            return Option.some({ out, delayMillis: delay(ScheduleIntervals.start(decision.intervals) - now) })
          })
      ),
    reset: Effect.sync(() => {
      state = schedule.initial
      over = false
    })
  }
}

/** A schedule may be late already, and one that grows without end reaches infinity. */
const delay = (millis: number): number => millis > 0 ? Math.min(millis, longestDelay) : 0
