/**
 * What a tool has answered.
 *
 * Owns: whether it is what the tool promises, and whether a failure of the tool is a failure of the call. The call has run: whatever
 * is wrong with the answer, it is not made again.
 */
import * as Effect from "effect/Effect"
import * as JsonSchema from "../../JsonSchema.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { AgentTool } from "../../Toolset.js"
import { isText } from "./content.js"
import { text } from "./output.js"

export interface Wishes {
  readonly validate: boolean
  readonly onToolError: "value" | "fail"
}

export const judge = (
  tool: AgentTool,
  result: McpProtocol.CallToolResult,
  { onToolError, validate }: Wishes
): Effect.Effect<McpProtocol.CallToolResult, McpError.McpError> => {
  if (result.isError === true) {
    return onToolError === "value" ? Effect.succeed(result) : Effect.fail(
      new McpError.ToolFailed({
        ...where(tool),
        detail: McpError.displayText(text(result), 2000),
        result
      })
    )
  }
  const { outputSchema } = tool.definition
  if (!validate || outputSchema === undefined) return Effect.succeed(result)
  if (result.structuredContent === undefined) {
    return Effect.fail(outputInvalid(tool, result, [{ field: "structuredContent", problem: "is missing" }]))
  }
  const validation = JsonSchema.compile(outputSchema).validate(result.structuredContent)
  switch (validation._tag) {
    case "Valid":
      return Effect.succeed(result)
    case "Invalid":
      return Effect.fail(outputInvalid(
        tool,
        result,
        validation.problems.map(({ path, problem }) => ({
          field: path === "" ? "structuredContent" : `structuredContent.${path}`,
          problem
        }))
      ))
    case "Unknown":
      return Effect.as(
        Effect.annotateLogs(
          Effect.logDebug(
            `the output of "${McpError.displayText(tool.tool, 128)}" was not checked: ${validation.reason}`
          ),
          "mcp.server",
          tool.server
        ),
        result
      )
  }
}

/** Whether a result is what servers of the usual kinds answer for a tool that they do not have, or not any more. */
export const saysUnknown = (result: McpProtocol.CallToolResult): boolean => {
  if (result.isError !== true) return false
  const [first] = result.content
  return first !== undefined && isText(first) && unknownTool.test(first.text.slice(0, 1000))
}

const unknownTool = /\bunknown tool\b|\btool\b.*\b(?:not found|disabled)\b/i

const where = (tool: AgentTool) => ({
  server: tool.server,
  operation: "tools/call",
  executed: "yes" as const,
  tool: McpError.displayText(tool.tool, 256)
})

const outputInvalid = (
  tool: AgentTool,
  result: McpProtocol.CallToolResult,
  problems: ReadonlyArray<McpError.ConfigProblem>
): McpError.OutputInvalid => new McpError.OutputInvalid({ ...where(tool), problems, result })
