/**
 * Why a call is not made.
 *
 * Owns: which error says so, and whom it is about. Nothing has run.
 */
import * as McpError from "../../McpError.js"
import type { ServerStatus } from "../../McpManager.js"
import type { PendingApproval } from "../../ToolApproval.js"
import type { ToolIdentity } from "../../ToolNaming.js"
import type { AgentTool } from "../../Toolset.js"
import * as Errors from "../engine/errors.js"
import { owners } from "../errors/owners.js"
import { isObject } from "../protocol/json.js"

/** A tool, by its name or by what tells it. */
export type Asked = string | ToolIdentity

/** Nobody's types hold for what a model has written, or a store kept. */
export const isAsked = (asked: Asked): boolean =>
  typeof asked === "string" ||
  (isObject(asked) && typeof asked.server === "string" && typeof asked.tool === "string")

export const gone = (tool: AgentTool): McpError.ToolNotFound =>
  new McpError.ToolNotFound({
    server: tool.server,
    operation: "tools/call",
    executed: "no",
    tool: McpError.displayName(tool.tool),
    detail: "its server does not list it any more"
  })

/** It was decided about twice, and was another one each time. */
export const changing = (tool: AgentTool): McpError.ToolNotFound =>
  new McpError.ToolNotFound({
    server: tool.server,
    operation: "tools/call",
    executed: "no",
    tool: McpError.displayName(tool.tool),
    detail: "its server changes it while it is decided about"
  })

/** The application did not say what is to be sent along with it. */
export const withoutMeta = (tool: AgentTool, why: string): McpError.MetaFailed =>
  new McpError.MetaFailed({
    server: tool.server,
    operation: "tools/call",
    executed: "no",
    tool: McpError.displayName(tool.tool),
    detail: `the function that gives it ${why}; the tool was not called`
  })

/** Its `maxTotal` was over before it could be sent. */
export const late = (
  asked: Asked,
  millis: number,
  executed: McpError.Executed = "no"
): McpError.RequestTimeout =>
  new McpError.RequestTimeout({
    server: ownerOf(asked),
    operation: "tools/call",
    executed,
    kind: "wait",
    millis,
    detail: "what comes before it has taken all of this time"
  })

/** What a name means is for the toolset to say. */
const ownerOf = (asked: Asked): string =>
  typeof asked === "string" ? owners.toolset : McpError.displayName(asked.server)

/** Nothing is known of any tool any more. */
export const ended = (
  asked: Asked,
  { detail, reason }: McpError.ConnectionUnavailable
): McpError.ConnectionUnavailable => unavailable(ownerOf(asked), reason, detail)

/** Its server is not there for the moment; nothing where that is not why. */
export const away = ({ error, name, phase }: ServerStatus): McpError.McpError | undefined => {
  switch (phase) {
    case "connecting":
      return unavailable(name, "Connecting", "it is being connected")
    case "disabled":
    case "disconnected":
      return unavailable(name, "Disabled", `it is ${phase}`)
    default:
      return error && Errors.about(error, "tools/call", "no")
  }
}

const unavailable = (
  server: string,
  reason: McpError.ConnectionUnavailable["reason"],
  detail: string
): McpError.ConnectionUnavailable =>
  new McpError.ConnectionUnavailable({ server, operation: "tools/call", executed: "no", reason, detail })

/** The same for a tool that does not exist and for one that is not shown. */
export const notFound = (asked: Asked, detail = "it is not among the tools that may be used"): McpError.ToolNotFound =>
  new McpError.ToolNotFound({
    server: ownerOf(asked),
    operation: "tools/call",
    executed: "no",
    tool: McpError.displayName(typeof asked === "string" ? asked : asked.tool),
    detail
  })

/** What is done where an approval can't be used. */
export const approving = "approve"

export const unusable = (pending: PendingApproval, problem: string): McpError.ConfigInvalid =>
  new McpError.ConfigInvalid({
    server: isObject(pending) && typeof pending.server === "string"
      ? McpError.displayName(pending.server)
      : owners.pendingApproval,
    operation: approving,
    executed: "no",
    problems: [{ field: "pending", problem }]
  })
