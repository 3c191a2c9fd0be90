/**
 * One logical call: it waits for a session, is sent, and after a failure is sent again or not.
 *
 * Owns: the rule about what may be sent again, the budget, the deadline of waiting, and where a replay runs.
 * May not touch: when there is a session. Nothing here adds an execution that is not paid from the budget.
 *
 * | a failure that                                   | is sent again                                                     |
 * |--------------------------------------------------|-------------------------------------------------------------------|
 * | is not one (an interruption, a defect)           | never                                                             |
 * | will not pass (a refusal, a missing capability)  | never                                                             |
 * | says that the session is lost                    | once, in the next session, at once                                |
 * | may pass, certainly not executed                 | after the delay of the budget                                     |
 * | may pass, executed or not                        | the same, if running twice does no harm, or the caller says so    |
 * | comes after the execution                        | never                                                             |
 *
 * A failure with several reasons is sent again only if each of them may be.
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as McpConfig from "../../McpConfig.js"
import type { CallOptions, Operation } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type * as McpSession from "../../McpSession.js"
import type * as RetryPolicy from "../../RetryPolicy.js"
import type { Waited } from "../engine/calls.js"
import * as Errors from "../engine/errors.js"
import * as Methods from "../protocol/methods.js"
import { retryAfter } from "../retry/budget.js"
import * as Stepper from "../retry/stepper.js"
import * as ErrorType from "../telemetry/errorType.js"
import * as Spans from "../telemetry/spans.js"
import { firstOf, inTime } from "../within.js"
import * as Known from "./known.js"
import type { Live } from "./live.js"
import type { Owner } from "./owner.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

/** For no server's wish does a call wait longer that nobody has bounded. */
const longestPause = 300_000

/** What is left of the replays of one logical call, which may be several requests: the pages of a list. */
export class Budget {
  /** It has been sent again because its session was lost. */
  renewed = false
  replays = 0
  private stepper: Stepper.Stepper<RetryPolicy.RetryInput, unknown> | undefined = undefined

  constructor(
    readonly policy: RetryPolicy.RetryPolicy,
    /** When the logical call began: it does not outlast a close. */
    readonly era: number
  ) {}

  /** After how many milliseconds it may be sent again; nothing when the budget is spent. */
  next(error: McpError.McpError, delayed: boolean): Effect.Effect<number | undefined> {
    this.stepper ??= Stepper.make(this.policy.schedule)
    return Effect.map(
      this.stepper.next({ error, delayed }),
      (step) => Option.isSome(step) ? step.value.delayMillis : undefined
    )
  }
}

/** One logical call under way. */
interface Call<A> {
  readonly operation: Operation<A>
  readonly budget: Budget
  readonly startedAt: number
  readonly era: number
  /** It has been handed to a session. */
  sent: boolean
  /** The last failure was that of a session of its own. */
  aside: boolean
  /** An earlier time it may have been executed. */
  executedMaybe: boolean
}

export class Calls {
  private readonly timeouts: McpConfig.Timeouts
  private readonly isolates: boolean

  constructor(
    private readonly owner: Owner,
    private readonly config: McpConfig.ServerConfig,
    private readonly policy: RetryPolicy.RetryPolicy
  ) {
    this.timeouts = McpConfig.timeoutsOf(config)
    this.isolates = "recovery" in config && config.recovery === "isolated"
  }

  budget(options: CallOptions | undefined): Budget {
    return new Budget(options?.retry ?? this.policy, this.owner.era)
  }

  /** In a step of the fiber of its caller. The way without a failure makes one object and one more step. */
  begin<A>(operation: Operation<A>, shared?: Budget): Result<A> {
    const { owner } = this
    const budget = shared ?? this.budget(operation.options)
    const call: Call<A> = {
      operation,
      budget,
      startedAt: owner.steady.now(),
      era: budget.era,
      sent: false,
      aside: false,
      executedMaybe: false
    }
    const { live } = owner
    return live === undefined ? this.again(call) : this.sendOver(call, live, operation.options)
  }

