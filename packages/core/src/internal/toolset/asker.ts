/**
 * A filter that has to know who asks.
 */
import type { ToolFilter } from "../../ToolFilter.js"
import { isToolRequest, RequestMissing } from "../../ToolRequest.js"

/** Whether a filter has to know who asks, and this is no request: then `missingRequest` is the answer to the listing. */
export const lacksRequest = (filter: ToolFilter.Any, request: unknown): boolean =>
  filter.needsRequest && !isToolRequest(request)

export const missingRequest = (server: string): RequestMissing =>
  new RequestMissing({ server, operation: "tools/list", executed: "no" })
