/**
 * How a lost session comes back: when the next try is due, and when there is none.
 *
 * Owns: the schedule of tries, what makes it begin anew, and the breaker at its end.
 * May not touch: sessions. It only says when.
 *
 * | breaker   | a use of the connection                  | becomes                                                          |
 * |-----------|------------------------------------------|------------------------------------------------------------------|
 * | closed    | waits for a try                          | open, when the schedule has ended                                |
 * | open      | fails at once                            | half open, after the cool-down                                   |
 * | half open | causes one try, the probe                | closed, when its session lasts; else open, twice as long         |
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleInterval from "effect/ScheduleInterval"
import type * as McpConfig from "../../McpConfig.js"
import type { ReconnectOptions } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import * as Stepper from "../retry/stepper.js"

const quickDelays = [0, 500, 1000, 2000, 4000]
const slowest = 5 * 60_000
const firstSlow = 15_000

/** Whoever waits for a try that is farther away than this is told now. */
export const patience = 5000

/** How much the cool-down may grow. */
const coolDownGrowth = 10

/** At once, then faster than a person notices; then, for remote servers, slowly and without end. */
const defaultSchedule = (remote: boolean): Schedule.Schedule<number> =>
  Schedule.makeWithState(0, (now, _, tries) => {
    const quick = quickDelays[tries]
    const go = (delay: number) =>
      [tries + 1, delay, ScheduleDecision.continueWith(ScheduleInterval.after(now + delay))] as const
    if (quick !== undefined) return Effect.succeed(go(quick))
    if (!remote) return Effect.succeed([tries, 0, ScheduleDecision.done] as const)
    const slow = Math.min(firstSlow * 2 ** Math.min(tries - quickDelays.length, 16), slowest)
    // Many clients have lost the same server at the same moment.
    return Effect.map(Random.next, (share) => go(slow * (1 - 0.2 * share)))
  })

export interface Settings {
  readonly schedule: Schedule.Schedule<unknown, McpError.McpError>
  readonly stableAfter: number
  readonly coolDown: number
}

export const settings = (
  config: McpConfig.ServerConfig,
  options: ReconnectOptions = {}
): Either.Either<Settings, McpError.ConfigInvalid> => {
  const problems: Array<McpError.ConfigProblem> = []
  const millis = (field: "stableAfter" | "coolDown", otherwise: number): number => {
    const input = options[field]
    if (input === undefined) return otherwise
    const duration = Option.map(Duration.decodeUnknown(input), Duration.toMillis)
    if (Option.isSome(duration) && duration.value > 0 && Number.isFinite(duration.value)) return duration.value
    problems.push({
      field: `reconnect.${field}`,
      problem: `must be a positive and finite duration such as "30 seconds"`
    })
    return otherwise
  }
  const { schedule } = options
  if (schedule !== undefined && !Schedule.isSchedule(schedule)) {
    problems.push({ field: "reconnect.schedule", problem: "must be a Schedule" })
  }
  const result: Settings = {
    schedule: schedule ?? defaultSchedule(isRemote(config)),
    stableAfter: millis("stableAfter", 30_000),
    coolDown: millis("coolDown", 60_000)
  }
  return problems.length === 0 ? Either.right(result) : Either.left(
    new McpError.ConfigInvalid({ server: config.name, operation: "configure", executed: "no", problems })
  )
}

export const isRemote = (config: McpConfig.ServerConfig): boolean =>
  config.transport !== "stdio" && config.transport !== "inMemory"

export class Ladder {
  private readonly stepper: Stepper.Stepper<McpError.McpError, unknown>
  private coolDown: number
  /** Until when the breaker is open. */
  openUntil: number | undefined = undefined

  constructor(private readonly settings: Settings) {
    this.stepper = Stepper.make(settings.schedule)
    this.coolDown = settings.coolDown
  }

  /** After how many milliseconds to try again; nothing when the breaker has opened. */
  next(error: McpError.McpError, now: number): Effect.Effect<number | undefined> {
    return Effect.map(this.stepper.next(error), (step) => {
      if (Option.isSome(step)) return Math.ceil(step.value.delayMillis)
      this.openUntil = now + this.coolDown
      this.coolDown = Math.min(this.coolDown * 2, this.settings.coolDown * coolDownGrowth)
      return undefined
    })
  }

  /** A session that lasted this long was a success. */
  lasted(millis: number): boolean {
    return millis >= this.settings.stableAfter
  }

  /** Forgets all failures. */
  get reset(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.openUntil = undefined
      this.coolDown = this.settings.coolDown
      return this.stepper.reset
    })
  }
}
