/**
 * What kind of failure something ended with, as `error.type` of spans and metrics.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as McpError from "../../McpError.js"

/** A tool that has run and says that it failed. */
const toolError = "tool_error"

export const interrupted = "Interrupted"

/** What should not have happened: a mistake in the program. */
export const defect = "Defect"

/** What there are too many of to have a name each. */
export const other = "_OTHER"

/** Of a result that is a failure all the same. */
export const ofResult = (method: string, result: unknown): string | undefined =>
  method === "tools/call" && (result as { readonly isError?: unknown } | null | undefined)?.isError === true
    ? toolError
    : undefined

/** Of a whole: its failure, or that it was interrupted; nothing where it succeeded. */
export const ofExit = (exit: Exit.Exit<unknown, McpError.McpError>): string | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  if (Cause.isInterrupted(exit.cause)) return interrupted
  return Option.match(Cause.failureOption(exit.cause), { onNone: () => defect, onSome: bounded })
}

/** The error itself, where one only says that its outcome is unknown. */
const innermost = (error: McpError.McpError): McpError.McpError => error._tag === "OutcomeUnknown" ? error.error : error

/** With any code of a server: for spans. */
export const exact = (error: McpError.McpError): string => {
  const inner = innermost(error)
  return inner._tag === "RemoteError" ? String(inner.code) : inner._tag
}

/** Codes that mean something; a server may make up as many others as it likes. */
const knownCodes: ReadonlySet<number> = new Set([
  -32700,
  -32600,
  -32601,
  -32602,
  -32603,
  -32000,
  -32001,
  -32002,
  -32042
])

/** One of a few dozens: for metrics. */
export const bounded = (error: McpError.McpError): string => {
  const inner = innermost(error)
  return inner._tag !== "RemoteError" ? inner._tag : knownCodes.has(inner.code) ? String(inner.code) : other
}

/** The code of a JSON-RPC error, where that is the answer. */
export const codeOf = (error: McpError.McpError): number | undefined => {
  const inner = innermost(error)
  return inner._tag === "RemoteError" || inner._tag === "HttpError" || inner._tag === "HandshakeFailed"
    ? inner.code
    : undefined
}
