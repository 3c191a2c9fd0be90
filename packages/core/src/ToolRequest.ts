/**
 * Who asks for tools.
 *
 * Owns: the two values that tell one request from another, and what happens where they are needed and missing.
 * May not touch: what is in them. They are the application's own, and nothing here looks inside.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * An agent, in one of its runs. Filters and policies get both as they are; their types are the application's.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolRequest<out Agent = unknown, out RunContext = unknown> {
  readonly agent: Agent
  readonly runContext: RunContext
}

/**
 * A filter has to know which agent asks in which run, and was not told. Nothing was listed.
 *
 * @since 0.1.0
 * @category errors
 */
export class RequestMissing
  extends Schema.TaggedError<RequestMissing>("@mcp-runtime/core/RequestMissing")("RequestMissing", {
    server: Schema.String,
    operation: Schema.String,
    executed: Schema.Literal("no", "maybe", "yes")
  })
{
  override get message() {
    return `MCP server "${this.server}": ${this.operation}: a dynamic filter needs to know who asks; ` +
      "give an agent and a run context, neither of them undefined or null"
  }
}
