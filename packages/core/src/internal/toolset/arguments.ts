/**
 * What a model has written as the arguments of a call.
 *
 * Owns: that they are an object that fits the tool, before anything else happens.
 */
import * as Either from "effect/Either"
import * as JsonSchema from "../../JsonSchema.js"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import * as ToolSchema from "../../ToolSchema.js"
import type { AgentTool } from "../../Toolset.js"
import * as Known from "../connection/known.js"

type Checked<A> = Either.Either<A, McpError.ArgumentsInvalid>

const none: McpProtocol.JsonObject = Object.freeze({})

/** The arguments as they go to the server. Where they were written for a `nullable` schema, null stands for what is absent. */
export const read = (tool: AgentTool, input: unknown, nullable: boolean): Checked<McpProtocol.JsonObject> =>
  Either.map(
    objectOf(tool, input),
    (written) => nullable ? ToolSchema.withoutFillIns(tool.definition.inputSchema, written) : written
  )

/** Whether the tool can be called with them: it has what it requires, or, if wished, its whole schema fits. */
export const check = (tool: AgentTool, args: McpProtocol.JsonObject, validate: boolean): Checked<void> => {
  const missing = Known.problem(tool.server, tool.tool, tool.definition, args)
  if (missing !== undefined) return Either.left(missing)
  if (!validate) return Either.void
  const validation = JsonSchema.compile(tool.definition.inputSchema).validate(args)
  return validation._tag !== "Invalid" ? Either.void : Either.left(
    invalid(tool, validation.problems.map(({ path, problem }) => ({ field: fieldOf(path), problem })))
  )
}

/** JSON as text, or a value. */
const objectOf = (tool: AgentTool, input: unknown): Checked<McpProtocol.JsonObject> => {
  if (input === undefined || input === "") return Either.right(none)
  if (typeof input !== "string") {
    return McpProtocol.isObject(input) ? Either.right(input) : Either.left(about(tool, "must be an object"))
  }
  try {
    const parsed: unknown = JSON.parse(input)
    return McpProtocol.isObject(parsed) ? Either.right(parsed) : Either.left(about(tool, "must be a JSON object"))
  } catch {
    return Either.left(about(tool, "is not valid JSON"))
  }
}

const fieldOf = (path: string): string => path === "" ? "arguments" : `arguments.${path}`

const about = (tool: AgentTool, problem: string) => invalid(tool, [{ field: "arguments", problem }])

const invalid = (tool: AgentTool, problems: ReadonlyArray<McpError.ConfigProblem>): McpError.ArgumentsInvalid =>
  new McpError.ArgumentsInvalid({
    server: tool.server,
    operation: "tools/call",
    executed: "no",
    tool: McpError.displayName(tool.tool),
    problems
  })