  private sendOver<A>(call: Call<A>, live: Live, options: McpSession.RequestOptions | undefined): Result<A> {
    call.sent = true
    call.aside = false
    const { operation } = call
    const answer = operation.send(live.session, options)
    const heard = live.isSound
      ? answer
      : Effect.tap(answer, () => this.owner.ears.reached(live))
    return Effect.catchAllCause(heard, (cause) => {
      for (const error of Cause.failures(cause)) this.owner.hear(live, error)
      return this.failed(call, cause, live)
    })
  }

  /** In the current session, or the next one. */
  private again<A>(call: Call<A>): Result<A> {
    const { operation: { method, options } } = call
    const from = call.sent ? this.owner.steady.now() : call.startedAt
    const waiting = this.owner.untilLive(method, call.era)
    const late = () => ({ kind: "wait", detail: `there is no session: ${describe(this.owner)}` } as const)
    const inTime = this.inTime(call, waiting, from, late)
    const told = this.owner.live === undefined ? Effect.zipRight(waits(this.owner), inTime) : inTime
    return Effect.matchCauseEffect(told, {
      onFailure: (cause) => this.failed(call, cause),
      onSuccess: (live) => this.sendOver(call, live, withWaited(options, { idleFrom: from, totalFrom: call.startedAt }))
    })
  }

  private failed<A>(call: Call<A>, cause: Cause.Cause<McpError.McpError>, live?: Live): Result<A> {
    const errors = Chunk.toReadonlyArray(Cause.failures(cause))
    if (Cause.isInterrupted(cause) || errors.length === 0 || Chunk.size(Cause.defects(cause)) > 0) {
      return Effect.failCause(cause)
    }
    // Its turn had not come when the session was exchanged for another one: this is no failure of the call.
    if (live?.over === true && call.era === this.owner.era && errors.every(Errors.isUnsent)) return this.again(call)
    if (!errors.every((error) => this.mayReplay(call, error))) return this.giveUp(call, cause)
    const renewal = errors.every(isExpired)
    if (renewal) {
      if (call.budget.renewed) return this.giveUp(call, cause)
      call.budget.renewed = true
    }
    const aside = this.mayRunAside(call, errors)
    const error = slowest(errors)
    return Effect.flatMap(call.budget.next(error, !renewal && !aside), (delay) => {
      if (delay === undefined || this.endsBefore(call, delay) || this.isParked(call, delay, error)) {
        return this.giveUp(call, cause)
      }
      if (errors.some((error) => error.executed === "maybe")) call.executedMaybe = true
      const next = Effect.suspend(() =>
        call.era === this.owner.era && !this.isLeft(call)
          ? Effect.zipRight(this.replaying(call, errors[0]!, delay), aside ? this.runAside(call) : this.again(call))
          : this.giveUp(call, cause)
      )
      return delay === 0 ? next : Effect.zipRight(this.pause(delay), next)
    })
  }

  /** What nobody waits for is no reason to connect a server that nobody uses any more. */
  private isLeft<A>({ operation: { options } }: Call<A>): boolean {
    return isUnattended(options) && this.owner.live === undefined && this.owner.state._tag === "Idle"
  }

