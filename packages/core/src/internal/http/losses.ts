/**
 * The errors of a request that was delivered and has no usable answer.
 *
 * Owns: their words. All of them are executed "maybe".
 */
import * as McpError from "../../McpError.js"

export const responseLost = (
  server: string,
  operation: string,
  reason: McpError.ResponseLost["reason"],
  detail: string
): McpError.McpError =>
  new McpError.ResponseLost({ server, operation, executed: "maybe", reason, detail: McpError.displayText(detail, 512) })

export const violation = (server: string, operation: string, detail: string): McpError.McpError =>
  new McpError.ProtocolViolation({
    server,
    operation,
    executed: "maybe",
    detail: McpError.displayText(detail, 512)
  })

export const tooLarge = (server: string, operation: string, limit: string, max: number): McpError.McpError =>
  new McpError.LimitExceeded({ server, operation, executed: "maybe", limit, max })

/** Nothing can be sent any more. */
export const closing = (server: string, operation: string, executed: McpError.Executed): McpError.McpError =>
  new McpError.ConnectionClosed({
    server,
    operation,
    executed,
    reason: "Closing",
    detail: "the session is being closed"
  })

/** What was to be sent can't be written as JSON. */
export const notJson = (server: string, operation: string): McpError.McpError =>
  new McpError.ConfigInvalid({
    server,
    operation,
    executed: "no",
    problems: [{ field: "params", problem: "can't be written as JSON" }]
  })
