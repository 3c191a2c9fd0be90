/**
 * Words for a model about a call that has failed.
 *
 * Owns: what each kind of error becomes. Bounded, whatever a server has written; and of servers only what they say
 * about the call itself, never their stderr, their addresses, their commands or the bodies of their HTTP responses.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as McpError from "../../McpError.js"
import type { FailedCall, ToolFailure } from "../../ToolFailure.js"
import { isOfConfiguration } from "../errors/connecting.js"
import { shownProblems, where } from "../errors/facts.js"
import { isServer } from "../errors/owners.js"
import * as Decision from "./decision.js"

const longest = 2000

/** Shown to a model in its own right, so without controls, and URLs without what may be secret. */
const shown = (text: string, max = longest): string => McpError.displayText(text, max)

/**
 * What a process has written to stderr is for people. It ends the message of its error, and can be inside another one.
 */
const stderrOf = (error: McpError.McpError): string | undefined => {
  switch (error._tag) {
    case "OutcomeUnknown":
      return stderrOf(error.error)
    case "ServersFailed":
      return stderrOf(error.errors[0])
    case "HandshakeFailed":
    case "ConnectionClosed":
    case "RequestTimeout":
      return error.stderrTail
    default:
      return undefined
  }
}

/** Why a tool is not found whose name was given out, and is another tool's by now. */
export const nameHasMoved = "the list of tools has changed since it was read, and this is the name of another tool now"

/** The message of an error without where it happened, without stderr, and without what people could do. */
export const brief = (error: McpError.McpError): string => {
  const message = McpError.whatHappened(error)
  const prefix = `${where(error)}: `
  const what = message.startsWith(prefix) ? message.slice(prefix.length) : message
  const stderr = stderrOf(error)?.trimEnd()
  if (stderr === undefined || stderr.trim() === "") return shown(what)
  const at = what.lastIndexOf(`; the end of its stderr:\n${stderr}`)
  return shown(at === -1 ? what : what.slice(0, at) + what.slice(at + stderrLabel + stderr.length))
}

const stderrLabel = "; the end of its stderr:\n".length

/** The field of a problem that is none of one argument, but of all: they are no JSON, or no object. */
const allArguments = "arguments"

export const openAiAgents = (error: McpError.McpError, { name, server }: FailedCall): string => {
  if (error._tag === "ArgumentsInvalid" && error.problems.some((_) => _.field === allArguments)) {
    return `An error occurred while parsing tool arguments. Please try again with valid JSON. Error: ${brief(error)}`
  }
  const tryAgain = "An error occurred while running the tool. Please try again. Error: "
  // A JSON-RPC error of the server goes through as it is; everything else is wrapped.
  return error._tag === "RemoteError"
    ? `${tryAgain}${shown(error.reason)}`
    : `${tryAgain}Error invoking MCP tool ${shown(name, 128)}${
      isServer(server) ? ` on server '${shown(server, 128)}'` : ""
    }: ${brief(error)}`
}

export const explained = (error: McpError.McpError, { name }: FailedCall): string =>
  `The call of the tool "${shown(name, 128)}" failed. ${whatHappened(error)} ${whatToDo(error)}`

const whatHappened = (error: McpError.McpError): string => {
  switch (error._tag) {
    case "ArgumentsInvalid":
      return `Its arguments are invalid: ${problems(error.problems)}${
        error.detail === undefined ? "" : ` (${shown(error.detail, 256)})`
      }.`
    case "ConfigInvalid":
      return isUnwritable(error)
        ? `What was to be sent is invalid: ${problems(error.problems)}.`
        : "It is not set up correctly."
    case "ToolNotFound":
    case "UnknownServer":
    case "CapabilityMissing":
      return hasMoved(error)
        ? "The list of tools has changed: this is the name of another tool now."
        : "There is no such tool now."
    case "RemoteError":
      return `Its server answered with error ${error.code}: ${sentence(error.reason)}`
    case "TaskFailed":
      return `Its task ${
        error.status === "failed" ? "failed" : error.status === "expired" ? "expired" : "was cancelled"
      }${error.detail === "" ? "." : `: ${sentence(error.detail)}`}`
    case "InvalidResult":
      return `It has run, and its answer can't be used: ${sentence(error.detail)}`
    case "OutputInvalid":
      return `It has run, and its answer is not what it promises: ${problems(error.problems)}.`
    case "ToolFailed":
      return `It has run, and says that it failed: ${sentence(error.detail)}`
    case "MetaFailed":
      return "What is to be sent along with it could not be had."
    case "LimitExceeded":
      return `The limit "${shown(error.limit, 128)}" of ${error.max} was exceeded.`
    case "Unauthorized":
      return "Its server asks for credentials."
    case "Forbidden":
      return error.scope === undefined
        ? "Its server forbids it."
        : `Its server forbids it without the scope "${shown(error.scope, 128)}".`
    case "ElicitationRequired":
      return `Its server wants the user to visit a page first: ${sentence(error.reason)}`
    case "RequestTimeout":
      return error.kind === "wait"
        ? `It could not be sent within ${error.millis} ms.`
        : `There was no answer within ${error.millis} ms.`
    case "HttpError":
      return `Its server answered with HTTP ${error.status}.`
    case "OutcomeUnknown":
      return whatHappened(error.error)
    case "ServersFailed":
      return whatHappened(error.errors[0])
    case "ResponseLost":
      return "Its answer was lost."
    case "ConnectionClosed":
      return "The connection to its server was lost."
    case "ProtocolViolation":
    case "VersionMismatch":
      return "Its server can't be understood."
    default:
      return "Its server is not available."
  }
}