  /** Counts it when it is sent again, which may be never: it may be interrupted before, or the connection closed. */
  private replaying<A>(call: Call<A>, error: McpError.McpError, delay: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.owner.replays++
      this.owner.meter?.replayed(call.operation.method, error)
      return replayed(error, ++call.budget.replays, delay)
    })
  }

  private mayReplay<A>(call: Call<A>, error: McpError.McpError): boolean {
    const { operation: { options } } = call
    const replay = options?.replay ?? "auto"
    if (replay === "never" || error.executed === "yes") return false
    // A lost session is not a matter of taste.
    if (!isExpired(error) && !call.budget.policy.accepts(error)) return false
    return error.executed === "no" || replay === "always" || this.isIdempotent(call)
  }

  private isIdempotent<A>({ operation }: Call<A>): boolean {
    if (operation.idempotent !== undefined) return operation.idempotent
    if (Methods.isIdempotent(operation.method)) return true
    return operation.method === "tools/call" && operation.target !== undefined && this.config.trusted === true &&
      Known.isIdempotent(this.owner.catalog.tools.find(operation.target))
  }

  /** A tool may run again in a session of its own while the shared one is left to its other users, or heals. */
  private mayRunAside<A>(call: Call<A>, errors: ReadonlyArray<McpError.McpError>): boolean {
    return this.isolates && call.sent && !call.aside && call.operation.method === "tools/call" &&
      errors.every(isOfTheSession)
  }

  private runAside<A>(call: Call<A>): Result<A> {
    const from = this.owner.steady.now()
    const { operation: { method, options, send } } = call
    const late = () => ({ kind: "handshake", detail: "a session of its own for this call was not open" } as const)
    let sent = false
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function*() {
        const scope = yield* Scope.make()
        // Nobody waits for the end of what has not opened in time.
        const opening = Effect.disconnect(this.owner.openAside(scope))
        const running = Effect.flatMap(this.inTime(call, opening, from, late), (live) => {
          sent = true
          return send(live.session, withWaited(options, { idleFrom: from, totalFrom: call.startedAt }))
        })
        const closed = Effect.flatMap(
          this.owner.closed,
          () => Effect.fail(Errors.about(this.owner.closing(method), method, sent ? "maybe" : "no"))
        )
        const exit = yield* Effect.exit(restore(firstOf(running, closed)))
        yield* this.owner.closeAside(scope)
        return exit
      })
    ).pipe(Effect.flatMap((exit) => {
      if (Exit.isSuccess(exit)) return Effect.succeed(exit.value)
      call.aside = true
      return this.failed(call, exit.cause)
    }))
  }

  /** What is not sent again because it could run twice says so. */
  private giveUp<A>(call: Call<A>, cause: Cause.Cause<McpError.McpError>): Result<A> {
    const truth = call.executedMaybe ? Cause.map(cause, executedMaybe) : cause
    for (const error of Cause.failures(truth)) this.count(call, error)
    return Effect.failCause(
      this.isIdempotent(call) || call.operation.options?.replay === "always"
        ? truth
        : Cause.map(truth, withUnknownOutcome)
    )
  }

  private count<A>({ operation: { method, options }, sent }: Call<A>, error: McpError.McpError): void {
    if (isUnattended(options) || (sent && isRefusal(error))) return
    this.owner.meter?.failed(method, error)
  }

  /** Ends early when the application closes the connection. */
  private pause(millis: number): Effect.Effect<void> {
    return firstOf(Effect.sleep(millis), this.owner.closed)
  }

  /** Until something was sent, all of it is waiting. */
  private endsBefore<A>({ operation: { options }, sent, startedAt }: Call<A>, delay: number): boolean {
    const total = this.total(options)
    const bound = sent ? total : Math.min(total, millisOf(options?.timeout, this.timeouts.request))
    return this.owner.steady.now() + delay >= startedAt + bound
  }

  /** The server asks for so long a pause that whoever waits would take it for ever, and has not said how long is too long. */
  private isParked<A>(
    { budget, operation: { options } }: Call<A>,
    delay: number,
    error: McpError.McpError
  ): boolean {
    return delay > longestPause && delay === retryAfter(error) &&
      budget.policy.total === null && this.total(options) === Number.POSITIVE_INFINITY
  }

  /** Waiting counts against the deadlines of the call. */
  private inTime<B>(
    call: { readonly operation: Pick<Operation<unknown>, "method" | "options">; readonly startedAt: number },
    waiting: Result<B>,
    from: number,
    late: () => Pick<McpError.RequestTimeout, "kind" | "detail">
  ): Result<B> {
    const { operation: { method, options } } = call
    const idle = millisOf(options?.timeout, this.timeouts.request)
    const until = Math.min(from + idle, call.startedAt + this.total(options))
    if (until === Number.POSITIVE_INFINITY) return waiting
    const tooLate = () =>
      Effect.fail(
        new McpError.RequestTimeout({
          server: this.owner.server,
          operation: method,
          executed: "no",
          millis: until - from,
          ...late()
        })
      )
    return Effect.suspend(() => inTime(waiting, Math.max(0, until - this.owner.steady.now()), tooLate))
  }

  /** The same for what has to be known before it is sent. */
  inTimeFor<A>(waiting: Result<A>, method: string, options: CallOptions | undefined): Result<A> {
    return Effect.suspend(() => {
      const startedAt = this.owner.steady.now()
      const late = () => ({
        kind: "wait",
        detail: `the list of its tools could not be read; ${describe(this.owner)}`
      } as const)
      return this.inTime({ operation: { method, options }, startedAt }, waiting, startedAt, late)
    })
  }

  private total(options: CallOptions | undefined): number {
    return millisOf(options?.maxTotal, this.timeouts.total)
  }
}

