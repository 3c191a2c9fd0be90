/**
 * The tries to get a session: one after the other, until there is one or no more are made.
 *
 * Owns: when the next one begins, what everybody sees meanwhile, and what those are told who wait for a session in vain.
 * May not touch: a session that is open, and who wants one.
 *
 * | a try ends with                | the state is then                | the next one                                       |
 * |--------------------------------|----------------------------------|----------------------------------------------------|
 * | a session                      | `Ready`, which the owner shows   | when that is lost                                  |
 * | what a person has to mend      | `NeedsAuthorization`             | with new credentials, or a use                     |
 * | what trying again can't mend   | `Failed`                         | a use                                              |
 * | anything else, no session yet  | `Failed`                         | a use, which fails at once while the breaker is open |
 * | anything else, after a loss    | `Reconnecting`                   | by the schedule, or a use where that is far away   |
 * | the same, the schedule is over | `Failed`                         | a use, when the breaker has cooled down            |
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as McpConfig from "../../McpConfig.js"
import type { ConnectionState } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import { retryAfter } from "../retry/budget.js"
import type { Steady } from "../steady.js"
import type { Alarm } from "./alarm.js"
import { type Ladder, patience } from "./ladder.js"
import type { Lifecycle } from "./lifecycle.js"
import type { Live } from "./live.js"
import * as Reasons from "./reasons.js"
import type { Sessions } from "./sessions.js"
import type { States } from "./states.js"

export interface Parts {
  readonly config: McpConfig.ServerConfig
  readonly ladder: Ladder
  readonly states: States
  readonly sessions: Sessions
  /** Rings when the next try is due. */
  readonly alarm: Alarm
  readonly tell: Lifecycle
  readonly steady: Steady
  /** The time of the day. */
  readonly now: () => number
  /** Begins one. How it ended is an event of the owner's. */
  readonly open: (attempt: number, generation: number) => Effect.Effect<void>
  /** Tells everybody who waits. */
  readonly resolve: (exit: Exit.Exit<Live, McpError.McpError>) => Effect.Effect<void>
}

/** A use, or new credentials, may cause a try between two slow ones, but not more often than this. */
const leastBetweenTries = 1000

/** A server that asks to be left alone for longer is asked again all the same. */
const longestRetryAfter = 3_600_000

export class Tries {
  /** All that there have been. */
  attempts = 0
  /** Of the newest session. */
  generation = 0
  /** Why the last session, or the last try, is over. */
  lastError: McpError.McpError | undefined = undefined
  /** There was a session since the application began or closed the connection: its loss is mended. */
  established = false
  /** How many since the last session that lasted. */
  private inARow = 0
  private beganAt = 0
  /** Whether the next one is far away. */
  private waitsLong = false
  /** Whether there have been new credentials since the try began that is under way: it may not have had them. */
  private authorizedMeanwhile = false
  /** When the last one with new credentials began. */
  private authorizedAt = Number.NEGATIVE_INFINITY
  /** No more are begun. */
  private over = false

  constructor(private readonly parts: Parts) {}

  // ---------------------------------------------------------------------------------------------
  // Reasons for one
  // ---------------------------------------------------------------------------------------------

  /** Unless one is under way. */
  begin(): Effect.Effect<void> {
    const { alarm, open, sessions, states: { state }, steady, tell } = this.parts
    if (sessions.isTrying || this.over) return Effect.void
    alarm.cancel()
    const attempt = ++this.attempts
    const number = ++this.inARow
    this.beganAt = steady.now()
    this.authorizedMeanwhile = false
    const isShown = state._tag === "Reconnecting" && state.attempt === number && state.nextAt === undefined
    return Effect.gen(this, function*() {
      if (!this.established) yield* tell.connecting(number)
      if (!isShown) yield* this.showTrying(number)
      yield* open(attempt, this.generation + 1)
    })
  }

  /** Somebody wants a session, and there is none. */
  wanted(): Effect.Effect<void> {
    const { ladder: { openUntil }, now, resolve, states: { state }, steady } = this.parts
    switch (state._tag) {
      case "Reconnecting": {
        if (!this.waitsLong) return Effect.void
        const soonest = this.beganAt + leastBetweenTries - steady.now()
        if (soonest <= 0) return this.begin()
        return state.nextAt === undefined || state.nextAt <= now() + soonest
          ? Effect.void
          : this.waitForNext(state.error, soonest)
      }
      case "Failed":
        return openUntil !== undefined && steady.now() < openUntil
          ? resolve(Exit.fail(this.crashLoop(openUntil)))
          : this.begin()
      default:
        return this.begin()
    }
  }

  /** The session is lost. It is closed by `closing`, which may take its time: meanwhile nobody is to take it for ready. */
  afterLoss(error: McpError.McpError, closing: Effect.Effect<void>): Effect.Effect<void> {
    const { ladder, steady } = this.parts
    return Effect.flatMap(ladder.next(error, steady.now()), (delay) => {
      if (delay === undefined) return this.breaks(closing)
      return delay > 0
        ? Effect.zipRight(this.waitForNext(error, delay), closing)
        : Effect.zipRight(
          this.showTrying(this.inARow + 1),
          Effect.zipRight(closing, Effect.suspend(() => this.begin()))
        )
    })
  }

