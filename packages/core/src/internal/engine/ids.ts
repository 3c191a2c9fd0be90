/**
 * The ids of what the server asks.
 *
 * Owns: which of them can be answered.
 */
import type * as McpProtocol from "../../McpProtocol.js"

const longest = 16_384

/** The id of a request waits in its answer, and answers are bounded in their number. */
export const isKeepable = (id: unknown): id is McpProtocol.RequestId =>
  typeof id === "number" || (typeof id === "string" && id.length <= longest)

/** What was written may have been another number: several ids become one, and the answer to one that of another. */
export const isRounded = (id: McpProtocol.RequestId): boolean =>
  typeof id === "number" && Math.abs(id) > Number.MAX_SAFE_INTEGER