const waits = ({ state }: Owner): Effect.Effect<void> =>
  Spans.happened("mcp.runtime.wait", { "mcp.runtime.state": state._tag })

/** For the span of the call. */
const replayed = (error: McpError.McpError, replays: number, delay: number): Effect.Effect<void> =>
  Effect.zipRight(
    Effect.withFiberRuntime((fiber) => {
      Spans.annotate(fiber, { "mcp.runtime.replays": replays })
      return Effect.void
    }),
    Spans.happened("mcp.runtime.replay", {
      "error.type": ErrorType.exact(error),
      "mcp.runtime.executed": error.executed,
      "mcp.runtime.delay_ms": delay
    })
  )

const withWaited = (
  options: McpSession.RequestOptions | undefined,
  waited: NonNullable<Waited["waited"]>
): McpSession.RequestOptions & Waited => ({ ...options, waited })

/** A time that is refused when it is sent bounds nothing here. */
const millisOf = (wish: Duration.DurationInput | null | undefined, otherwise: Duration.Duration | null): number => {
  const bound = wish === undefined ? otherwise : wish
  if (bound === null) return Number.POSITIVE_INFINITY
  const millis = Option.map(Duration.decodeUnknown(bound), Duration.toMillis)
  return Option.isSome(millis) && millis.value > 0 ? millis.value : Number.POSITIVE_INFINITY
}

const describe = ({ state }: Owner): string => {
  switch (state._tag) {
    case "Reconnecting":
      return `the last one was lost, try ${state.attempt} to reconnect; ${McpError.whatHappened(state.error)}`
    case "Connecting":
      return `still connecting`
    default:
      return `the connection is ${state._tag}`
  }
}

/** Nobody has called for it. */
const isUnattended = (options: (CallOptions & Waited) | undefined): boolean => options?.unattended === true

const refusals: ReadonlySet<McpError.McpError["_tag"]> = new Set([
  "CapabilityMissing",
  "ConfigInvalid",
  "LimitExceeded"
])

/** What was asked for could not be sent. An answer that is too long is no such thing: it was executed. */
export const isRefusal = ({ _tag, executed }: McpError.McpError): boolean => executed === "no" && refusals.has(_tag)

const isExpired = (error: McpError.McpError): boolean => error._tag === "SessionExpired"

/** It may be the fault of the shared session, so that another one may fare better. */
const isOfTheSession = (error: McpError.McpError): boolean => {
  switch (error._tag) {
    case "ConnectFailed":
    case "ConnectionClosed":
    case "RequestTimeout":
    case "ResponseLost":
      return true
    case "HttpError":
      return error.status >= 500
    default:
      return false
  }
}

/** The one that asks for the longest delay decides about it. */
const slowest = (errors: ReadonlyArray<McpError.McpError>): McpError.McpError =>
  errors.reduce((a, b) => retryAfter(b) > retryAfter(a) ? b : a)

/** The last time it was not executed; an earlier time it may have been. */
const executedMaybe = (error: McpError.McpError): McpError.McpError =>
  error.executed === "no" ? Errors.about(error, error.operation, "maybe") : error

const withUnknownOutcome = (error: McpError.McpError): McpError.McpError => {
  if (error.executed !== "maybe") return error
  switch (error._tag) {
    case "ConnectionClosed":
    case "RequestTimeout":
    case "HttpError":
    case "ResponseLost":
    case "ProtocolViolation":
      return new McpError.OutcomeUnknown({
        server: error.server,
        operation: error.operation,
        executed: "maybe",
        error
      })
    default:
      return error
  }
}