  /** There are new credentials. */
  authorized(): Effect.Effect<void> {
    this.authorizedMeanwhile = this.parts.sessions.isTrying
    return this.withNewCredentials()
  }

  /** Those that are given and refused again and again are not tried without a pause. */
  withNewCredentials(): Effect.Effect<void> {
    const { alarm, states: { state }, steady } = this.parts
    if (state._tag !== "NeedsAuthorization") return Effect.void
    const now = steady.now()
    const soonest = this.authorizedAt + leastBetweenTries - now
    if (soonest > 0) return alarm.in(soonest)
    this.authorizedAt = now
    return this.begin()
  }

  // ---------------------------------------------------------------------------------------------
  // What became of one
  // ---------------------------------------------------------------------------------------------

  /** After how many milliseconds there was a session, and whether it is one that is back. */
  succeeded({ generation, readyAt }: Live): { readonly millis: number; readonly isBack: boolean } {
    const isBack = this.established
    this.generation = generation
    this.established = true
    return { millis: readyAt - this.beganAt, isBack }
  }

  failed(error: McpError.McpError): Effect.Effect<void> {
    const { ladder, now, resolve, steady } = this.parts
    const since = now()
    this.lastError = error
    if (Reasons.needsPerson(error)) {
      const stopped = this.stop({ _tag: "NeedsAuthorization", since, error }, error)
      return this.authorizedMeanwhile
        ? Effect.zipRight(stopped, Effect.suspend(() => this.withNewCredentials()))
        : stopped
    }
    const failed: ConnectionState = { _tag: "Failed", since, error, retryAt: undefined }
    if (Reasons.isFinal(error)) return this.stop(failed, error)
    return Effect.flatMap(ladder.next(error, steady.now()), (step) => {
      if (step === undefined) return this.breaks()
      if (!this.established) return this.stop(failed, error)
      const delay = Math.max(step, Math.min(retryAfter(error), longestRetryAfter))
      const tell = delay > patience || !McpError.isTransient(error)
      return Effect.zipRight(tell ? resolve(Exit.fail(error)) : Effect.void, this.waitForNext(error, delay))
    })
  }

  /** How long its session has lasted. */
  lasted(millis: number): Effect.Effect<void> {
    const { ladder } = this.parts
    if (!ladder.lasted(millis)) return Effect.void
    this.inARow = 0
    return ladder.reset
  }

  // ---------------------------------------------------------------------------------------------
  // What the application does
  // ---------------------------------------------------------------------------------------------

  /** It wants another session in the place of whatever there is, of which this closes everything. */
  anew(reason: McpError.McpError, closing: Effect.Effect<void>): Effect.Effect<void> {
    this.lastError = reason
    this.inARow = 0
    return Effect.gen(this, function*() {
      if (this.established) yield* this.showTrying(1)
      yield* closing
      yield* this.parts.ladder.reset
      yield* this.begin()
    })
  }

  /** The connection is closed, or rests: the next try is a first one. */
  reset(): void {
    this.established = false
    this.inARow = 0
  }

  /** The connection ends. */
  end(): void {
    this.over = true
  }

  // ---------------------------------------------------------------------------------------------
  // Steps
  // ---------------------------------------------------------------------------------------------

  private showTrying(attempt: number): Effect.Effect<void> {
    const { config, now, states } = this.parts
    const since = now()
    return states.set(
      this.established
        ? {
          _tag: "Reconnecting",
          since,
          attempt,
          error: this.lastError ?? Reasons.closing(config.name, "open"),
          nextAt: undefined
        }
        : { _tag: "Connecting", since, attempt }
    )
  }

  private waitForNext(error: McpError.McpError, delay: number): Effect.Effect<void> {
    const { alarm, now, states } = this.parts
    const since = now()
    this.waitsLong = delay > patience
    return Effect.zipRight(
      states.set({ _tag: "Reconnecting", since, attempt: this.inARow, error, nextAt: since + delay }),
      alarm.in(delay)
    )
  }

  /** No more, until somebody wants one. */
  private stop(
    state: ConnectionState,
    error: McpError.McpError,
    closing: Effect.Effect<void> = Effect.void
  ): Effect.Effect<void> {
    const { resolve, sessions, states, tell } = this.parts
    return tell.givenUp(error, this.established).pipe(
      Effect.zipRight(states.set(state)),
      Effect.zipRight(closing),
      Effect.zipRight(sessions.closeChannel),
      Effect.zipRight(resolve(Exit.fail(error)))
    )
  }

  /** The schedule has ended. */
  private breaks(closing?: Effect.Effect<void>): Effect.Effect<void> {
    const { ladder, now, steady } = this.parts
    const monotonic = steady.now()
    const until = ladder.openUntil ?? monotonic
    const error = this.crashLoop(until)
    const since = now()
    return this.stop({ _tag: "Failed", since, error, retryAt: since + until - monotonic }, error, closing)
  }

  private crashLoop(until: number): McpError.McpError {
    const { config, steady } = this.parts
    return Reasons.crashLoop(config, this.lastError, until - steady.now())
  }
}
