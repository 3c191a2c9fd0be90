import { type McpError, type McpProtocol, type McpRuntime, type ToolAdapters } from "@mcp-runtime/core"
import * as McpManager from "@mcp-runtime/core/McpManager"
import type * as ToolApproval from "@mcp-runtime/core/ToolApproval"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import * as ToolNaming from "@mcp-runtime/core/ToolNaming"
import * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import type * as ToolRequest from "@mcp-runtime/core/ToolRequest"
import type * as Toolset from "@mcp-runtime/core/Toolset"
import { Context, Effect } from "effect"
import { describe, expect, it } from "tstyche"

interface Run {
  readonly user: string
}
interface Agent {
  readonly role: "admin" | "guest"
}

class Rights extends Context.Tag("Rights")<Rights, { readonly may: (tool: string) => Effect.Effect<boolean> }>() {}

declare const mcp: McpRuntime.PromiseRuntime
declare const pending: ToolApproval.PendingApproval
declare const signal: AbortSignal
declare const byRole: ToolApproval.ToolApproval<ToolRequest.ToolRequest<Agent>>
declare const withManager: ToolFilter.ToolFilter<unknown, McpManager.McpManager>

const byUser = ToolFilter.dynamic((_, { runContext }: ToolFilter.FilterContext<unknown, Run>) => runContext.user !== "")
const byRights = ToolFilter.dynamic((tool) => Effect.flatMap(Rights, (_) => _.may(tool.name)))

type Next = Parameters<Toolset.CallHook<never>>[1]
type Parts = ReadonlyArray<ToolOutput.Part>
type Of<Request, A> = Promise<McpRuntime.PromiseToolset<Request, A>>

describe("a toolset of promises", () => {
  it("is made with the options of a toolset", () => {
    expect(mcp.toolset()).type.toBe<Of<unknown, Parts>>()
    expect(
      mcp.toolset({
        filter: ToolFilter.block("x"),
        naming: ToolNaming.raw,
        schemas: "strict",
        onServerError: "fail",
        failure: "propagate",
        meta: ({ name }) => Effect.succeed({ name }),
        around: (call, next) => Effect.zipRight(Effect.log(call.name), next())
      })
    ).type.toBe<Of<unknown, Parts>>()
    expect(mcp.toolset({ failure: (error) => error.message })).type.toBe<Of<unknown, Parts>>()
    expect(mcp.toolset).type.not.toBeCallableWith({ schemas: "loose" })
    expect(mcp.toolset).type.not.toBeCallableWith({ unknown: 1 })
    expect(mcp.toolset).type.not.toBeCallableWith({ servers: { a: { output: ToolOutput.raw, unknown: 1 } } })
    expect(mcp.toolset).type.not.toBeCallableWith({ filter: () => true })
    expect(mcp.toolset).type.not.toBeCallableWith({ failure: () => 1 })
  })

  it("knows what results become, those of servers with an output of their own beside the others", () => {
    const { raw, text } = ToolOutput
    expect(mcp.toolset({ output: text })).type.toBe<Of<unknown, string>>()
    expect(mcp.toolset({ output: text, servers: { a: { output: raw }, b: {} } })).type.toBe<
      Of<unknown, string | McpProtocol.CallToolResult>
    >()
    expect(mcp.toolset({ servers: { a: { filter: byUser, output: text } } })).type.toBe<
      Of<ToolRequest.ToolRequest<unknown, Run>, Parts | string>
    >()
  })

  it("has to know who asks, as its parts do", () => {
    const made = mcp.toolset({
      filter: byUser,
      approval: byRole,
      meta: (_, request) => {
        expect(request).type.toBe<
          (ToolRequest.ToolRequest<unknown, Run> & ToolRequest.ToolRequest<Agent>) | undefined
        >()
        return { user: request?.runContext.user }
      }
    })
    expect(made).type.toBe<Of<ToolRequest.ToolRequest<unknown, Run> & ToolRequest.ToolRequest<Agent>, Parts>>()
    expect<Awaited<typeof made>["for"]>().type.toBeCallableWith({ agent: { role: "admin" }, runContext: { user: "a" } })
    expect<Awaited<typeof made>["for"]>().type.not.toBeCallableWith({ agent: { role: "admin" }, runContext: {} })
    expect<Awaited<typeof made>["for"]>().type.not.toBeCallableWith()
    expect<McpRuntime.PromiseToolset<unknown, string>["for"]>().type.toBeCallableWith()
  })

  it("may be made of options that are typed elsewhere", () => {
    const options = {} as Toolset.ToolsetOptions<ToolRequest.ToolRequest<Agent>, never, string, McpError.McpError>
    expect(mcp.toolset(options)).type.toBe<Of<ToolRequest.ToolRequest<Agent>, string>>()
  })

  it("has the services of the runtime, and no others", () => {
    expect(mcp.toolset).type.toBeCallableWith({ filter: withManager, servers: { a: { filter: withManager } } })
    expect(mcp.toolset).type.toBeCallableWith({
      around: (_: Toolset.OutgoingCall, next: Next) => Effect.zipRight(McpManager.McpManager, next())
    })
    expect(mcp.toolset).type.not.toBeCallableWith({
      around: (_: Toolset.OutgoingCall, next: Next) => Effect.zipRight(Rights, next())
    })
    expect(mcp.toolset).type.not.toBeCallableWith({ filter: byRights })
    expect(mcp.toolset).type.not.toBeCallableWith({ servers: { a: { filter: byRights } } })
    expect(mcp.toolset).type.not.toBeCallableWith({ meta: () => Effect.as(Rights, {}) })
    expect(mcp.toolset).type.not.toBeCallableWith({ failure: () => Effect.as(Rights, "") })
  })
})