const hasMoved = (error: McpError.McpError): boolean => error._tag === "ToolNotFound" && error.detail === nameHasMoved

const mayHaveRun = "It may have run: find out whether it has before you call it again."

const whatToDo = (error: McpError.McpError): string => {
  if (error._tag === "ServersFailed") return whatToDo(error.errors[0])
  if (error._tag === "InvalidResult" || error._tag === "OutputInvalid") {
    return "Do not call it again for the same; go on without its answer."
  }
  if (error._tag === "TaskFailed") return "It may have done a part of its work: look before you call it again."
  if (error._tag === "ToolFailed") return "Mend what it names before you call it again."
  if (isAboutArguments(error)) {
    return error.executed === "no" ? "Mend the arguments and call it again." : `Mend the arguments. ${mayHaveRun}`
  }
  if (error.executed === "maybe") return mayHaveRun
  if (error.executed === "yes") return "It has run: do not call it again for the same."
  switch (error._tag) {
    case "ToolNotFound":
    case "UnknownServer":
    case "CapabilityMissing":
      return hasMoved(error)
        ? "It has not run. Choose anew from the tools that there are now."
        : "It has not run. Use another one, or go on without it."
    case "Unauthorized":
    case "Forbidden":
    case "ElicitationRequired":
      return "It has not run. Only the user can change that: tell the user, and do not call it again before."
    case "LimitExceeded":
      return "It has not run. Ask for less, or go on without it."
    case "RemoteError":
      return "It has not run."
    case "HttpError":
    case "ConnectionUnavailable":
      return notNow(error.retryAfterMillis, error._tag === "ConnectionUnavailable" || McpError.isTransient(error))
    case "RequestTimeout":
      return notNow(undefined, true)
    default:
      return notNow(undefined, McpError.isTransient(error))
  }
}

const notNow = (retryAfterMillis: number | undefined, passes: boolean): string =>
  `It has not run. Go on without it${
    retryAfterMillis !== undefined
      ? `, or try again in ${Math.ceil(retryAfterMillis / 1000)} s`
      : passes
      ? ", or try again later"
      : ""
  }.`

const invalidParams = -32602

const isAboutArguments = (error: McpError.McpError): boolean =>
  error._tag === "ArgumentsInvalid" || (error._tag === "RemoteError" && error.code === invalidParams) ||
  isUnwritable(error)

/** The one thing of a `ConfigInvalid` that a model has a say in. The rest is what the application has configured or asked for. */
const isUnwritable = (error: McpError.McpError): boolean =>
  error._tag === "ConfigInvalid" && !isOfConfiguration(error) && error.problems.every((_) => _.field === "params")

const sentence = (text: string): string => {
  const words = shown(text)
  return words === "" ? "it does not say more." : /[.!?)]$/.test(words) ? words : `${words}.`
}

const problems = (all: ReadonlyArray<McpError.ConfigProblem>): string =>
  shownProblems(all, 8, ({ field, problem }) => `${shown(field, 96)}: ${shown(problem, 160)}`)

/** The text in the place of an error, or the error. Whoever waits for it is told the usual after a while. */
export const handle = <R = never, E = never>(
  failure: ToolFailure<R, E>,
  error: McpError.McpError,
  call: FailedCall
): Effect.Effect<string, E, R> =>
  Effect.suspend(() => {
    // Only where the type allows this error.
    if (failure === "propagate") return Effect.fail(error as E)
    const text = failure(error, call)
    if (typeof text === "string") return Effect.succeed(text)
    return Effect.flatMap(
      Decision.before(text, Decision.patience),
      Option.getOrElse(() => Effect.as(untold(call), explained(error, call)))
    )
  })

const untold = ({ server, tool }: FailedCall): Effect.Effect<void> =>
  Decision.report(
    server,
    "tools/call",
    `the failure function of tool "${McpError.displayName(tool, 128)}" took longer than ${Decision.patience} ms, ` +
      "so the model is told the usual",
    { tool: McpError.displayName(tool, 128) }
  )
