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
import * as Lines from "../telemetry/lines.js"
import { isText } from "./content.js"
import { text } from "./output.js"

export interface Wishes {
  readonly validate: boolean
  readonly onToolError: "value" | "fail"
}

export interface Judgement {
  readonly error?: McpError.McpError
  /** Why the output could not be checked. */
  readonly unchecked?: string
}

const good: Judgement = {}

export const judge = (
  tool: AgentTool,
  result: McpProtocol.CallToolResult,
  { onToolError, validate }: Wishes
): Judgement => {
  if (result.isError === true) {
    return onToolError === "value" ? good : {
      error: new McpError.ToolFailed({ ...where(tool), detail: McpError.displayText(text(result), 2000), result })
    }
  }
  const { outputSchema } = tool.definition
  if (!validate || outputSchema === undefined) return good
  if (result.structuredContent === undefined) {
    return { error: outputInvalid(tool, result, [{ field: "structuredContent", problem: "is missing" }]) }
  }
  const validation = JsonSchema.compile(outputSchema).validate(result.structuredContent)
  switch (validation._tag) {
    case "Valid":
      return good
    case "Invalid": {
      const problems = validation.problems.map(({ path, problem }) => ({
        field: path === "" ? "structuredContent" : `structuredContent.${path}`,
        problem
      }))
      return { error: outputInvalid(tool, result, problems) }
    }
    case "Unknown":
      return { unchecked: validation.reason }
  }
}

export const tell = (tool: AgentTool, unchecked: string): Effect.Effect<void> =>
  Lines.about(tool.server, "tools/call")(
    Effect.logDebug(`the output of "${McpError.displayName(tool.tool, 128)}" was not checked: ${unchecked}`)
  )

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
  tool: McpError.displayName(tool.tool)
})

const outputInvalid = (
  tool: AgentTool,
  result: McpProtocol.CallToolResult,
  problems: ReadonlyArray<McpError.ConfigProblem>
): McpError.OutputInvalid => new McpError.OutputInvalid({ ...where(tool), problems, result })
