/**
 * The two classes that scripts and the server share.
 *
 * Owns: what a handler may answer with. May not touch: sessions.
 */
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as Data from "effect/Data"

export class RpcError extends Data.TaggedError("RpcError")<{
  readonly code: number
  readonly message: string
  readonly data?: unknown
}> {}

export class Reply extends Data.TaggedClass("Reply")<{
  readonly messages: (id: McpProtocol.RequestId) => ReadonlyArray<unknown>
}> {}
