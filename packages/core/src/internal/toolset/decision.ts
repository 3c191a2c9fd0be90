/**
 * Asking a function of the application's for a yes or a no.
 *
 * Owns: what counts as an answer, the deadline, and what is said of a question that was not answered.
 * May not touch: what follows from it. A tool is never shown or run because of it: whoever asks says what the safe answer
 * is, and gets that one instead.
 *
 * An interruption is neither a yes nor a no: it goes on as one.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as McpError from "../../McpError.js"
import * as Lines from "../telemetry/lines.js"
import { handlersEndWithin, within } from "../within.js"

/** How long the application may take with what it has set no time for. In milliseconds. */
export const patience = 5000

/** An effect only where one is needed. */
export type Decision<R> = boolean | Effect.Effect<boolean, never, R>

/** What is asked, about which tool, and what holds without an answer. */
export interface Question {
  /** Who does not answer, such as `the filter`. */
  readonly who: string
  readonly operation: string
  readonly server: string
  readonly tool: string
  readonly safe: boolean
  /** What that means, such as `so it is excluded`. */
  readonly consequence: string
}

/** What a function returned: a yes, a no, an effect of one, or something else. */
export const settle = <R>(
  answer: boolean | Effect.Effect<boolean, unknown, R>,
  millis: number,
  question: Question
): Decision<R> => {
  if (typeof answer === "boolean") return answer
  if (!Effect.isEffect(answer)) return unanswered(question, noAnswer)
  if (Exit.isExit(answer)) return settled(answer as Exit.Exit<boolean, unknown>, question)
  return Effect.flatMap(before(answer, millis), (exit) =>
    Option.isNone(exit)
      ? unanswered(question, `took longer than ${millis} ms`)
      : toEffect(settled(exit.value, question)))
}

const noAnswer = "answered neither true nor false"

const settled = (exit: Exit.Exit<boolean, unknown>, question: Question): Decision<never> => {
  if (Exit.isSuccess(exit)) return typeof exit.value === "boolean" ? exit.value : unanswered(question, noAnswer)
  const { cause } = exit
  if (isInterruption(cause)) return Effect.failCause(cause as Cause.Cause<never>)
  const failure = Cause.failureOption(cause)
  return unanswered(
    question,
    Option.isSome(failure)
      ? `failed${kindOf(failure.value)}`
      : `died${kindOf(Option.getOrUndefined(Cause.dieOption(cause)))}`
  )
}

const isInterruption = (cause: Cause.Cause<unknown>): boolean =>
  Cause.isInterrupted(cause) && Cause.isInterruptedOnly(cause)

/** The function itself threw. */
export const thrown = (question: Question, error: unknown): Effect.Effect<boolean> =>
  unanswered(question, `threw${kindOf(error)}`)

/** The safe answer, after one line in the log, which has no value from anywhere: not even an error's message. */
export const unanswered = (question: Question, why: string): Effect.Effect<boolean> =>
  Effect.as(
    report(
      question.server,
      question.operation,
      `${question.who} of tool "${shown(question.tool)}" ${why}, ${question.consequence}`,
      { tool: shown(question.tool) }
    ),
    question.safe
  )

/** One line at error level. */
export const report = (
  server: string,
  operation: string,
  what: string,
  annotations: Readonly<Record<string, unknown>> = {}
): Effect.Effect<void> =>
  Effect.logError(`MCP server "${shown(server)}": ${what}`).pipe(
    Lines.about(shown(server), operation, annotations)
  )

const shown = (name: string): string => McpError.displayName(name, 128)

/** What an error is called, which its author wrote down; never what it says. */
const kindOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return ""
  try {
    const kind = "_tag" in error ? error._tag : error instanceof Error ? error.name : undefined
    return typeof kind === "string" && /^[\w.$/@-]{1,64}$/.test(kind) ? ` (${kind})` : ""
  } catch {
    return ""
  }
}

export const toEffect = <R>(decision: Decision<R>): Effect.Effect<boolean, never, R> =>
  typeof decision === "boolean" ? Effect.succeed(decision) : decision

/**
 * How an effect ended, or nothing when it did not within this time; then it is interrupted, and not waited for. The time
 * holds also where the caller, or the effect, can't be interrupted. A caller that is interrupted waits a moment for
 * what the effect has to clean up. What ends without waiting for anything costs no timer.
 */
export const before = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  millis: number
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.runtime<R>(), (runtime) => {
      const fork = Runtime.runFork(runtime)
      // As a value, because a fiber that fails unseen is logged with all that its error says.
      const asked = fork(Effect.uninterruptible(Effect.exit(Effect.interruptible(effect))))
      const end = asked.unsafePoll()
      if (end !== null) return Effect.succeed(Option.some(Exit.flatten(end)))
      const timer = fork(Effect.interruptible(Effect.sleep(millis)))
      const first = Effect.async<Option.Option<Exit.Exit<A, E>>>((resume) => {
        asked.addObserver((end) => resume(Effect.succeed(Option.some(Exit.flatten(end)))))
        timer.addObserver((end) => Exit.isSuccess(end) && resume(Effect.succeed(Option.none())))
      })
      return restore(first).pipe(
        Effect.onInterrupt(() => within(Fiber.interrupt(asked), handlersEndWithin)),
        Effect.ensuring(Effect.sync(() => {
          asked.unsafeInterruptAsFork(FiberId.none)
          timer.unsafeInterruptAsFork(FiberId.none)
        }))
      )
    })
  )
