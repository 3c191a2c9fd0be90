/**
 * Tools, calls and results as the APIs of models write them.
 *
 * Owns: the shapes of the OpenAI Responses API, of OpenAI chat completions, of the Anthropic Messages API and of the
 * AI SDK of Vercel. They are data: nothing of those systems is imported, and their own types accept what is made here.
 * May not touch: requests to models, the calling of tools. What a model answers is not trusted: reading it never
 * throws.
 *
 * @since 0.1.0
 */
import * as internal from "./internal/toolset/adapters.js"
import type * as McpProtocol from "./McpProtocol.js"
import type * as ToolOutput from "./ToolOutput.js"
import type { ToolResult } from "./Toolset.js"

/**
 * What a model is told of a tool. The tools of a toolset are such.
 *
 * @since 0.1.0
 * @category models
 */
export interface Describable {
  /** Its name for the model. */
  readonly name: string
  readonly title?: string | undefined
  readonly description: string
  readonly inputSchema: McpProtocol.JsonObject
  /** Whether the schema is in the strict subset, so that the model can be held to it. */
  readonly strict: boolean
  readonly outputSchema?: McpProtocol.JsonObject | undefined
  readonly annotations?: McpProtocol.ToolAnnotations | undefined
}

/**
 * A call that a model asks for. Everything that looks like one is here, even without an id, a name or arguments, which
 * are empty texts then: a model wants an answer to each of its calls, and an error is one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly id: string
  /** The name that the model knows. */
  readonly name: string
  /** JSON text, as the model wrote it, or an object. */
  readonly arguments: string | McpProtocol.JsonObject
}

/**
 * What a tool gave: the parts of `ToolOutput.make()`, or a text, such as that of `ToolOutput.text` or of a failure.
 *
 * @since 0.1.0
 * @category models
 */
export type Output = string | ReadonlyArray<ToolOutput.Part>

/**
 * What is told of a call: what the tool gave, or what came of the call in a toolset whose results become such an output.
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = Output | ToolResult<Output>

/**
 * `isError`: the tool said that it failed, or there is a text in the place of its result. Default: what the result of a call
 * says, which is so for every `Failure` and `Rejected` as well; `false` for a mere output.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResultOptions {
  readonly isError?: boolean | undefined
}

/**
 * An API of models: its definitions of tools, the calls in an answer of its models, and its form of a result.
 *
 * `calls` takes an answer or the list in it where calls are, skips everything else, and never throws. `result` names
 * in words what the API does not take as it is, such as audio. It takes what a call gives as it is, and then knows whether that
 * is a failure.
 *
 * @since 0.1.0
 * @category models
 */
export interface Adapter<out Definition, out Result> {
  readonly tools: (tools: Iterable<Describable>) => Array<Definition>
  readonly calls: (answer: unknown) => ReadonlyArray<Call>
  readonly result: (call: Pick<Call, "id" | "name">, outcome: Outcome, options?: ResultOptions) => Result
}

/**
 * The schema of arguments, which these APIs want to be that of an object.
 *
 * @since 0.1.0
 * @category models
 */
export interface ObjectSchema {
  readonly type: "object"
  readonly [key: string]: unknown
}

// ---------------------------------------------------------------------------------------------------------------------
// OpenAI
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A function tool of the Responses API. That API takes `strict` for true where it is absent, so it never is.
 *
 * @since 0.1.0
 * @category OpenAI
 */
export interface OpenAiTool {
  readonly type: "function"
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
  readonly strict: boolean
}

/**
 * @since 0.1.0
 * @category OpenAI
 */
export type OpenAiContent =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string }
  | { readonly type: "input_file"; readonly filename: string; readonly file_data: string }

/**
 * @since 0.1.0
 * @category OpenAI
 */
export interface OpenAiResult {
  readonly type: "function_call_output"
  readonly call_id: string
  readonly output: string | Array<OpenAiContent>
}

/**
 * The OpenAI Responses API. Results may have images (PNG, JPEG, GIF, WebP) and PDF files in them; they are one text
 * where there are none. It has no sign for a failure: the parts of one start with `Error:`, and a text has to say it itself, as
 * those of `ToolFailure`, of rejections and of `ToolOutput.text` do.
 *
 * @example
 * ```ts
 * import { ToolAdapters } from "@mcp-runtime/core"
 *
 * declare const tools: ReadonlyArray<ToolAdapters.Describable>
 *
 * const definitions = ToolAdapters.openAi.tools(tools)
 *
 * const calls = ToolAdapters.openAi.calls({
 *   output: [{ type: "function_call", call_id: "call_1", name: "web__search", arguments: "{\"q\":\"effect\"}" }]
 * })
 * // [{ id: "call_1", name: "web__search", arguments: "{\"q\":\"effect\"}" }]
 *
 * const result = ToolAdapters.openAi.result(calls[0]!, [{ type: "text", text: "3 pages" }])
 * // { type: "function_call_output", call_id: "call_1", output: "3 pages" }
 * ```
 *
 * @since 0.1.0
 * @category OpenAI
 */
export const openAi: Adapter<OpenAiTool, OpenAiResult> = internal.openAi

/**
 * @since 0.1.0
 * @category OpenAI
 */
export interface OpenAiChatTool {
  readonly type: "function"
  readonly function: Omit<OpenAiTool, "type">
}

/**
 * @since 0.1.0
 * @category OpenAI
 */
export interface OpenAiChatResult {
  readonly role: "tool"
  readonly tool_call_id: string
  readonly content: string
}

