/**
 * The budget of one logical call, as a schedule.
 *
 * Owns: how many replays are left, how long each waits, when the time is over.
 * May not touch: which errors are worth a replay, and whether one is safe.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleInterval from "effect/ScheduleInterval"
import type * as McpError from "../../McpError.js"
import type { RetryInput, Step } from "../../RetryPolicy.js"

/** The clock of Effect never wakes who sleeps longer than this. */
export const longestDelay = 2_147_483_647

/** Valid numbers; all times in milliseconds, and infinite where there is no bound. */
export interface Settings {
  readonly replays: number
  readonly base: number
  readonly factor: number
  readonly cap: number
  readonly jitter: number
  readonly total: number
  readonly honourRetryAfter: boolean
}

interface State {
  readonly startedAt: number | undefined
  readonly replays: number
  readonly backoffs: number
}

const untouched: State = { startedAt: undefined, replays: 0, backoffs: 0 }

export const schedule = (settings: Settings): Schedule.Schedule<Step, RetryInput> =>
  Schedule.makeWithState(untouched, (now, input: RetryInput, state) => {
    const startedAt = state.startedAt ?? now
    if (state.replays >= settings.replays) return Effect.succeed(stop(state, startedAt))
    const least = settings.honourRetryAfter ? retryAfter(input.error) : 0
    const decide = (backoff: number): Decision => {
      const delayMillis = Math.max(Math.ceil(backoff), least)
      if (delayMillis > longestDelay || now + delayMillis > startedAt + settings.total) return stop(state, startedAt)
      const replay = state.replays + 1
      return [
        { startedAt, replays: replay, backoffs: state.backoffs + (input.delayed ? 1 : 0) },
        { replay, delayMillis },
        ScheduleDecision.continueWith(ScheduleInterval.after(now + delayMillis))
      ]
    }
    const full = input.delayed ? backoffAfter(settings, state.backoffs) : 0
    return settings.jitter === 0 || full === 0
      ? Effect.succeed(decide(full))
      : Effect.map(Random.next, (_) => decide(full * (1 - settings.jitter * _)))
  })

type Decision = readonly [State, Step, ScheduleDecision.ScheduleDecision]

const stop = (state: State, startedAt: number): Decision => [
  { ...state, startedAt },
  { replay: state.replays, delayMillis: 0 },
  ScheduleDecision.done
]

/** The power may be infinite, so zero must not be multiplied by it. */
const backoffAfter = (settings: Settings, taken: number): number =>
  settings.base === 0 ? 0 : Math.min(settings.base * settings.factor ** taken, settings.cap, longestDelay)

/** How long the server asks to be left alone, in milliseconds. */
export const retryAfter = (error: McpError.McpError): number => {
  const millis = "retryAfterMillis" in error ? error.retryAfterMillis : undefined
  return millis !== undefined && millis > 0 ? Math.ceil(millis) : 0
}
