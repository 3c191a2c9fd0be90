/**
 * The closed family of errors.
 *
 * Owns: what can go wrong, in words a person can act on, and whether the request may have been executed by the server.
 * May not touch: connections, configuration, retries. It only says what happened.
 *
 * Every error carries three facts beside its own:
 *
 * - `server`: the configured name of the server.
 * - `operation`: what was tried, in words of the protocol (`"tools/call"`) or of the runtime (`"open"`, `"configure"`).
 * - `executed`: whether the server ran the request. `"no"`: certainly not, so sending it again is safe. `"maybe"`: it was
 *   handed to the network or the process, and nothing more is known. `"yes"`: a result came back. Only this decides a
 *   replay, never a code or a text.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Whether the server executed the request an error is about.
 *
 * @since 0.1.0
 * @category models
 */
export type Executed = "no" | "maybe" | "yes"

/**
 * @since 0.1.0
 * @category schemas
 */
export const Executed: Schema.Schema<Executed> = Schema.Literal("no", "maybe", "yes")

const common = {
  server: Schema.String,
  operation: Schema.String,
  executed: Executed
}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(schema)

const where = (self: { readonly server: string; readonly operation: string }) =>
  `MCP server "${self.server}": ${self.operation}`

/**
 * How a server process ended: its exit code or the signal that killed it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

const ProcessExit = Schema.Struct({ code: Schema.NullOr(Schema.Number), signal: Schema.NullOr(Schema.String) })

const describeExit = (exit: ProcessExit): string =>
  exit.signal !== null ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`

const describeStderr = (tail: string | undefined): string =>
  tail === undefined || tail.trim() === "" ? "" : `; the end of its stderr:\n${tail.trimEnd()}`

/**
 * One of the last messages of the session before an error of the protocol: the beginning of its JSON, without the secrets
 * that are known of the server; of an older one only its method, or which request it answers. No part of `message`.
 *
 * @since 0.1.0
 * @category models
 */
export interface LastFrame {
  readonly direction: "sent" | "received"
  readonly text: string
}

const lastFrames = Schema.optional(
  Schema.Array(Schema.Struct({ direction: Schema.Literal("sent", "received"), text: Schema.String }))
)

/**
 * One thing that is wrong with a configuration.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConfigProblem {
  readonly field: string
  readonly problem: string
}

/**
 * The configuration of a server can't be used. Lists every field that is wrong.
 *
 * @since 0.1.0
 * @category errors
 */
export class ConfigInvalid extends Schema.TaggedError<ConfigInvalid>("@mcp-runtime/core/ConfigInvalid")(
  "ConfigInvalid",
  {
    ...common,
    problems: Schema.Array(Schema.Struct({ field: Schema.String, problem: Schema.String }))
  }
) {
  override get message() {
    return `${where(this)}: ${isOfConfiguration(this) ? "the configuration is invalid" : "invalid input"}: ${
      this.problems.map((_) => `${_.field}: ${_.problem}`).join("; ")
    }`
  }
}

/** A session takes no input but its configuration. */
const isOfConfiguration = ({ operation }: { readonly operation: string }): boolean =>
  operation === "configure" || operation === "open"

/**
 * What is to be sent can't be written as JSON. For transports: nothing was sent.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unwritable = (server: string, operation: string): ConfigInvalid =>
  new ConfigInvalid({
    server,
    operation,
    executed: "no",
    problems: [{
      field: "params",
      problem: "can't be written as JSON: it is cyclic, nested too deeply, or holds a bigint"
    }]
  })

/**
 * The process of a server could not be started.
 *
 * @since 0.1.0
 * @category errors
 */