/**
 * OpenAI chat completions, whose results are text, those of failures as in `openAi`. `calls` takes a message of the assistant, or its `tool_calls`.
 *
 * @since 0.1.0
 * @category OpenAI
 */
export const openAiChat: Adapter<OpenAiChatTool, OpenAiChatResult> = internal.openAiChat

// ---------------------------------------------------------------------------------------------------------------------
// Anthropic
// ---------------------------------------------------------------------------------------------------------------------

/**
 * @since 0.1.0
 * @category Anthropic
 */
export interface AnthropicTool {
  readonly name: string
  readonly description: string
  readonly input_schema: ObjectSchema
}

/**
 * @since 0.1.0
 * @category Anthropic
 */
export type AnthropicContent =
  | { readonly type: "text"; readonly text: string }
  | {
    readonly type: "image"
    readonly source: {
      readonly type: "base64"
      readonly media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"
      readonly data: string
    }
  }
  | {
    readonly type: "document"
    readonly source: { readonly type: "base64"; readonly media_type: "application/pdf"; readonly data: string }
  }

/**
 * A block of the next user message.
 *
 * @since 0.1.0
 * @category Anthropic
 */
export interface AnthropicResult {
  readonly type: "tool_result"
  readonly tool_use_id: string
  readonly content?: Array<AnthropicContent>
  readonly is_error?: true
}

/**
 * The Anthropic Messages API. Results may have images and PDF files in them, those of a failure text alone, as that
 * API wants it; blank texts, which it refuses, are left out. `calls` takes a message of the assistant, or its content;
 * tools that the API runs itself are skipped.
 *
 * @since 0.1.0
 * @category Anthropic
 */
export const anthropic: Adapter<AnthropicTool, AnthropicResult> = internal.anthropic

// ---------------------------------------------------------------------------------------------------------------------
// AI SDK
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What `jsonSchema()` of the AI SDK makes, which knows its schemas by the key `Symbol.for("vercel.ai.schema")`, of
 * which types can't speak. Without a validation: arguments are checked where the tool is called.
 *
 * @since 0.1.0
 * @category AI SDK
 */
export interface VercelSchema {
  readonly jsonSchema: ObjectSchema
  readonly validate: undefined
}

/**
 * @since 0.1.0
 * @category AI SDK
 */
export type VercelContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image-data"; readonly data: string; readonly mediaType: string }
  | { readonly type: "file-data"; readonly data: string; readonly mediaType: string; readonly filename: string }

/**
 * @since 0.1.0
 * @category AI SDK
 */
export type VercelJson =
  | null
  | string
  | number
  | boolean
  | Array<VercelJson>
  | { [key: string]: VercelJson | undefined }

/**
 * @since 0.1.0
 * @category AI SDK
 */
export type VercelOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "json" | "error-json"; readonly value: VercelJson }
  | { readonly type: "content"; readonly value: Array<VercelContent> }

/**
 * A tool of the AI SDK whose arguments are only known at run time. `execute` is there if there is a `run`.
 *
 * @since 0.1.0
 * @category AI SDK
 */
export interface VercelTool<out A, out S = VercelSchema> {
  readonly type: "dynamic"
  readonly title?: string
  readonly description: string
  readonly inputSchema: S
  readonly strict: boolean
  readonly execute?: (
    args: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined }
  ) => Promise<A>
  readonly toModelOutput: (options: { readonly output: unknown }) => VercelOutput
}

/**
 * @since 0.1.0
 * @category AI SDK
 */
export interface VercelOptions<A, S> {
  /**
   * Runs a call. Its promise fails with what went wrong, which the AI SDK tells the model. It answers a text, the parts
   * of `ToolOutput.make()`, what a call of a toolset gives, whose failures are told as such, or any other JSON. Default: tools
   * that don't run by themselves.
   */
  readonly run?: ((call: Call, options: { readonly signal: AbortSignal | undefined }) => PromiseLike<A>) | undefined
  /** `jsonSchema` of the AI SDK, for its types. Default: the same value, made here. */
  readonly jsonSchema?: ((schema: never) => S) | undefined
}

/**
 * @since 0.1.0
 * @category AI SDK
 */
export interface VercelResult {
  readonly type: "tool-result"
  readonly toolCallId: string
  readonly toolName: string
  readonly output: VercelOutput
}

/**
 * The AI SDK of Vercel, versions 6 and 7. `tools` makes its record of tools. `calls` takes a result of `generateText`,
 * or its `toolCalls`; tools that a provider runs itself are skipped.
 *
 * @example
 * ```ts
 * import { ToolAdapters, type ToolOutput } from "@mcp-runtime/core"
 *
 * declare const tools: ReadonlyArray<ToolAdapters.Describable>
 * declare const run: (call: ToolAdapters.Call) => Promise<ReadonlyArray<ToolOutput.Part>>
 *
 * // import { generateText, jsonSchema } from "ai"
 * // generateText({ model, prompt, tools: ToolAdapters.vercel.tools(tools, { run, jsonSchema }) })
 * const definitions = ToolAdapters.vercel.tools(tools, { run })
 * ```
 *
 * @since 0.1.0
 * @category AI SDK
 */
export const vercel: {
  readonly tools: <A = never, S = VercelSchema>(
    tools: Iterable<Describable>,
    options?: VercelOptions<A, S>
  ) => { [name: string]: VercelTool<A, S> }
  readonly calls: (answer: unknown) => ReadonlyArray<Call>
  readonly result: (call: Pick<Call, "id" | "name">, outcome: Outcome, options?: ResultOptions) => VercelResult
} = internal.vercel
