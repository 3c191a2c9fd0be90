/**
 * What can happen to a request on its way, until there is an answer.
 *
 * Owns: the errors of this kind.
 * May not touch: what an answer says.
 */
import * as Schema from "effect/Schema"
import { todo } from "./advice.js"
import { displayUrl } from "./display.js"
import { common, describeExit, describeStderr, lastFrames, optional, processExit, where } from "./facts.js"

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
    exit: optional(processExit),
    stderrTail: optional(Schema.String),
    lastFrames
  }
) {
  override get message() {
    return `${where(this)}: the connection is closed: ${this.detail}${
      this.exit === undefined ? "" : ` (the process ${describeExit(this.exit)})`
    }${todo(this)}${describeStderr(this.stderrTail)}`
  }
}

/**
 * A deadline passed. `idle` is renewed by progress, `total` is not, `handshake` covers the whole of `open`; `wait` means
 * that the time was over before it could be sent: there was no connection yet, no turn, or no socket that was free.
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
    }${this.detail === undefined ? "" : `: ${this.detail}`}${todo(this)}${describeStderr(this.stderrTail)}`
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
    return `${where(this)}: the server has forgotten this session (HTTP ${this.status})${todo(this)}`
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
    }${visiting(this.authorizationUrl)}${this.challenge === undefined ? "" : `; challenge: ${this.challenge}`}${
      todo(this)
    }`
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
    }${visiting(this.authorizationUrl)}${this.body === "" ? "" : `: ${this.body}`}${todo(this)}`
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
    }${todo(this)}`
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
    return `${where(this)}: the response was lost: ${this.detail}${todo(this)}`
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
    return `${where(this)}: the server breaks the protocol: ${this.detail}${todo(this)}`
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
    const advice = todo(this)
    // Where the error inside gives the same advice, it is said once.
    return `${where(this)}: the outcome is unknown: it may have been executed, so it was not sent again${advice}. ${
      this.error.message.replace(advice, "")
    }`
  }
}
