/**
 * One budget per logical call.
 *
 * Owns: how often a call may be sent again, how long each replay waits, and when the time is over, as a `Schedule`. Every
 * recovery of a call draws on the same budget, so nothing adds attempts outside of it.
 * May not touch: connections and sessions. Whether a replay is safe is what `executed` of an error says; a policy only says
 * whether it is worth it (`accepts`) and affordable (`schedule`).
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import * as Check from "./internal/options.js"
import * as Budget from "./internal/retry/budget.js"
import * as McpError from "./McpError.js"

/**
 * A validated budget. It holds no state: each run of `schedule` is one logical call.
 *
 * @since 0.1.0
 * @category models
 */
export interface RetryPolicy {
  /** How often a call may be sent again; a call is executed once more than this at most. `Infinity`: without end. */
  readonly replays: number
  /** How long after the first failure the last replay may begin. */
  readonly total: Duration.Duration | null
  /** Whether an error is worth a replay. It says nothing about whether one is safe. */
  readonly accepts: (error: McpError.McpError) => boolean
  /**
   * Steps once per failure: goes on after `delayMillis`, or stops when the replays are used up, and also when the replay
   * would begin later than `total` (or any timer) allows: then at once, without waiting for nothing. Its time runs from
   * its first step.
   * It does not ask `accepts`.
   */
  readonly schedule: Schedule.Schedule<Step, RetryInput>
}

/**
 * A failure that may be followed by a replay.
 *
 * @since 0.1.0
 * @category models
 */
export interface RetryInput {
  readonly error: McpError.McpError
  /**
   * `false` for a replay that need not wait, for example after a new session was made: it counts as one, but takes no
   * backoff, so the next one that waits does so as if this had not been. It still waits as long as the server asked for.
   */
  readonly delayed: boolean
}

/**
 * A replay that the budget allows. Where a schedule stops, `replay` is how many there were.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  /** The number of this replay; the first is 1. */
  readonly replay: number
  /** Whole milliseconds, never longer than a timer can be (24.8 days). */
  readonly delayMillis: number
}

/**
 * What a budget is made of. What is left out is as in `defaultPolicy`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How often a call may be sent again. `"unlimited"` or -1: without end. */
  readonly replays?: number | "unlimited" | undefined
  /** The delay before the first replay that waits. 0: none of them waits. */
  readonly base?: Duration.DurationInput | undefined
  /** By what each delay is longer than the one before. */
  readonly factor?: number | undefined
  /** The longest delay that is not the server's wish, also where `base` is longer. `null`: none. */
  readonly cap?: Duration.DurationInput | null | undefined
  /** Which share of a delay is left to chance: with 0.2 a delay of 1 second is between 800 and 1000 ms. 0: none. */
  readonly jitter?: number | undefined
  /** How long after the first failure the last replay may begin. `null`: no bound. */
  readonly total?: Duration.DurationInput | null | undefined
  /** Whether to wait as long as the server asks for, where that is longer than the delay. It may be longer than `cap`. */
  readonly retryAfter?: "honour" | "ignore" | undefined
  /** Which errors are worth a replay. By default those that may well go away: `McpError.isTransient`. */
  readonly when?: ((error: McpError.McpError) => boolean) | undefined
}

const checks = {
  replays: (value: unknown) => Check.replays(value),
  base: Check.base,
  factor: Check.factor,
  cap: Check.bound,
  jitter: Check.jitter,
  total: Check.bound,
  retryAfter: Check.retryAfter,
  when: Check.when
}

const defaults = {
  replays: 2,
  base: 250,
  factor: 2,
  cap: 5000,
  jitter: 0.2,
  total: null,
  retryAfter: "honour",
  when: McpError.isTransient
}

