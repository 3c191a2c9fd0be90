/**
 * What a server answers, or may not be asked.
 *
 * Owns: the errors of this kind.
 * May not touch: what tools are, and how an answer came.
 */
import * as Schema from "effect/Schema"
import { todo } from "./advice.js"
import { common, lastFrames, optional, where } from "./facts.js"

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
    return `${where(this)}: the result is malformed: ${this.detail}${todo(this)}`
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
    return `${where(this)}: the server does not announce the capability "${this.capability}"${todo(this)}`
  }
}

/**
 * A bound was reached. Each has an option that raises it, but for `sendBuffer`: how many messages without an answer may be under way.
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
    return `${where(this)}: the limit "${this.limit}" of ${this.max} was exceeded${todo(this)}`
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