export class SpawnFailed extends Schema.TaggedError<SpawnFailed>("@mcp-runtime/core/SpawnFailed")("SpawnFailed", {
  ...common,
  reason: Schema.Literal("NotFound", "NotExecutable", "BadDirectory", "InvalidArgument", "TooLarge", "Other"),
  command: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${where(this)}: could not start "${this.command}": ${this.detail}`
  }
}

/**
 * No connection was made, so nothing was sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class ConnectFailed extends Schema.TaggedError<ConnectFailed>("@mcp-runtime/core/ConnectFailed")(
  "ConnectFailed",
  {
    ...common,
    reason: Schema.Literal("Refused", "NameNotFound", "Unreachable", "Timeout", "Tls", "BadUrl", "Proxy", "Other"),
    url: Schema.String,
    code: optional(Schema.String),
    detail: Schema.String
  }
) {
  override get message() {
    return `${where(this)}: could not connect to ${this.url}: ${this.detail}`
  }
}

/**
 * The conversation could not be opened: the peer was reached, but the handshake did not complete.
 *
 * @since 0.1.0
 * @category errors
 */
export class HandshakeFailed extends Schema.TaggedError<HandshakeFailed>("@mcp-runtime/core/HandshakeFailed")(
  "HandshakeFailed",
  {
    ...common,
    detail: Schema.String,
    exit: optional(ProcessExit),
    stderrTail: optional(Schema.String),
    code: optional(Schema.Number),
    data: optional(Schema.Unknown),
    lastFrames
  }
) {
  override get message() {
    return `${where(this)}: the handshake failed: ${this.detail}${
      this.exit === undefined ? "" : ` (the process ${describeExit(this.exit)})`
    }${describeStderr(this.stderrTail)}`
  }
}

/**
 * The server speaks no protocol version that we do.
 *
 * @since 0.1.0
 * @category errors
 */
export class VersionMismatch extends Schema.TaggedError<VersionMismatch>("@mcp-runtime/core/VersionMismatch")(
  "VersionMismatch",
  {
    ...common,
    requested: Schema.String,
    offered: Schema.Array(Schema.String),
    supported: Schema.Array(Schema.String)
  }
) {
  override get message() {
    return `${where(this)}: no common protocol version: asked for ${this.requested}, the server offers ${
      this.offered.length === 0 ? "none" : this.offered.join(", ")
    }; this client supports ${this.supported.join(", ")}`
  }
}

/**
 * The conversation is over: the process ended, a pipe or stream broke, or it was closed by us. `executed: "no"` means
 * that the request was not sent at all.
 *
 * @since 0.1.0
 * @category errors
 */
export class ConnectionClosed extends Schema.TaggedError<ConnectionClosed>("@mcp-runtime/core/ConnectionClosed")(
  "ConnectionClosed",
  {
    ...common,
    reason: Schema.Literal("Exited", "OutputClosed", "InputClosed", "Overflow", "StreamLost", "Reset", "Closing"),
    detail: Schema.String,
    exit: optional(ProcessExit),
    stderrTail: optional(Schema.String),
    lastFrames
  }
) {
  override get message() {
    return `${where(this)}: the connection is closed: ${this.detail}${
      this.exit === undefined ? "" : ` (the process ${describeExit(this.exit)})`
    }${describeStderr(this.stderrTail)}`
  }
}

/**
 * A deadline passed. `idle` is renewed by progress, `total` is not, `handshake` covers the whole of `open`; `wait` means
 * that the time was over before it could be sent: there was no connection yet, or no turn.
 *
 * @since 0.1.0
 * @category errors
 */
export class RequestTimeout extends Schema.TaggedError<RequestTimeout>("@mcp-runtime/core/RequestTimeout")(
  "RequestTimeout",
  {
    ...common,
    kind: Schema.Literal("idle", "total", "handshake", "send", "wait"),
    millis: Schema.Number,
    detail: optional(Schema.String),
    stderrTail: optional(Schema.String),
    lastFrames
  }
) {
  override get message() {
    return `${where(this)}: ${this.kind === "wait" ? "could not be sent" : "no answer"} within ${this.millis} ms${
      this.kind === "wait" ? "" : ` (${this.kind} time-out)`
    }${this.detail === undefined ? "" : `: ${this.detail}`}${describeStderr(this.stderrTail)}`
  }
}

/**
 * The session id we sent is not known to the server any more. The request was not executed.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionExpired extends Schema.TaggedError<SessionExpired>("@mcp-runtime/core/SessionExpired")(
  "SessionExpired",
  {
    ...common,
    status: Schema.Number
  }
) {
  override get message() {
    return `${where(this)}: the server has forgotten this session (HTTP ${this.status})`
  }
}

/** Messages end in logs; what is in the query of such a page is for the person alone. */
const visiting = (authorizationUrl: string | undefined): string =>
  authorizationUrl === undefined
    ? ""
    : `; a person has to visit ${displayUrl(authorizationUrl)} (authorizationUrl of this error has it in full)`

/**
 * HTTP 401: credentials are missing or were rejected. The request was not executed. `authorizationUrl` is the page that a
 * person has to visit, where that would help (the message has it without its query); `detail` says why we could not get
 * credentials.
 *
 * @since 0.1.0
 * @category errors
 */
export class Unauthorized extends Schema.TaggedError<Unauthorized>("@mcp-runtime/core/Unauthorized")("Unauthorized", {
  ...common,
  challenge: optional(Schema.String),
  authorizationUrl: optional(Schema.String),
  detail: optional(Schema.String)
}) {
  override get message() {
    return `${where(this)}: the server asks for credentials (HTTP 401)${
      this.detail === undefined ? "" : `: ${this.detail}`
    }${visiting(this.authorizationUrl)}${this.challenge === undefined ? "" : `; challenge: ${this.challenge}`}`
  }
}

/**
 * HTTP 403: the credentials do not allow this. The request was not executed. `authorizationUrl` is the page on which a
 * person can allow more.
 *
 * @since 0.1.0
 * @category errors
 */
export class Forbidden extends Schema.TaggedError<Forbidden>("@mcp-runtime/core/Forbidden")("Forbidden", {
  ...common,
  challenge: optional(Schema.String),
  scope: optional(Schema.String),
  authorizationUrl: optional(Schema.String),
  body: Schema.String
}) {
  override get message() {
    return `${where(this)}: the server forbids this (HTTP 403)${
      this.scope === undefined ? "" : `; it asks for the scope "${this.scope}"`
    }${visiting(this.authorizationUrl)}${this.body === "" ? "" : `: ${this.body}`}`
  }
}

/**
 * Any other HTTP status that is not a success. `body` is a bounded excerpt; `code` and `data` are those of a JSON-RPC
 * error in the body.
 *
 * @since 0.1.0
 * @category errors
 */
export class HttpError extends Schema.TaggedError<HttpError>("@mcp-runtime/core/HttpError")("HttpError", {
  ...common,
  status: Schema.Number,
  retryAfterMillis: optional(Schema.Number),
  location: optional(Schema.String),
  body: Schema.String,
  code: optional(Schema.Number),
  data: optional(Schema.Unknown)
}) {
  override get message() {
    return `${where(this)}: HTTP ${this.status}${
      this.location === undefined ? "" : `: the redirect to ${this.location} was not followed`
    }${this.retryAfterMillis === undefined ? "" : ` (retry after ${this.retryAfterMillis} ms)`}${
      this.body === "" ? "" : `: ${this.body}`
    }`
  }
}

/**
 * The request was delivered, but its response will never come.
 *
 * @since 0.1.0
 * @category errors
 */
export class ResponseLost extends Schema.TaggedError<ResponseLost>("@mcp-runtime/core/ResponseLost")("ResponseLost", {
  ...common,
  reason: Schema.Literal("Accepted", "Ended", "Broken", "Unanswered", "ResumeFailed"),
  detail: Schema.String,
  lastFrames
}) {
  override get message() {
    return `${where(this)}: the response was lost: ${this.detail}`
  }
}

/**
 * The peer does not speak the protocol: not JSON, not JSON-RPC, a wrong content type, a repeated cursor.
 *
 * @since 0.1.0
 * @category errors
 */
export class ProtocolViolation extends Schema.TaggedError<ProtocolViolation>("@mcp-runtime/core/ProtocolViolation")(
  "ProtocolViolation",
  {
    ...common,
    detail: Schema.String,
    lastFrames
  }
) {
  override get message() {
    return `${where(this)}: the server breaks the protocol: ${this.detail}`
  }
}

/**
 * The server answered, but its result does not have the shape that the protocol asks for. It was executed.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidResult extends Schema.TaggedError<InvalidResult>("@mcp-runtime/core/InvalidResult")(
  "InvalidResult",
  {
    ...common,
    detail: Schema.String,
    result: optional(Schema.Unknown),
    lastFrames
  }
) {
  override get message() {
    return `${where(this)}: the result is malformed: ${this.detail}`
  }
}

/**
 * The server answered with a JSON-RPC error. Code, message and data are the server's.
 *
 * @since 0.1.0
 * @category errors
 */
export class RemoteError extends Schema.TaggedError<RemoteError>("@mcp-runtime/core/RemoteError")("RemoteError", {
  ...common,
  code: Schema.Number,
  reason: Schema.String,
  data: optional(Schema.Unknown)
}) {
  override get message() {
    return `${where(this)}: the server answered with error ${this.code}: ${this.reason}`
  }
}

/**
 * The server wants the user to visit URLs before it does this. The request was not executed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ElicitationRequired
  extends Schema.TaggedError<ElicitationRequired>("@mcp-runtime/core/ElicitationRequired")("ElicitationRequired", {
    ...common,
    reason: Schema.String,
    elicitations: Schema.Array(
      Schema.Struct({ elicitationId: Schema.String, url: Schema.String, message: Schema.String })
    )
  })
{
  override get message() {
    return `${where(this)}: the user must first visit ${
      this.elicitations.length === 1 ? "a page" : `${this.elicitations.length} pages`
    }: ${this.reason}`
  }
}

/**
 * The server did not announce the capability that this operation needs. Nothing was sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class CapabilityMissing extends Schema.TaggedError<CapabilityMissing>("@mcp-runtime/core/CapabilityMissing")(
  "CapabilityMissing",
  {
    ...common,
    capability: Schema.String
  }
) {
  override get message() {
    return `${where(this)}: the server does not announce the capability "${this.capability}"`
  }
}

/**
 * A bound was reached. Each has an option that raises it.
 *
 * @since 0.1.0
 * @category errors
 */
export class LimitExceeded extends Schema.TaggedError<LimitExceeded>("@mcp-runtime/core/LimitExceeded")(
  "LimitExceeded",
  {
    ...common,
    limit: Schema.String,
    max: Schema.Number
  }
) {
  override get message() {
    return `${where(this)}: the limit "${this.limit}" of ${this.max} was exceeded`
  }
}

/**
 * A task of the server ended without a result.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskFailed extends Schema.TaggedError<TaskFailed>("@mcp-runtime/core/TaskFailed")("TaskFailed", {
  ...common,
  taskId: Schema.String,
  status: Schema.Literal("failed", "cancelled", "expired"),
  detail: Schema.String
}) {
  override get message() {
    return `${where(this)}: task ${this.taskId} ${
      this.status === "expired" ? "has expired" : this.status === "failed" ? "failed" : "was cancelled"
    }${this.detail === "" ? "" : `: ${this.detail}`}`
  }
}

/**
 * The arguments of a tool call are not what the tool asks for. Nothing was sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class ArgumentsInvalid extends Schema.TaggedError<ArgumentsInvalid>("@mcp-runtime/core/ArgumentsInvalid")(
  "ArgumentsInvalid",
  {
    ...common,
    tool: Schema.String,
    problems: Schema.Array(Schema.Struct({ field: Schema.String, problem: Schema.String })),
    detail: optional(Schema.UndefinedOr(Schema.String))
  }
) {
  override get message() {
    return `${where(this)}: the arguments of "${this.tool}" are invalid: ${
      this.problems.map((_) => `${_.field}: ${_.problem}`).join("; ")
    }${this.detail === undefined ? "" : ` (${this.detail})`}`
  }
}

/**
 * The server has no such tool (any more). Nothing was sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolNotFound extends Schema.TaggedError<ToolNotFound>("@mcp-runtime/core/ToolNotFound")("ToolNotFound", {
  ...common,
  tool: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${where(this)}: there is no tool "${this.tool}": ${this.detail}`
  }
}