/**
 * A policy of one's own. Fails with one problem per field that is wrong.
 *
 * @example
 * ```ts
 * import { RetryPolicy } from "@mcp-runtime/core"
 *
 * const policy = RetryPolicy.make({
 *   replays: 4,
 *   base: "100 millis",
 *   cap: "2 seconds",
 *   total: "10 seconds",
 *   when: (error) => error._tag === "HttpError" && error.status === 429
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Either.Either<RetryPolicy, McpError.ConfigInvalid> =>
  Either.map(
    Check.check(checks, defaults, options),
    ({ retryAfter, when, ...numbers }) => fromSettings({ ...numbers, honourRetryAfter: retryAfter }, when)
  )

const fromSettings = (
  settings: Budget.Settings,
  accepts: (error: McpError.McpError) => boolean
): RetryPolicy => ({
  replays: settings.replays,
  total: settings.total === Infinity ? null : Duration.millis(settings.total),
  accepts,
  schedule: Budget.schedule(settings)
})

/** As others do it: nothing is left to chance or to the server. */
const preset = (settings: Pick<Budget.Settings, "replays"> & Partial<Budget.Settings>): RetryPolicy =>
  fromSettings(
    { base: 0, factor: 2, cap: Infinity, jitter: 0, total: Infinity, honourRetryAfter: false, ...settings },
    McpError.isTransient
  )

/**
 * Two replays, after 250 and 500 ms less up to a fifth, or later if the server asks for it.
 *
 * @since 0.1.0
 * @category presets
 */
export const defaultPolicy: RetryPolicy = Either.getOrThrow(make())

/**
 * Nothing is ever sent again.
 *
 * @since 0.1.0
 * @category presets
 */
export const none: RetryPolicy = preset({ replays: 0 })

/**
 * The budget of the OpenAI Agents SDK: `maxRetryAttempts` replays (-1: without end), the k-th after
 * `retryBackoffSecondsBase * 2^(k-1)` seconds, at most `retryBackoffSecondsMax`, whatever the server asks for. Which
 * errors are worth a replay is our own rule; there it is every one.
 *
 * @since 0.1.0
 * @category presets
 */
export const openAiAgents = (options: {
  readonly maxRetryAttempts: number
  readonly retryBackoffSecondsBase: number
  readonly retryBackoffSecondsMax?: number | null | undefined
}): Either.Either<RetryPolicy, McpError.ConfigInvalid> =>
  Either.map(
    Check.check(
      {
        maxRetryAttempts: attempts,
        retryBackoffSecondsBase: Check.seconds,
        retryBackoffSecondsMax: Check.secondsOrNull
      },
      { maxRetryAttempts: undefined, retryBackoffSecondsBase: undefined, retryBackoffSecondsMax: null },
      options
    ),
    ({ maxRetryAttempts, retryBackoffSecondsBase, retryBackoffSecondsMax }) =>
      preset({ replays: maxRetryAttempts, base: retryBackoffSecondsBase, cap: retryBackoffSecondsMax })
  )

/** Their fields are numbers only. */
const attempts = (value: unknown): Check.Checked<number> =>
  Check.replays(value === "unlimited" ? undefined : value, "-1 for unlimited")

/**
 * The budget of oh-my-pi: one replay, at once.
 *
 * @since 0.1.0
 * @category presets
 */
export const ohMyPi: RetryPolicy = preset({ replays: 1 })

/**
 * The budget of UiPath's client: `maxRetries` replays (1 if left out), at once.
 *
 * @since 0.1.0
 * @category presets
 */
export const uiPath = (
  options: { readonly maxRetries?: number | undefined } = {}
): Either.Either<RetryPolicy, McpError.ConfigInvalid> =>
  Either.map(
    Check.check({ maxRetries: attempts }, { maxRetries: 1 }, options),
    ({ maxRetries }) => preset({ replays: maxRetries })
  )

/**
 * The policy for `Effect.retry`: every replay waits, and an error that the policy does not accept ends it. So does an
 * error after which the request may have been executed, unless it is `idempotent`: one that may run twice.
 *
 * @example
 * ```ts
 * import { type McpError, RetryPolicy } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const patient = <A, R>(listing: Effect.Effect<A, McpError.McpError, R>) =>
 *   Effect.retry(listing, RetryPolicy.delayed(RetryPolicy.defaultPolicy, { idempotent: true }))
 * ```
 *
 * @since 0.1.0
 * @category scheduling
 */
export const delayed = (
  policy: RetryPolicy,
  options?: { readonly idempotent?: boolean | undefined }
): Schedule.Schedule<Step, McpError.McpError> => {
  const isSafe = options?.idempotent === true
    ? (error: McpError.McpError) => error.executed !== "yes"
    : McpError.isReplayable
  return policy.schedule.pipe(
    Schedule.mapInput((error: McpError.McpError): RetryInput => ({ error, delayed: true })),
    Schedule.whileInput((error) => isSafe(error) && policy.accepts(error))
  )
}
