/**
 * What the catalogue of a connection says about a tool that is to be called.
 *
 * Owns: what is wrong with the arguments of a call as far as the last listing tells, and whether the tool may run twice.
 * May not touch: listing.
 */
import type * as Catalog from "../../Catalog.js"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"

/** Whether the server calls it harmless to run twice. */
export const isIdempotent = (tool: McpProtocol.Tool | undefined): boolean =>
  tool?.annotations?.readOnlyHint === true || tool?.annotations?.idempotentHint === true

/** Required arguments must be there. */
export const problem = (
  server: string,
  name: string,
  tool: McpProtocol.Tool | undefined,
  args: unknown,
  detail?: string
): McpError.ArgumentsInvalid | undefined => {
  const problems = problemsOf(tool, args)
  return problems.length === 0 ? undefined : new McpError.ArgumentsInvalid({
    server,
    operation: "tools/call",
    executed: "no",
    tool: McpError.displayName(name),
    problems,
    detail
  })
}

/** What is to be said of a tool that was shown before there was a connection, and is not what it was. */
export const changeOf = ({ drift }: Catalog.Snapshot<McpProtocol.Tool>, name: string): string | undefined =>
  drift?.changed.includes(name) === true ? "the server has changed this tool since it was stored" : undefined

export const notFound = (server: string, name: string): McpError.ToolNotFound =>
  new McpError.ToolNotFound({
    server,
    operation: "tools/call",
    executed: "no",
    tool: McpError.displayName(name),
    detail: "it was known from an earlier run, and the server does not list it any more"
  })

const none: ReadonlyArray<McpError.ConfigProblem> = []

const problemsOf = (tool: McpProtocol.Tool | undefined, args: unknown): ReadonlyArray<McpError.ConfigProblem> => {
  if (args !== undefined && !McpProtocol.isObject(args)) {
    return [{ field: "arguments", problem: "must be an object" }]
  }
  const required = tool?.inputSchema.required
  if (!Array.isArray(required)) return none
  let problems: Array<McpError.ConfigProblem> | undefined = undefined
  for (const key of required as ReadonlyArray<unknown>) {
    // What is undefined does not become JSON.
    if (typeof key !== "string" || (args !== undefined && Object.hasOwn(args, key) && args[key] !== undefined)) continue
    problems ??= []
    problems.push({ field: `arguments.${McpError.displayText(key, 128)}`, problem: "is required" })
  }
  return problems ?? none
}
