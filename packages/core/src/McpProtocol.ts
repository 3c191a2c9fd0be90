/**
 * The names and types of the protocol that the rest uses, and how what a server sent is let in: frozen once at the door,
 * decoded item by item, so that one bad tool never costs the list.
 *
 * Owns: types, constants, lenient decoding, freezing.
 * May not touch: wires, requests, time. Nothing here does I/O or can fail other than by saying what was dropped.
 *
 * @since 0.1.0
 */

/**
 * The protocol revision that `initialize` asks for.
 *
 * @since 0.1.0
 * @category constants
 */
export const latestProtocolVersion = "2025-11-25"

/**
 * Every protocol revision that a session can speak, the newest first.
 *
 * @since 0.1.0
 * @category constants
 */
export const supportedProtocolVersions: ReadonlyArray<string> = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07"
]

/**
 * @since 0.1.0
 * @category JSON-RPC
 */
export type RequestId = string | number

/**
 * A JSON object as it stands on the wire. Frozen when it came from a server.
 *
 * @since 0.1.0
 * @category models
 */
export type JsonObject = { readonly [key: string]: unknown }

/**
 * @since 0.1.0
 * @category JSON-RPC
 */
export interface JsonRpcRequest {
  readonly jsonrpc: "2.0"
  readonly id: RequestId
  readonly method: string
  readonly params?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category JSON-RPC
 */
export interface JsonRpcNotification {
  readonly jsonrpc: "2.0"
  readonly method: string
  readonly params?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category JSON-RPC
 */
export interface JsonRpcResult {
  readonly jsonrpc: "2.0"
  readonly id: RequestId
  readonly result: unknown
}

/**
 * @since 0.1.0
 * @category JSON-RPC
 */
export interface JsonRpcError {
  readonly jsonrpc: "2.0"
  readonly id: RequestId | null
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/**
 * @since 0.1.0
 * @category JSON-RPC
 */
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResult | JsonRpcError

/**
 * The JSON-RPC and MCP error codes with a fixed meaning.
 *
 * @since 0.1.0
 * @category constants
 */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ResourceNotFound: -32002,
  UrlElicitationRequired: -32042
} as const

/**
 * @since 0.1.0
 * @category models
 */
export interface Implementation {
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  readonly websiteUrl?: string | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Icon {
  readonly src: string
  readonly mimeType?: string | undefined
  readonly sizes?: ReadonlyArray<string> | undefined
  readonly theme?: "light" | "dark" | undefined
}

/**
 * What a server announced in its handshake.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerCapabilities {
  readonly experimental?: JsonObject | undefined
  /** By the name of the extension, with its settings. */
  readonly extensions?: JsonObject | undefined
  readonly logging?: JsonObject | undefined
  readonly completions?: JsonObject | undefined
  readonly prompts?: { readonly listChanged?: boolean | undefined } | undefined
  readonly resources?:
    | { readonly subscribe?: boolean | undefined; readonly listChanged?: boolean | undefined }
    | undefined
  readonly tools?: { readonly listChanged?: boolean | undefined } | undefined
  readonly tasks?: {
    readonly list?: JsonObject | undefined
    readonly cancel?: JsonObject | undefined
    readonly requests?: { readonly tools?: { readonly call?: JsonObject | undefined } | undefined } | undefined
  } | undefined
}

/**
 * What we announce in the handshake. Derived from the handlers an application gives; `experimental` and `extensions` are
 * the application's own.
 *
 * @since 0.1.0
 * @category models
 */
export interface ClientCapabilities {
  readonly experimental?: JsonObject | undefined
  readonly extensions?: JsonObject | undefined
  readonly sampling?: JsonObject | undefined
  readonly elicitation?: {
    readonly form?: JsonObject | undefined
    readonly url?: JsonObject | undefined
  } | undefined
  readonly roots?: { readonly listChanged?: boolean | undefined } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolAnnotations {
  readonly title?: string | undefined
  readonly readOnlyHint?: boolean | undefined
  readonly destructiveHint?: boolean | undefined
  readonly idempotentHint?: boolean | undefined
  readonly openWorldHint?: boolean | undefined
}

/**
 * A tool as its server describes it. `inputSchema` and `outputSchema` are kept verbatim.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tool {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject | undefined
  readonly annotations?: ToolAnnotations | undefined
  readonly execution?: { readonly taskSupport?: "required" | "optional" | "forbidden" | undefined } | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PromptArgument {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly required?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Prompt {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly arguments?: ReadonlyArray<PromptArgument> | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Annotations {
  readonly audience?: ReadonlyArray<Role> | undefined
  readonly priority?: number | undefined
  readonly lastModified?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Resource {
  readonly uri: string
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly size?: number | undefined
  readonly annotations?: Annotations | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ResourceTemplate {
  readonly uriTemplate: string
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly annotations?: Annotations | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Role = "user" | "assistant"

/**
 * @since 0.1.0
 * @category content
 */
export interface TextContent {
  readonly type: "text"
  readonly text: string
  readonly annotations?: Annotations | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category content
 */
export interface ImageContent {
  readonly type: "image"
  readonly data: string
  readonly mimeType: string
  readonly annotations?: Annotations | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category content
 */
export interface AudioContent {
  readonly type: "audio"
  readonly data: string
  readonly mimeType: string
  readonly annotations?: Annotations | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category content
 */
export interface ResourceLink extends Resource {
  readonly type: "resource_link"
}

/**
 * @since 0.1.0
 * @category content
 */
export interface EmbeddedResource {
  readonly type: "resource"
  readonly resource: ResourceContents
  readonly annotations?: Annotations | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * A kind of content that this version does not know. Kept as it came.
 *
 * @since 0.1.0
 * @category content
 */
export interface UnknownContent {
  readonly type: string
  readonly [key: string]: unknown
}

/**
 * Whether a block is of a kind that this version knows. Newer servers may send others.
 *
 * @since 0.1.0
 * @category content
 */
export const isKnownContent = (block: ContentBlock | UnknownContent): block is ContentBlock =>
  knownContent.has(block.type)

const knownContent: ReadonlySet<string> = new Set<ContentBlock["type"]>([
  "text",
  "image",
  "audio",
  "resource_link",
  "resource"
])

/**
 * @since 0.1.0
 * @category content
 */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/**
 * The contents of a resource: `text` or base64 in `blob`.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResourceContents {
  readonly uri: string
  readonly mimeType?: string | undefined
  readonly text?: string | undefined
  readonly blob?: string | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * Which tool is called, and with what.
 *
 * @since 0.1.0
 * @category requests
 */
export type CallToolParams = {
  readonly name: string
  readonly arguments?: JsonObject | undefined
}

/**
 * Which prompt is asked for, and what is filled in.
 *
 * @since 0.1.0
 * @category requests
 */
export type GetPromptParams = {
  readonly name: string
  readonly arguments?: { readonly [name: string]: string } | undefined
}

/**
 * For which argument of which prompt or resource template values are to be suggested. `context`: those that are chosen already.
 *
 * @since 0.1.0
 * @category requests
 */
export type CompleteParams = {
  readonly ref:
    | { readonly type: "ref/prompt"; readonly name: string }
    | { readonly type: "ref/resource"; readonly uri: string }
  readonly argument: { readonly name: string; readonly value: string }
  readonly context?: { readonly arguments?: { readonly [name: string]: string } | undefined } | undefined
}

/**
 * What a tool answered. `isError: true` is the tool's own failure, a value and not an error of ours.
 *
 * @since 0.1.0
 * @category results
 */
export interface CallToolResult {
  /** A kind that this version does not know is kept as it came: see `isKnownContent`. */
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: JsonObject | undefined
  readonly isError?: boolean | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category results
 */
export interface PromptMessage {
  readonly role: Role
  readonly content: ContentBlock
}

/**
 * @since 0.1.0
 * @category results
 */
export interface GetPromptResult {
  readonly description?: string | undefined
  readonly messages: ReadonlyArray<PromptMessage>
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category results
 */
export interface ReadResourceResult {
  readonly contents: ReadonlyArray<ResourceContents>
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category results
 */
export interface CompleteResult {
  readonly values: ReadonlyArray<string>
  readonly total?: number | undefined
  readonly hasMore?: boolean | undefined
}

/**
 * One item of a list that was left out, and why.
 *
 * @since 0.1.0
 * @category results
 */
export interface DroppedItem {
  readonly index: number
  readonly name?: string | undefined
  readonly problem: string
}

/**
 * A complete list: every page, without the items that could not be understood, which are in `dropped`.
 *
 * @since 0.1.0
 * @category results
 */
export interface Listing<A> {
  readonly items: ReadonlyArray<A>
  readonly dropped: ReadonlyArray<DroppedItem>
}

/**
 * What a server said in its handshake, and what was settled there.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerInfo {
  readonly implementation: Implementation
  readonly capabilities: ServerCapabilities
  readonly instructions?: string | undefined
  readonly protocolVersion: string
}

/**
 * @since 0.1.0
 * @category logging
 */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency"

/**
 * @since 0.1.0
 * @category logging
 */
export interface LogMessage {
  readonly level: LogLevel
  readonly logger?: string | undefined
  readonly data: unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/**
 * Something the server said unasked.
 *
 * @since 0.1.0
 * @category models
 */
export interface Notification {
  readonly method: string
  readonly params: JsonObject
}

/**
 * @since 0.1.0
 * @category tasks
 */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled"

/**
 * A long-running request on the server, of protocol revision 2025-11-25.
 *
 * @since 0.1.0
 * @category tasks
 */
export interface Task {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string | undefined
  readonly createdAt?: string | undefined
  readonly lastUpdatedAt?: string | undefined
  readonly ttl?: number | null | undefined
  readonly pollInterval?: number | undefined
}

export type {
  ElicitationResult,
  FormElicitation,
  Root,
  SamplingRequest,
  SamplingResult,
  UrlElicitation
} from "./internal/protocol/asked.js"

export {
  type Decoded,
  decodePrompt,
  decodeResource,
  decodeResourceTemplate,
  decodeTask,
  decodeTool
} from "./internal/protocol/decode.js"

export { freeze, isObject, maxDepth } from "./internal/protocol/json.js"