/**
 * There is no connection, and none is tried now: it is disabled, it was closed for good, or its server keeps crashing.
 * Nothing was sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class ConnectionUnavailable
  extends Schema.TaggedError<ConnectionUnavailable>("@mcp-runtime/core/ConnectionUnavailable")(
    "ConnectionUnavailable",
    {
      ...common,
      reason: Schema.Literal("Disabled", "Released", "CrashLoop"),
      detail: Schema.String,
      retryAfterMillis: optional(Schema.Number)
    }
  )
{
  override get message() {
    return `${where(this)}: there is no connection${
      this.retryAfterMillis === undefined ? "" : `, and the next try is possible in ${this.retryAfterMillis} ms`
    }: ${this.detail}`
  }
}

const unknownOutcomes = Schema.Union(
  ConnectionClosed,
  RequestTimeout,
  HttpError,
  ResponseLost,
  ProtocolViolation
)

/**
 * The request was sent, and whether it was executed can't be known. It was not sent again, because it could have run
 * twice. `error` is what happened.
 *
 * @since 0.1.0
 * @category errors
 */
export class OutcomeUnknown extends Schema.TaggedError<OutcomeUnknown>("@mcp-runtime/core/OutcomeUnknown")(
  "OutcomeUnknown",
  { ...common, error: unknownOutcomes }
) {
  override get message() {
    return `${
      where(this)
    }: the outcome is unknown: it may have been executed, so it was not sent again. ${this.error.message}`
  }
}

