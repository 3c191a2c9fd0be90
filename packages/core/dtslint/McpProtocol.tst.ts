import type { McpProtocol } from "@mcp-runtime/core"
import type * as Sdk from "@modelcontextprotocol/sdk/types.js"
import { describe, expect, it } from "tstyche"

describe("the types of the SDK are ours", () => {
  it("what servers describe", () => {
    expect<McpProtocol.Tool>().type.toBeAssignableFrom<Sdk.Tool>()
    expect<McpProtocol.ToolAnnotations>().type.toBeAssignableFrom<Sdk.ToolAnnotations>()
    expect<McpProtocol.Prompt>().type.toBeAssignableFrom<Sdk.Prompt>()
    expect<McpProtocol.Resource>().type.toBeAssignableFrom<Sdk.Resource>()
    expect<McpProtocol.ResourceTemplate>().type.toBeAssignableFrom<Sdk.ResourceTemplate>()
    expect<McpProtocol.Task>().type.toBeAssignableFrom<Sdk.Task>()
    expect<McpProtocol.Root>().type.toBeAssignableFrom<Sdk.Root>()
    expect<McpProtocol.Implementation>().type.toBeAssignableFrom<Sdk.Implementation>()
    expect<McpProtocol.LogLevel>().type.toBe<Sdk.LoggingLevel>()
  })

  it("what servers answer", () => {
    expect<McpProtocol.ContentBlock>().type.toBeAssignableFrom<Sdk.ContentBlock>()
    expect<McpProtocol.CallToolResult>().type.toBeAssignableFrom<Sdk.CallToolResult>()
    expect<McpProtocol.GetPromptResult>().type.toBeAssignableFrom<Sdk.GetPromptResult>()
    expect<McpProtocol.ReadResourceResult>().type.toBeAssignableFrom<Sdk.ReadResourceResult>()
    expect<McpProtocol.CompleteResult>().type.toBeAssignableFrom<Sdk.CompleteResult["completion"]>()
  })

  it("what a client answers", () => {
    expect<McpProtocol.SamplingResult>().type.toBeAssignableFrom<Sdk.CreateMessageResult>()
    expect<McpProtocol.ElicitationResult>().type.toBeAssignableFrom<Sdk.ElicitResult>()
  })

  it("messages", () => {
    expect<McpProtocol.JsonRpcRequest>().type.toBeAssignableFrom<Sdk.JSONRPCRequest>()
    expect<McpProtocol.JsonRpcNotification>().type.toBeAssignableFrom<Sdk.JSONRPCNotification>()
    expect<McpProtocol.JsonRpcResult>().type.toBeAssignableFrom<Sdk.JSONRPCResultResponse>()
    expect<McpProtocol.RequestId>().type.toBe<Sdk.RequestId>()
  })
})

describe("what came from a server can't be written to", () => {
  it("at any depth", () => {
    const tool = {} as McpProtocol.Tool
    // @ts-expect-error read-only
    tool.name = ""
    // @ts-expect-error only permits reading
    tool.inputSchema.type = "object"
    const listing = {} as McpProtocol.Listing<McpProtocol.Tool>
    // @ts-expect-error Property 'push' does not exist
    listing.items.push(tool)
    const result = {} as McpProtocol.CallToolResult
    // @ts-expect-error only permits reading
    result.content[0] = { type: "text", text: "" }
  })

  it("content is told apart by its type", () => {
    const block = {} as McpProtocol.ContentBlock
    if (block.type === "text") expect(block).type.toBe<McpProtocol.TextContent>()
    if (block.type === "resource_link") expect(block).type.toBe<McpProtocol.ResourceLink>()
    if (block.type === "resource") expect(block).type.toBe<McpProtocol.EmbeddedResource>()
  })
})
