/**
 * Who asks, and who has to know it.
 */
import type { ToolFilter } from "../../ToolFilter.js"
import { RequestMissing, type ToolRequest } from "../../ToolRequest.js"

/** Whether a value has both: an agent and a run context that are neither `undefined` nor `null`. */
export const isToolRequest = (u: unknown): u is ToolRequest => {
  if (typeof u !== "object" || u === null) return false
  const { agent, runContext } = u as Partial<ToolRequest>
  return agent !== undefined && agent !== null && runContext !== undefined && runContext !== null
}

/** Whether a filter has to know who asks, and this is no request: then `missingRequest` is the answer to the listing. */
export const lacksRequest = (filter: ToolFilter.Any, request: unknown): boolean =>
  filter.needsRequest && !isToolRequest(request)

export const missingRequest = (server: string): RequestMissing =>
  new RequestMissing({ server, operation: "tools/list", executed: "no" })