/**
 * The tool ran, and what it answered does not fit its own output schema. `result` is what it answered. It is not called again.
 *
 * @since 0.1.0
 * @category errors
 */
export class OutputInvalid extends Schema.TaggedError<OutputInvalid>("@mcp-runtime/core/OutputInvalid")(
  "OutputInvalid",
  {
    ...common,
    tool: Schema.String,
    problems: Schema.Array(Schema.Struct({ field: Schema.String, problem: Schema.String })),
    result: Schema.Unknown
  }
) {
  override get message() {
    return `${where(this)}: "${this.tool}" has run, and its answer does not fit its output schema: ${
      this.problems.map((_) => `${_.field}: ${_.problem}`).join("; ")
    }`
  }
}

/**
 * The tool ran and says itself that it has failed. A value, unless errors of tools are wished to be errors. `result` is what
 * it answered.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolFailed extends Schema.TaggedError<ToolFailed>("@mcp-runtime/core/ToolFailed")("ToolFailed", {
  ...common,
  tool: Schema.String,
  detail: Schema.String,
  result: Schema.Unknown
}) {
  override get message() {
    return `${where(this)}: "${this.tool}" has run, and says that it has failed: ${this.detail}`
  }
}

/**
 * The application could not say what is to be sent along with a call, so it was not sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class MetaFailed extends Schema.TaggedError<MetaFailed>("@mcp-runtime/core/MetaFailed")("MetaFailed", {
  ...common,
  tool: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${where(this)}: the metadata of the call of "${this.tool}" could not be had: ${this.detail}`
  }
}

/**
 * A connection did not close in order. What it held is ended by force or by itself, at the latest after the bounds of its
 * transport; the server can be connected again.
 *
 * @since 0.1.0
 * @category errors
 */
