/**
 * Each operation of the protocol as a function over a session.
 *
 * Owns: method names, parameters, and what a result must look like.
 * May not touch: how a request is sent.
 */
import type * as Effect from "effect/Effect"
import type * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type { McpSession, RequestOptions } from "../../McpSession.js"
import { withoutNulls } from "../protocol/json.js"
import { listAll } from "./lists.js"
import { type Port, requiring } from "./port.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

type Decoded<A> = { readonly value: A } | { readonly problem: string }

/**
 * Whether the server answers.
 *
 * @since 0.1.0
 * @category operations
 */
export const ping = (session: McpSession, options?: RequestOptions): Effect.Effect<void, McpError.McpError> =>
  session.requestWith("ping", undefined, nothing, options)

/**
 * The complete list of tools.
 *
 * @since 0.1.0
 * @category operations
 */
export const listTools = (
  session: McpSession,
  options?: RequestOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.Tool>, McpError.McpError> =>
  requiring(
    session,
    "tools/list",
    "tools",
    session.info.capabilities.tools,
    listAll(session, "tools/list", "tools", McpProtocol.decodeTool, options)
  )

/**
 * Calls a tool. A result with `isError` is a value: the tool ran and says that it failed.
 *
 * @example
 * ```ts
 * import { McpSession } from "@mcp-runtime/core"
 *
 * const add = (session: McpSession.McpSession, a: number, b: number) =>
 *   McpSession.callTool(session, { name: "add", arguments: { a, b } }, { timeout: "5 seconds" })
 * ```
 *
 * @since 0.1.0
 * @category operations
 */
export const callTool = (
  session: McpSession,
  params: McpProtocol.CallToolParams,
  options?: RequestOptions
): Effect.Effect<McpProtocol.CallToolResult, McpError.McpError> =>
  requiring(
    session,
    "tools/call",
    "tools",
    session.info.capabilities.tools,
    session.requestWith("tools/call", params, decodeCallToolResult, options)
  )

/**
 * The complete list of prompts.
 *
 * @since 0.1.0
 * @category operations
 */
export const listPrompts = (
  session: McpSession,
  options?: RequestOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.Prompt>, McpError.McpError> =>
  requiring(
    session,
    "prompts/list",
    "prompts",
    session.info.capabilities.prompts,
    listAll(session, "prompts/list", "prompts", McpProtocol.decodePrompt, options)
  )

/**
 * A prompt, with its arguments filled in by the server.
 *
 * @since 0.1.0
 * @category operations
 */
export const getPrompt = (
  session: McpSession,
  params: McpProtocol.GetPromptParams,
  options?: RequestOptions
): Effect.Effect<McpProtocol.GetPromptResult, McpError.McpError> =>
  requiring(
    session,
    "prompts/get",
    "prompts",
    session.info.capabilities.prompts,
    session.requestWith("prompts/get", params, decodeGetPromptResult, options)
  )

/**
 * The complete list of resources.
 *
 * @since 0.1.0
 * @category operations
 */
export const listResources = (
  session: McpSession,
  options?: RequestOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.Resource>, McpError.McpError> =>
  requiring(
    session,
    "resources/list",
    "resources",
    session.info.capabilities.resources,
    listAll(session, "resources/list", "resources", McpProtocol.decodeResource, options)
  )

/**
 * The complete list of resource templates. A server that has resources and does not know this request has none.
 *
 * @since 0.1.0
 * @category operations
 */
export const listResourceTemplates = (
  session: McpSession,
  options?: RequestOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.ResourceTemplate>, McpError.McpError> =>
  requiring(
    session,
    "resources/templates/list",
    "resources",
    session.info.capabilities.resources,
    listAll(
      session,
      "resources/templates/list",
      "resourceTemplates",
      McpProtocol.decodeResourceTemplate,
      options
    )
  )

/**
 * The contents of a resource.
 *
 * @since 0.1.0
 * @category operations
 */
export const readResource = (
  session: McpSession,
  uri: string,
  options?: RequestOptions
): Effect.Effect<McpProtocol.ReadResourceResult, McpError.McpError> =>
  requiring(
    session,
    "resources/read",
    "resources",
    session.info.capabilities.resources,
    session.requestWith("resources/read", { uri }, decodeReadResourceResult, options)
  )

/**
 * Asks to be told when a resource changes: `notifications/resources/updated` arrives on `incoming`.
 *
 * @since 0.1.0
 * @category operations
 */
export const subscribe = (
  session: McpSession,
  uri: string,
  options?: RequestOptions
): Effect.Effect<void, McpError.McpError> => subscription(session, "resources/subscribe", uri, options)

/**
 * The opposite of `subscribe`.
 *
 * @since 0.1.0
 * @category operations
 */
export const unsubscribe = (
  session: McpSession,
  uri: string,
  options?: RequestOptions
): Effect.Effect<void, McpError.McpError> => subscription(session, "resources/unsubscribe", uri, options)

const subscription = (session: Port, method: string, uri: string, options?: RequestOptions): Result<void> =>
  requiring(
    session,
    method,
    "resources.subscribe",
    session.info.capabilities.resources?.subscribe,
    session.requestWith(method, { uri }, nothing, options)
  )

/**
 * Suggestions for the value of an argument of a prompt or of a resource template.
 *
 * @since 0.1.0
 * @category operations
 */
export const complete = (
  session: McpSession,
  params: McpProtocol.CompleteParams,
  options?: RequestOptions
): Effect.Effect<McpProtocol.CompleteResult, McpError.McpError> =>
  requiring(
    session,
    "completion/complete",
    "completions",
    completionsOf(session),
    session.requestWith("completion/complete", params, decodeCompleteResult, options)
  )

/** Before this revision there was no capability of this name: who had prompts or resources could complete for them. */
const announcesCompletions = "2025-03-26"

const completionsOf = ({ info: { capabilities, protocolVersion } }: Port): unknown => {
  const { completions, prompts, resources } = capabilities
  return completions ?? (protocolVersion < announcesCompletions ? prompts ?? resources : undefined)
}

/**
 * From which level on the server sends log messages.
 *
 * @since 0.1.0
 * @category operations
 */
export const setLogLevel = (
  session: McpSession,
  level: McpProtocol.LogLevel,
  options?: RequestOptions
): Effect.Effect<void, McpError.McpError> =>
  requiring(
    session,
    "logging/setLevel",
    "logging",
    session.info.capabilities.logging,
    session.requestWith("logging/setLevel", { level }, nothing, options)
  )

/**
 * Tells the server that the roots have changed. Not needed where the roots handler has `changes`.
 *
 * @since 0.1.0
 * @category operations
 */
export const sendRootsChanged = (session: McpSession): Effect.Effect<void, McpError.McpError> =>
  session.notify("notifications/roots/list_changed")

const nothing = (): Decoded<void> => ({ value: undefined })

const hasType = (u: unknown): boolean => McpProtocol.isObject(u) && typeof u.type === "string"

/** Servers leave `content` out beside structured content; that is an empty list. */
export const decodeCallToolResult = (given: unknown): Decoded<McpProtocol.CallToolResult> => {
  if (!McpProtocol.isObject(given)) return { problem: "the result is not an object" }
  const result = withoutNulls(given)
  const { content, isError, structuredContent } = result
  if (content !== undefined && (!Array.isArray(content) || !content.every(hasType))) {
    return { problem: `"content" is not a list of content blocks` }
  }
  if (isError !== undefined && typeof isError !== "boolean") return { problem: `"isError" is not a truth value` }
  if (structuredContent !== undefined && !McpProtocol.isObject(structuredContent)) {
    return { problem: `"structuredContent" is not an object` }
  }
  return { value: (content === undefined ? Object.freeze({ ...result, content: [] }) : result) as never }
}

const decodeGetPromptResult = (result: unknown): Decoded<McpProtocol.GetPromptResult> =>
  McpProtocol.isObject(result) && Array.isArray(result.messages) &&
    result.messages.every((_) => McpProtocol.isObject(_) && hasType(_.content))
    ? { value: result as unknown as McpProtocol.GetPromptResult }
    : { problem: `"messages" is not a list of messages` }

const decodeReadResourceResult = (result: unknown): Decoded<McpProtocol.ReadResourceResult> =>
  McpProtocol.isObject(result) && Array.isArray(result.contents) &&
    result.contents.every((_) => McpProtocol.isObject(_) && typeof _.uri === "string")
    ? { value: result as unknown as McpProtocol.ReadResourceResult }
    : { problem: `"contents" is not a list of resource contents` }

const decodeCompleteResult = (result: unknown): Decoded<McpProtocol.CompleteResult> => {
  const completion = McpProtocol.isObject(result) ? result.completion : undefined
  return McpProtocol.isObject(completion) && Array.isArray(completion.values) &&
      completion.values.every((_) => typeof _ === "string")
    ? { value: completion as unknown as McpProtocol.CompleteResult }
    : { problem: `"completion.values" is not a list of texts` }
}
