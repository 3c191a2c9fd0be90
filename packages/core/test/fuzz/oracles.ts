/**
 * What holds of every end of every operation.
 */
import { McpError } from "@mcp-runtime/core"
import { Cause, Exit } from "effect"
import { holds } from "./kit/holds.js"

const longestMessage = 20_000

/** A value or a typed error that can be shown; never a defect. */
export const ended = <A, E>(exit: Exit.Exit<A, E>, what: string, also: (error: E) => boolean = () => false): void => {
  if (Exit.isSuccess(exit)) return
  const failure = Cause.failureOption(exit.cause)
  if (failure._tag === "None") throw new Error(`${what} ended with ${Cause.pretty(exit.cause)}`)
  holds(McpError.isMcpError(failure.value) || also(failure.value), `${what} failed with something untyped`)
  shows(failure.value, what)
}

/** An error can be shown, logged and sent. */
export const shows = (error: unknown, what: string): string => {
  const { message } = error as Error
  holds(typeof message === "string" && message.length > 0, `${what}: an error without a message`)
  holds(message.length < longestMessage, `${what}: a message of ${message.length} characters`)
  holds(typeof String(error) === "string", `${what}: an error that is no text`)
  JSON.stringify(error)
  return message
}
