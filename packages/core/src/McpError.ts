/**
 * The closed family of errors.
 *
 * Owns: what can go wrong, in words a person can act on, and whether the request may have been executed by the server.
 * May not touch: connections, configuration, retries. It only says what happened.
 *
 * The classes are in `internal/errors`, by what they are about; here is what makes them one family.
 *
 * Each message says which server, what was tried, what happened, and, after `to do:`, what to do about it; but for what is wrong with
 * an input, which says so itself, and for the words of a server about what it was asked. Every error carries three facts beside its
 * own:
 *
 * - `server`: the configured name of the server; where it is about no server, what it is about, in angle brackets, such as
 *   `<toolset>` or `<manager>`: these are few, and known.
 * - `operation`: what was tried, in words of the protocol (`"tools/call"`) or of the runtime (`"open"`, `"configure"`).
 * - `executed`: whether the server ran the request. `"no"`: certainly not, so sending it again is safe. `"maybe"`: it was
 *   handed to the network or the process, and nothing more is known. `"yes"`: a result came back. Only this decides a
 *   replay, never a code or a text.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { without } from "./internal/errors/advice.js"
import {
  CapabilityMissing,
  ElicitationRequired,
  InvalidResult,
  LimitExceeded,
  RemoteError,
  TaskFailed
} from "./internal/errors/answers.js"
import {
  CloseFailed,
  ConfigInvalid,
  ConnectFailed,
  ConnectionUnavailable,
  HandshakeFailed,
  SpawnFailed,
  UnknownServer,
  VersionMismatch
} from "./internal/errors/connecting.js"
import { common, shownServer } from "./internal/errors/facts.js"
import {
  ConnectionClosed,
  Forbidden,
  HttpError,
  OutcomeUnknown,
  ProtocolViolation,
  RequestTimeout,
  ResponseLost,
  SessionExpired,
  Unauthorized
} from "./internal/errors/requests.js"
import { ArgumentsInvalid, MetaFailed, OutputInvalid, ToolFailed, ToolNotFound } from "./internal/errors/tools.js"

export { type ConfigProblem, Executed, type LastFrame, type ProcessExit } from "./internal/errors/facts.js"

// There is no usable connection to a server.
export {
  CloseFailed,
  ConfigInvalid,
  ConnectFailed,
  ConnectionUnavailable,
  HandshakeFailed,
  SpawnFailed,
  UnknownServer,
  unwritable,
  VersionMismatch
} from "./internal/errors/connecting.js"

// A request has no answer.
export {
  ConnectionClosed,
  Forbidden,
  HttpError,
  OutcomeUnknown,
  ProtocolViolation,
  RequestTimeout,
  ResponseLost,
  SessionExpired,
  Unauthorized
} from "./internal/errors/requests.js"

// There is an answer, or the request was not made.
export {
  CapabilityMissing,
  ElicitationRequired,
  InvalidResult,
  LimitExceeded,
  RemoteError,
  TaskFailed
} from "./internal/errors/answers.js"

// The call of a tool.
export { ArgumentsInvalid, MetaFailed, OutputInvalid, ToolFailed, ToolNotFound } from "./internal/errors/tools.js"

const ofOneServer = [
  ConfigInvalid,
  SpawnFailed,
  ConnectFailed,
  HandshakeFailed,
  VersionMismatch,
  ConnectionClosed,
  RequestTimeout,
  SessionExpired,
  Unauthorized,
  Forbidden,
  HttpError,
  ResponseLost,
  ProtocolViolation,
  InvalidResult,
  RemoteError,
  ElicitationRequired,
  CapabilityMissing,
  LimitExceeded,
  TaskFailed,
  ArgumentsInvalid,
  ConnectionUnavailable,
  OutcomeUnknown,
  ToolNotFound,
  OutputInvalid,
  ToolFailed,
  MetaFailed,
  CloseFailed,
  UnknownServer
] as const

/**
 * Servers that must all be connected are not, so none of this attempt is. The first error in configured order gives this
 * one its server and operation; `errors` has all of them, in configured order.
 *
 * @since 0.1.0
 * @category errors
 */
export class ServersFailed extends Schema.TaggedError<ServersFailed>("@mcp-runtime/core/ServersFailed")(
  "ServersFailed",
  { ...common, errors: Schema.NonEmptyArray(Schema.Union(...ofOneServer)) }
) {
  override get message() {
    const [first, ...others] = this.errors
    return others.length === 0
      ? first.message
      : `${first.message} (and ${others.length} more: ${
        others.map((_) => `"${shownServer(_.server)}" ${_._tag}`).join(", ")
      })`
  }
}

/**
 * Everything that can go wrong.
 *
 * @since 0.1.0
 * @category models
 */
export type McpError =
  | ConfigInvalid
  | SpawnFailed
  | ConnectFailed
  | HandshakeFailed
  | VersionMismatch
  | ConnectionClosed
  | RequestTimeout
  | SessionExpired
  | Unauthorized
  | Forbidden
  | HttpError
  | ResponseLost
  | ProtocolViolation
  | InvalidResult
  | RemoteError
  | ElicitationRequired
  | CapabilityMissing
  | LimitExceeded
  | TaskFailed
  | ArgumentsInvalid
  | ConnectionUnavailable
  | OutcomeUnknown
  | ToolNotFound
  | OutputInvalid
  | ToolFailed
  | MetaFailed
  | CloseFailed
  | UnknownServer
  | ServersFailed

/**
 * The schema of the family, to carry an error across a process boundary.
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpError = Schema.Union(...ofOneServer, ServersFailed)

/**
 * Whether a value is one of ours.
 *
 * @since 0.1.0
 * @category guards
 */
export const isMcpError = (u: unknown): u is McpError =>
  // `Schema` makes a text of the tag, which throws for `{ "toString": null }`.
  typeof u === "object" && u !== null && "_tag" in u && typeof u._tag === "string" && isOfUnion(u)

const isOfUnion = Schema.is(McpError)

/**
 * Whether sending the request again can't run it twice.
 *
 * @since 0.1.0
 * @category guards
 */
export const isReplayable = (error: McpError): boolean => error.executed === "no"

/**
 * Whether the same request may well succeed a little later. It says nothing about whether sending it again is safe: that
 * is `executed`.
 *
 * @since 0.1.0
 * @category guards
 */
export const isTransient = (error: McpError): boolean => {
  switch (error._tag) {
    case "SessionExpired":
    case "ResponseLost":
      return true
    case "ConnectFailed":
      return error.reason !== "Tls" && error.reason !== "BadUrl"
    case "ConnectionClosed":
      return error.reason !== "Closing" && error.reason !== "Overflow"
    case "RequestTimeout":
      return error.kind !== "total" && error.kind !== "wait"
    case "HttpError":
      return isTransientStatus(error.status)
    case "HandshakeFailed":
      return error.code === undefined
    case "SpawnFailed":
      return error.reason === "Other"
    default:
      return false
  }
}

const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505)

/**
 * The message without what to do, and without that of an error inside: for whoever has words of their own for it.
 *
 * @since 0.1.0
 * @category accessors
 */
export const whatHappened: (error: McpError) => string = without

export { displayMarks, displayName, displayText, displayUrl } from "./internal/errors/display.js"
