import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import type * as ToolAdapters from "@mcp-runtime/core/ToolAdapters"
import { anthropic, openAi, openAiChat, vercel } from "@mcp-runtime/core/ToolAdapters"
import type * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import type * as Toolset from "@mcp-runtime/core/Toolset"
import { describe, expect, it } from "tstyche"

declare const tools: ReadonlyArray<ToolAdapters.Describable>
declare const parts: ReadonlyArray<ToolOutput.Part>
declare const call: ToolAdapters.Call
declare const given: <A>() => Toolset.ToolResult<A>

/** What openai 7 has for `tools` and `input`, in what matters here. */
declare namespace OpenAi {
  interface FunctionTool {
    name: string
    parameters: { [key: string]: unknown } | null
    strict: boolean | null
    type: "function"
    defer_loading?: boolean
    description?: string | null
  }
  interface WebSearchTool {
    type: "web_search"
  }
  interface FunctionCallOutput {
    call_id: string
    output:
      | string
      | Array<
        | { text: string; type: "input_text" }
        | { type: "input_image"; detail?: "low" | "high" | null; file_id?: string | null; image_url?: string | null }
        | { type: "input_file"; file_data?: string | null; filename?: string | null; file_url?: string | null }
      >
    type: "function_call_output"
    id?: string | null
    status?: "completed" | null
  }
  interface Body {
    input: string | Array<FunctionCallOutput>
    tools?: Array<FunctionTool | WebSearchTool>
  }
  interface ChatTool {
    function: {
      name: string
      description?: string
      parameters?: { [key: string]: unknown }
      strict?: boolean | null
    }
    type: "function"
  }
  interface ChatToolMessage {
    content: string | Array<{ text: string; type: "text" }>
    role: "tool"
    tool_call_id: string
  }
}

/** What @anthropic-ai/sdk 1 has. */
declare namespace Anthropic {
  interface Tool {
    input_schema: {
      type: "object"
      properties?: unknown
      required?: Array<string> | null
      [k: string]: unknown
    }
    name: string
    description?: string
    strict?: boolean
  }
  type MediaType = "image/jpeg" | "image/png" | "image/gif" | "image/webp"
  interface ToolResult {
    tool_use_id: string
    type: "tool_result"
    content?:
      | string
      | Array<
        | { type: "text"; text: string }
        | {
          type: "image"
          source: { type: "base64"; data: string; media_type: MediaType } | { type: "url"; url: string }
        }
        | {
          type: "document"
          source: { type: "base64"; data: string; media_type: "application/pdf" } | { type: "url"; url: string }
          title?: string | null
        }
      >
    is_error?: boolean
  }
}

/** What ai 6 and 7 have. */
declare namespace Vercel {
  const schemaSymbol: unique symbol
  interface JSONSchema7 {
    type?: string | Array<string> | undefined
    properties?: { [key: string]: JSONSchema7 | boolean } | undefined
    required?: Array<string> | undefined
  }
  interface Schema<A> {
    [schemaSymbol]: true
    _type: A
    readonly jsonSchema: JSONSchema7 | PromiseLike<JSONSchema7>
    readonly validate?: (value: unknown) => { success: true; value: A } | { success: false; error: Error }
  }
  type JSONValue = null | string | number | boolean | JSONObject | Array<JSONValue>
  interface JSONObject {
    [key: string]: JSONValue | undefined
  }
  type ToolResultOutput =
    | { type: "text"; value: string; providerOptions?: JSONObject }
    | { type: "json"; value: JSONValue; providerOptions?: JSONObject }
    | { type: "execution-denied"; reason?: string }
    | { type: "error-text"; value: string }
    | { type: "error-json"; value: JSONValue }
    | {
      type: "content"
      value: Array<
        | { type: "text"; text: string }
        | { type: "file-data"; data: string; mediaType: string; filename?: string }
        | { type: "image-data"; data: string; mediaType: string }
      >
    }
  interface Tool {
    type: "dynamic"
    description?: string
    title?: string
    strict?: boolean
    inputSchema: Schema<unknown>
    execute?: (
      input: unknown,
      options: { toolCallId: string; messages: Array<unknown>; abortSignal?: AbortSignal }
    ) => AsyncIterable<unknown> | PromiseLike<unknown> | unknown
    toModelOutput?: (options: { toolCallId: string; input: unknown; output: unknown }) =>
      | ToolResultOutput
      | PromiseLike<ToolResultOutput>
  }
  interface ToolResultPart {
    type: "tool-result"
    toolCallId: string
    toolName: string
    output: ToolResultOutput
  }
}

declare const jsonSchema: <A = unknown>(
  schema: Vercel.JSONSchema7 | (() => Vercel.JSONSchema7),
  options?: object
) => Vercel.Schema<A>

describe("ToolAdapters", () => {
  it("makes what the types of OpenAI accept", () => {
    expect({ input: [openAi.result(call, parts)], tools: openAi.tools(tools) }).type.toBeAssignableTo<OpenAi.Body>()
    expect(openAiChat.tools(tools)).type.toBeAssignableTo<Array<OpenAi.ChatTool>>()
    expect(openAiChat.result(call, "text")).type.toBeAssignableTo<OpenAi.ChatToolMessage>()
  })

  it("makes what the types of Anthropic accept", () => {
    expect(anthropic.tools(tools)).type.toBeAssignableTo<Array<Anthropic.Tool>>()
    expect(anthropic.result(call, parts, { isError: true })).type.toBeAssignableTo<Anthropic.ToolResult>()
  })

  it("makes what the types of the AI SDK accept, with its own schemas", () => {
    const run = (_: ToolAdapters.Call) => Promise.resolve(parts)
    const made = vercel.tools(tools, { run, jsonSchema })
    expect(made).type.toBeAssignableTo<{ [name: string]: Vercel.Tool }>()
    expect(vercel.result(call, parts)).type.toBeAssignableTo<Vercel.ToolResultPart>()
  })

  it("knows what a run answers", () => {
    expect(vercel.tools(tools)).type.toBe<{ [name: string]: ToolAdapters.VercelTool<never> }>()
    expect(vercel.tools(tools, { run: () => Promise.resolve(1) })).type.toBe<
      { [name: string]: ToolAdapters.VercelTool<number> }
    >()
  })

  it("takes parts and texts, and not the results of tools themselves", () => {
    expect(openAi.result).type.toBeCallableWith(call, parts)
    expect(openAi.result).type.toBeCallableWith({ id: "1", name: "a" }, "text", { isError: true })
    expect(openAi.result).type.not.toBeCallableWith(call, { content: [] })
    expect(openAi.result).type.not.toBeCallableWith({ name: "a" }, "text")
  })

  it("takes what a call gives, where its results become such an output", () => {
    for (const adapter of [openAi, openAiChat, anthropic, vercel]) {
      expect(adapter.result).type.toBeCallableWith(call, given<string>())
      expect(adapter.result).type.toBeCallableWith(call, given<ReadonlyArray<ToolOutput.Part>>())
      expect(adapter.result).type.toBeCallableWith(call, given<never>(), { isError: true })
      expect(adapter.result).type.not.toBeCallableWith(call, given<McpProtocol.CallToolResult>())
      expect(adapter.result).type.not.toBeCallableWith(call, given<unknown>())
    }
  })

  it("reads calls of anything", () => {
    for (const adapter of [openAi, openAiChat, anthropic, vercel]) {
      expect(adapter.calls).type.toBe<(answer: unknown) => ReadonlyArray<ToolAdapters.Call>>()
    }
  })
})
