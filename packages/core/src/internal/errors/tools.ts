/**
 * What can be wrong with the call of a tool, beside the request that it is.
 *
 * Owns: the errors of this kind.
 * May not touch: who calls.
 */
import * as Schema from "effect/Schema"
import { todo } from "./advice.js"
import { common, optional, problems, shownProblems, shownTool, where } from "./facts.js"

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
    problems,
    detail: optional(Schema.UndefinedOr(Schema.String))
  }
) {
  override get message() {
    return `${where(this)}: the arguments of "${shownTool(this.tool)}" are invalid: ${shownProblems(this.problems)}${
      this.detail === undefined ? "" : ` (${this.detail})`
    }`
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
    return `${where(this)}: there is no tool "${shownTool(this.tool)}": ${this.detail}${todo(this)}`
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
    problems,
    result: Schema.Unknown
  }
) {
  override get message() {
    return `${where(this)}: "${shownTool(this.tool)}" has run, and its answer does not fit its output schema: ${
      shownProblems(this.problems)
    }${todo(this)}`
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
    return `${where(this)}: "${shownTool(this.tool)}" has run, and says that it has failed: ${this.detail}`
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
    return `${where(this)}: the metadata of the call of "${shownTool(this.tool)}" could not be had: ${this.detail}${
      todo(this)
    }`
  }
}