describe("a toolbox of promises", () => {
  const toolbox = {} as McpRuntime.PromiseToolbox<string>

  it("lists and calls", () => {
    expect(toolbox.list({ signal })).type.toBe<Promise<Toolset.ToolList>>()
    expect(toolbox.call("x")).type.toBe<Promise<Toolset.ToolResult<string>>>()
    expect(toolbox.call({ server: "a", tool: "x" }, {}, { signal, timeout: "1 second" })).type.toBe<
      Promise<Toolset.ToolResult<string>>
    >()
    expect(toolbox.approve(pending, { signal })).type.toBe<Promise<Toolset.ToolResult<string>>>()
    expect(toolbox.reject(pending, "no", { signal })).type.toBe<Promise<Toolset.ToolResult<never>>>()
  })

  it("gives what an output of the call makes", () => {
    expect(toolbox.call("x", {}, { output: ToolOutput.raw })).type.toBe<
      Promise<Toolset.ToolResult<McpProtocol.CallToolResult>>
    >()
    expect(toolbox.approve(pending, { output: ToolOutput.raw, signal })).type.toBe<
      Promise<Toolset.ToolResult<McpProtocol.CallToolResult>>
    >()
    const perhaps = {} as { readonly output?: typeof ToolOutput.raw }
    expect(toolbox.call("x", {}, perhaps)).type.toBe<Promise<Toolset.ToolResult<string | McpProtocol.CallToolResult>>>()
  })

  it("takes plain functions", () => {
    toolbox.call("x", {}, {
      signal,
      onProgress: (progress) => expect(progress).type.toBe<McpProtocol.Progress>(),
      failure: (error) => {
        expect(error).type.toBe<McpError.McpError>()
        return error.message
      }
    })
    expect(toolbox.call).type.toBeCallableWith("x", {}, { onProgress: async () => {} })
    expect(toolbox.call).type.toBeCallableWith("x", {}, { failure: "propagate" })
    expect(toolbox.call).type.not.toBeCallableWith("x", {}, { failure: () => 1 })
    expect(toolbox.call).type.not.toBeCallableWith("x", {}, { deadline: "1 second" })
    expect(toolbox.approve).type.not.toBeCallableWith("x")
  })

  it("runs the calls of the AI SDK, and may be used as one that gives less", () => {
    expect<NonNullable<ToolAdapters.VercelOptions<Toolset.ToolResult<string>, never>["run"]>>().type
      .toBeAssignableFrom((asked: ToolAdapters.Call, options: { readonly signal: AbortSignal | undefined }) =>
        toolbox.call(asked.name, asked.arguments, options)
      )
    expect<McpRuntime.PromiseToolbox<unknown>>().type.toBeAssignableFrom<McpRuntime.PromiseToolbox<string>>()
    expect<McpRuntime.PromiseToolbox<string>>().type.not.toBeAssignableFrom<McpRuntime.PromiseToolbox<unknown>>()
  })
})
