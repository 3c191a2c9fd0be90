/**
 * Why there is no session, in words for whoever wanted one.
 *
 * Owns: those words, and which failures of a try end the tries.
 * May not touch: the state.
 */
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import { ofTheApplication } from "../errors/advice.js"
import { isRemote } from "./ladder.js"

/** What the application has closed the connection under. */
export const closing = (server: string, operation: string): McpError.McpError =>
  new McpError.ConnectionClosed({
    server,
    operation,
    executed: "no",
    reason: "Closing",
    detail: "the connection was closed by this application"
  })

/** What became of the requests of a session that is lost. */
export const lost = (error: McpError.McpError): McpError.McpError =>
  error._tag === "ConnectionClosed" ? error : new McpError.ConnectionClosed({
    server: error.server,
    operation: "connection",
    executed: "maybe",
    reason: "Reset",
    detail: `the session was given up: ${McpError.whatHappened(error)}`
  })

export const disabled = (server: string, detail = "the server is disabled"): McpError.ConnectionUnavailable =>
  unavailable(server, "Disabled", detail)

export const released = (server: string): McpError.ConnectionUnavailable =>
  unavailable(server, "Released", "the scope of the connection has closed")

export const crashLoop = (
  config: McpConfig.ServerConfig,
  last: McpError.McpError | undefined,
  millis: number
): McpError.McpError => {
  const what = isRemote(config) ? "its sessions keep failing" : "it keeps ending after its start"
  const why = last === undefined ? "unknown" : McpError.whatHappened(last)
  return unavailable(
    config.name,
    "CrashLoop",
    `${what}, so it is left alone for a while; the last reason: ${why}`,
    Math.max(0, millis)
  )
}

const unavailable = (
  server: string,
  reason: McpError.ConnectionUnavailable["reason"],
  detail: string,
  retryAfterMillis?: number
): McpError.ConnectionUnavailable =>
  new McpError.ConnectionUnavailable({
    server,
    operation: "open",
    executed: "no",
    reason,
    detail,
    ...(retryAfterMillis !== undefined && { retryAfterMillis })
  })

/** The error of a try, which may have died of something else. */
export const ofTry = (server: string, cause: Cause.Cause<McpError.McpError>): McpError.McpError =>
  Option.getOrElse(Cause.failureOption(cause), () => died(server))

/** Something that was given to us has died. */
export const died = (server: string): McpError.McpError =>
  new McpError.HandshakeFailed({
    server,
    operation: "open",
    executed: "no",
    detail: ofTheApplication
  })

/** The server wants other credentials, and only new ones are a reason to try again. */
export const needsPerson = (error: McpError.McpError): boolean =>
  error._tag === "Unauthorized" || (error._tag === "Forbidden" && error.authorizationUrl !== undefined)

/** Trying again without a change of the configuration, the program or the machine is of no use. */
export const isFinal = (error: McpError.McpError): boolean => {
  switch (error._tag) {
    case "ConfigInvalid":
    case "VersionMismatch":
    case "Forbidden":
      return true
    case "SpawnFailed":
    case "ConnectFailed":
      return !McpError.isTransient(error)
    default:
      return false
  }
}
