/**
 * What stands between an application and a connection: the configuration, the start of a server, the handshake, the end.
 *
 * Owns: the errors of this kind.
 * May not touch: requests.
 */
import * as Schema from "effect/Schema"
import { todo } from "./advice.js"
import {
  common,
  describeExit,
  describeStderr,
  lastFrames,
  optional,
  problems,
  processExit,
  shownProblems,
  shownServer,
  where
} from "./facts.js"

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
    problems
  }
) {
  override get message() {
    return `${where(this)}: ${isOfConfiguration(this) ? "the configuration is invalid" : "invalid input"}: ${
      shownProblems(this.problems)
    }`
  }
}

/** A session takes no input but its configuration. */
export const isOfConfiguration = ({ operation }: { readonly operation: string }): boolean =>
  operation === "configure" || operation === "open"

/**
 * What an error is about when it is told to who asked for this operation: that, unless it is the configuration, which is no
 * mistake in a request, whoever asks.
 */
export const operationFor = (
  error: { readonly _tag: string; readonly operation: string },
  operation: string
): string =>
  error._tag === ConfigInvalid._tag && isOfConfiguration(error) && !isOfConfiguration({ operation })
    ? error.operation
    : operation

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
    return `${where(this)}: could not start "${this.command}": ${this.detail}${todo(this)}`
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
    return `${where(this)}: could not connect to ${this.url}: ${this.detail}${todo(this)}`
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
    exit: optional(processExit),
    stderrTail: optional(Schema.String),
    code: optional(Schema.Number),
    data: optional(Schema.Unknown),
    lastFrames
  }
) {
  override get message() {
    return `${where(this)}: the handshake failed: ${this.detail}${
      this.exit === undefined ? "" : ` (the process ${describeExit(this.exit)})`
    }${todo(this)}${describeStderr(this.stderrTail)}`
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
    }; this client supports ${this.supported.join(", ")}${todo(this)}`
  }
}

/**
 * There is no connection that could be used: it is disabled, it was closed for good, its server keeps crashing, or, for a toolset,
 * is just being connected. Nothing was sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class ConnectionUnavailable
  extends Schema.TaggedError<ConnectionUnavailable>("@mcp-runtime/core/ConnectionUnavailable")(
    "ConnectionUnavailable",
    {
      ...common,
      reason: Schema.Literal("Disabled", "Released", "CrashLoop", "Connecting"),
      detail: Schema.String,
      retryAfterMillis: optional(Schema.Number)
    }
  )
{
  override get message() {
    return `${where(this)}: there is no connection${
      this.retryAfterMillis === undefined ? "" : `, and the next try is possible in ${this.retryAfterMillis} ms`
    }: ${this.detail}${todo(this)}`
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
    return `${where(this)}: ${this.detail}${todo(this)}`
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
      this.configured.length === 0
        ? "none is"
        : `these are: ${this.configured.map((_) => `"${shownServer(_)}"`).join(", ")}`
    }${todo(this)}`
  }
}