export class CloseFailed extends Schema.TaggedError<CloseFailed>("@mcp-runtime/core/CloseFailed")("CloseFailed", {
  ...common,
  detail: Schema.String
}) {
  override get message() {
    return `${where(this)}: ${this.detail}`
  }
}

/**
 * No server of this name is configured.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnknownServer extends Schema.TaggedError<UnknownServer>("@mcp-runtime/core/UnknownServer")(
  "UnknownServer",
  {
    ...common,
    configured: Schema.Array(Schema.String)
  }
) {
  override get message() {
    return `${where(this)}: no server of this name is configured; ${
      this.configured.length === 0 ? "none is" : `these are: ${this.configured.map((_) => `"${_}"`).join(", ")}`
    }`
  }
}

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
      : `${first.message} (and ${others.length} more: ${others.map((_) => `"${_.server}" ${_._tag}`).join(", ")})`
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
export const isMcpError: (u: unknown) => u is McpError = Schema.is(McpError)

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

/** Each start of a run of letters is tried once, so that a long text without URLs costs its length and no more. */
const urlish = /(?<![a-z0-9+.-])([0-9+.-]*)([a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+)/gi

// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g

/**
 * A URL that can be shown: without user, password, query and fragment, which may hold secrets.
 *
 * @since 0.1.0
 * @category redaction
 */
export const displayUrl = (url: string): string => {
  try {
    const parsed = new URL(url)
    return `${parsed.protocol}//${parsed.host}${parsed.pathname}`
  } catch {
    return "<not a URL>"
  }
}

/**
 * A text from outside that can be shown: bounded, without control characters, its URLs reduced by `displayUrl`.
 *
 * @since 0.1.0
 * @category redaction
 */
export const displayText = (text: string, max: number): string => {
  const kept = text.length > max ? text.slice(0, max) : text
  // A URL that the bound cuts could show its password as its host.
  const shown = kept.replace(controls, " ").replace(
    urlish,
    (match: string, before: string, url: string, at: number, whole: string) =>
      before + (kept !== text && at + match.length === whole.length ? "<cut URL>" : displayUrl(url))
  )
  return kept === text ? shown.trim() : `${shown.trimStart()}... (${text.length - max} more characters)`
}
