/**
 * What a result of a tool becomes on its way to an agent.
 *
 * Owns: the conversion of a result that is there. It is pure, and loses nothing unless the system that it stands in
 * for does.
 * May not touch: calls, failures, and the result itself, which is frozen.
 *
 * | preset         | structured content                      | one part     | a tool that failed              |
 * |----------------|-----------------------------------------|--------------|---------------------------------|
 * | `make()`       | in the place of texts that repeat it    | in a list    | as any content                  |
 * | `raw`          | as it came                              |              | as it came                      |
 * | `text`         | in the place of texts that repeat it    | one text     | `Error: ` before the text       |
 * | `openAiAgents` | by option, alone, as JSON text          | without list | as any content                  |
 * | `ohMyPi`       | after the content, unless a text has it | in a list    | `Error: ` before the text       |
 * | `uiPath`       | left out                                | in a list    | as any content                  |
 * | `pydanticAi`   | alone, if everything else is text       | without list | its structured content or texts |
 * | `fastMcp`      | as `data`                               |              | `isError`                       |
 *
 * A block without the fields of its kind, such as an image without data, is taken as a kind that nobody knows.
 *
 * @since 0.1.0
 */
import * as internal from "./internal/toolset/output.js"
import type * as McpProtocol from "./McpProtocol.js"

/**
 * A conversion. Total and synchronous; one of your own that throws fails the call with that defect.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolOutput<out A> {
  readonly name: string
  readonly convert: (result: McpProtocol.CallToolResult, tool: McpProtocol.Tool | undefined) => A
}

/**
 * @since 0.1.0
 * @category models
 */
export declare namespace ToolOutput {
  /** Any conversion. */
  export type Any = ToolOutput<unknown>

  /** What these give. */
  export type Output<O extends Any> = O extends ToolOutput<infer A> ? A : never
}

/**
 * One part of an output: a block of content as it came, or the structured content.
 *
 * @since 0.1.0
 * @category models
 */
export type Part =
  | McpProtocol.ContentBlock
  | McpProtocol.UnknownContent
  | { readonly type: "json"; readonly value: McpProtocol.JsonObject }

/**
 * A conversion of your own.
 *
 * @example
 * ```ts
 * import { ToolOutput } from "@mcp-runtime/core"
 *
 * const howMany = ToolOutput.of("howMany", (result) => result.content.length)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const of = <A>(name: string, convert: ToolOutput<A>["convert"]): ToolOutput<A> => ({ name, convert })

/**
 * Parts. `structured` decides between structured content and the texts in which a server repeats it: `"prefer"` puts
 * it first and leaves those texts out, `"append"` puts it last where no text is all of it, `"ignore"` leaves it out.
 * What is said only once stays, except with `"ignore"`: also a number with more digits than structured content can hold, and a text
 * with annotations or `_meta`. Of a failure, every text stays. `single: "unwrap"`: a single part without the list.
 *
 * @example
 * ```ts
 * import { ToolOutput } from "@mcp-runtime/core"
 *
 * const output = ToolOutput.make({ structured: "append" })
 *
 * output.convert({
 *   content: [{ type: "text", text: "12 °C" }],
 *   structuredContent: { celsius: 12 }
 * }, undefined)
 * // [{ type: "text", text: "12 °C" }, { type: "json", value: { celsius: 12 } }]
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: {
  (options?: {
    readonly structured?: "prefer" | "append" | "ignore" | undefined
    readonly single?: "list" | undefined
  }): ToolOutput<ReadonlyArray<Part>>
  (options: {
    readonly structured?: "prefer" | "append" | "ignore" | undefined
    readonly single: "unwrap"
  }): ToolOutput<Part | ReadonlyArray<Part>>
} = internal.make

/**
 * The result as it came.
 *
 * @since 0.1.0
 * @category presets
 */
export const raw: ToolOutput<McpProtocol.CallToolResult> = of("raw", (result) => result)

/**
 * One text for a model that reads nothing else. What is no text is named: `[image image/png]`, `[resource
 * file:///a.txt]`. It starts with `Error: ` where the tool says that it failed.
 *
 * @since 0.1.0
 * @category presets
 */
export const text: ToolOutput<string> = of("text", internal.text)

/**
 * What the OpenAI Agents SDK hands to a model.
 *
 * @since 0.1.0
 * @category presets
 */
export type OpenAiItem =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly image_url: string }

/**
 * As the OpenAI Agents SDK: text and image items, everything else as a text with its JSON; a single item without a
 * list. With `useStructuredContent`, structured content of a success alone, as JSON.
 *
 * @since 0.1.0
 * @category presets
 */
export const openAiAgents = (
  options: { readonly useStructuredContent?: boolean | undefined } = {}
): ToolOutput<string | OpenAiItem | ReadonlyArray<OpenAiItem>> =>
  of("openAiAgents", internal.openAiAgents(options.useStructuredContent ?? false))

/**
 * As oh-my-pi: the texts in one, images beside it, structured content as fenced JSON unless a text says the same.
 * Audio, links and binary resources, which that system loses, are named in the text.
 *
 * @since 0.1.0
 * @category presets
 */
export const ohMyPi: ToolOutput<ReadonlyArray<McpProtocol.TextContent | McpProtocol.ImageContent>> = of(
  "ohMyPi",
  internal.ohMyPi
)

/**
 * As UiPath: the content, always as a list, each item without what is null in it. Structured content and `isError` are
 * left out, as that system does.
 *
 * @since 0.1.0
 * @category presets
 */
export const uiPath: ToolOutput<ReadonlyArray<McpProtocol.JsonObject>> = of("uiPath", internal.uiPath)

/**
 * Bytes with their type, as pydantic-ai calls them.
 *
 * @since 0.1.0
 * @category presets
 */
export interface BinaryContent {
  readonly kind: "binary"
  readonly data: string
  readonly media_type: string
}

/**
 * As pydantic-ai: structured content of a success alone where all else is text, and what is in `result` if there is
 * nothing else in it; otherwise the content, a single part without a list, texts that look like JSON read as such,
 * links as their URI. Of a failure, what the model is asked to try again with: its structured content as JSON, or its
 * texts.
 *
 * @since 0.1.0
 * @category presets
 */
export const pydanticAi: ToolOutput<unknown> = of("pydanticAi", internal.pydanticAi)

/**
 * What FastMCP's client gives.
 *
 * @since 0.1.0
 * @category presets
 */
export interface FastMcpResult {
  readonly content: ReadonlyArray<McpProtocol.ContentBlock>
  readonly structuredContent: McpProtocol.JsonObject | undefined
  readonly meta: McpProtocol.JsonObject | undefined
  readonly isError: boolean
  /** The structured content; what is wrapped in it, where the tool's output schema says that something is. */
  readonly data: unknown
}

/**
 * As FastMCP's client that doesn't raise, and without two of its faults: an empty object is not lost in `data`, and a
 * failure without texts is none of ours.
 *
 * @since 0.1.0
 * @category presets
 */
export const fastMcp: ToolOutput<FastMcpResult> = of("fastMcp", internal.fastMcp)
