/**
 * What the tests of calls share: a toolset over servers whose calls are counted, and how a call ended, in few words.
 */
import { assert } from "@effect/vitest"
import { type McpError, type McpProtocol, type ToolApproval } from "@mcp-runtime/core"
import type * as Toolset from "@mcp-runtime/core/Toolset"
import { Cause, Effect, Exit } from "effect"
import { type Server } from "./kit.js"

/** Of a toolset for anybody. */
export type Options = Toolset.ToolsetOptions<unknown, never, unknown>

/** In few words: what the tool said, or which error the model was told of. */
export const told = <A>(result: Toolset.ToolResult<A>): string => {
  switch (result._tag) {
    case "Success": {
      const [first] = result.result.content
      return first?.type === "text" ? (first as McpProtocol.TextContent).text : "Success"
    }
    case "Failure":
      return `Failure ${result.error._tag}`
    case "Rejected":
      return `Rejected ${result.reason}`
  }
}

/** The same of any end. */
export const end = <A, E>(exit: Exit.Exit<Toolset.ToolResult<A>, E>): string => {
  if (Exit.isSuccess(exit)) return told(exit.value)
  const failure = Cause.failureOption(exit.cause)
  if (failure._tag === "Some") return `error ${(failure.value as { readonly _tag: string })._tag}`
  return Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "defect"
}

/** How it ends, in few words. */
export const ending = <A, E, R>(call: Effect.Effect<Toolset.ToolResult<A>, E, R>): Effect.Effect<string, never, R> =>
  Effect.map(Effect.exit(call), end)

/** The error that the model was told of, with what it was told. */
export const failed = <A, E, R>(call: Effect.Effect<Toolset.ToolResult<A>, E, R>) =>
  Effect.map(call, (result) => {
    assert(result._tag === "Failure", `it should have failed, and is ${result._tag}`)
    return result
  })

export const succeeded = <A, E, R>(call: Effect.Effect<Toolset.ToolResult<A>, E, R>) =>
  Effect.map(call, (result) => {
    assert(result._tag === "Success", `it should have succeeded: ${told(result)}`)
    return result
  })

/** `"arguments.text: is required"` */
export const problemsOf = (error: McpError.McpError): string => {
  assert(
    error._tag === "ArgumentsInvalid" || error._tag === "OutputInvalid" || error._tag === "ConfigInvalid",
    error._tag
  )
  return error.problems.map(({ field, problem }) => `${field}: ${problem}`).join("; ")
}

/** What waits for approval. */
export const pendingOf = <A, R>(call: Effect.Effect<Toolset.ToolResult<A>, Toolset.CallError, R>) =>
  Effect.map(Effect.exit(call), (exit): ToolApproval.PendingApproval => {
    assert(Exit.isFailure(exit) && exit.cause._tag === "Fail", `it should need approval: ${end(exit)}`)
    const { error } = exit.cause
    assert(error._tag === "ApprovalRequired", error._tag)
    return error.pending
  })

/** What the server was sent with its calls. */
export const sent = (server: Server) =>
  Effect.map(server.server.receivedOf("tools/call"), (_) => _.map((_) => _.params))

export const sentArguments = (server: Server) => Effect.map(sent(server), (_) => _.map((_) => _.arguments))

export const schema = (
  properties: McpProtocol.JsonObject,
  required: ReadonlyArray<string> = []
): McpProtocol.Tool["inputSchema"] => ({ type: "object", properties, required } as McpProtocol.Tool["inputSchema"])
