import { type McpConnection, type McpError, type McpManager, type McpProtocol } from "@mcp-runtime/core"
import * as ToolApproval from "@mcp-runtime/core/ToolApproval"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import * as ToolNaming from "@mcp-runtime/core/ToolNaming"
import type * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import type * as ToolRequest from "@mcp-runtime/core/ToolRequest"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Context, Effect, type Schema, type Stream } from "effect"
import { describe, expect, it } from "tstyche"

interface Agent {
  readonly role: "admin" | "guest"
}
interface Run {
  readonly user: string
}
type Request = ToolRequest.ToolRequest<Agent, Run>

class Rights extends Context.Tag("Rights")<Rights, { readonly may: (tool: string) => Effect.Effect<boolean> }>() {}
class Audit extends Context.Tag("Audit")<Audit, { readonly seen: Effect.Effect<boolean> }>() {}

declare const manager: McpManager.Manager
declare const connections: ReadonlyArray<McpConnection.McpConnection>
declare const tool: Toolset.AgentTool

const byAgent = ToolFilter.dynamic((_, { agent }: ToolFilter.FilterContext<Agent, Run>) => agent.role === "admin")
const byRights = ToolFilter.dynamic((tool) => Effect.flatMap(Rights, (_) => _.may(tool.name)))

type Made<E extends Effect.Effect<unknown, unknown, unknown>> = Effect.Effect.Success<E>

describe("Toolset", () => {
  it("is made of a manager or of connections, and fails for wrong options only", () => {
    type Plain = Effect.Effect<
      Toolset.Toolset<unknown, never, ReadonlyArray<ToolOutput.Part>>,
      McpError.ConfigInvalid
    >
    expect(Toolset.make(manager)).type.toBe<Plain>()
    expect(Toolset.make(connections, { schemas: "strict", naming: ToolNaming.raw })).type.toBe<Plain>()
    expect(Toolset.make).type.not.toBeCallableWith({})
    expect(Toolset.make).type.not.toBeCallableWith()
    expect(Toolset.make).type.not.toBeCallableWith(manager, { schemas: "loose" })
    expect(Toolset.make).type.not.toBeCallableWith(manager, { naming: "raw" })
    expect(Toolset.make).type.not.toBeCallableWith(manager, { filter: () => true })
    expect(Toolset.make).type.not.toBeCallableWith(manager, { unknown: 1 })
    expect(Toolset.make).type.not.toBeCallableWith(manager, { servers: { a: { naming: ToolNaming.raw } } })
  })

  it("who asks may be left out where nothing depends on it", () => {
    const made = Toolset.make(manager, { filter: ToolFilter.allow("a") })
    expect<Made<typeof made>["for"]>().type.toBeCallableWith()
    expect<Made<typeof made>["for"]>().type.toBeCallableWith({ agent: 1, runContext: "x" })
    expect<Made<typeof made>["for"]>().type.not.toBeCallableWith("x")
  })

  it("who asks must be said where a filter has to know, as that has typed it", () => {
    const made = Toolset.make(manager, { filter: byAgent })
    expect<Made<typeof made>["for"]>().type.toBeCallableWith({ agent: { role: "admin" }, runContext: { user: "a" } })
    expect<Made<typeof made>["for"]>().type.not.toBeCallableWith()
    expect<Made<typeof made>["for"]>().type.not.toBeCallableWith(undefined)
    expect<Made<typeof made>["for"]>().type.not.toBeCallableWith({
      agent: { role: "nobody" },
      runContext: { user: "a" }
    })
    expect<Made<typeof made>["for"]>().type.not.toBeCallableWith({ agent: { role: "admin" } })
    const ofServer = Toolset.make(manager, { servers: { a: { filter: byAgent } } })
    expect<Made<typeof ofServer>["for"]>().type.not.toBeCallableWith()
    const anybody = Toolset.make(manager, { filter: byRights })
    expect<Made<typeof anybody>["for"]>().type.not.toBeCallableWith()
    expect<Made<typeof anybody>["for"]>().type.toBeCallableWith({ agent: 1, runContext: 2 })
  })

  it("a listing needs the services of its filters", () => {
    const made = Toolset.make(manager, { filter: byRights })
    expect<ReturnType<Made<typeof made>["for"]>["list"]>().type.toBe<
      Effect.Effect<Toolset.ToolList, Toolset.ListError, Rights>
    >()
    expect<ReturnType<Made<typeof made>["for"]>["changes"]>().type.toBe<
      Stream.Stream<Toolset.ToolList, Toolset.ListError, Rights>
    >()
    const both = Toolset.make(manager, {
      filter: ToolFilter.and(byRights, ToolFilter.dynamic(() => Effect.flatMap(Audit, (_) => _.seen)))
    })
    expect<ReturnType<Made<typeof both>["for"]>["list"]>().type.toBe<
      Effect.Effect<Toolset.ToolList, Toolset.ListError, Rights | Audit>
    >()
    const typed = Toolset.make<Request, Rights | Audit>(manager, {
      filter: byAgent,
      approval: ToolApproval.never,
      servers: { a: { filter: byRights } }
    })
    expect<ReturnType<Made<typeof typed>["for"]>["list"]>().type.toBe<
      Effect.Effect<Toolset.ToolList, Toolset.ListError, Rights | Audit>
    >()
  })

  it("instructions and a toolset need nothing", () => {
    const made = Toolset.make(manager, { filter: byRights })
    expect<Made<typeof made>["instructions"]>().type.toBe<
      Effect.Effect<ReadonlyArray<{ readonly server: string; readonly text: string }>>
    >()
  })

  it("a recorded tool is one for JSON, and tells which tool is called", () => {
    expect(Toolset.record({ id: "tools" }, tool)).type.toBe<Toolset.RecordedTool>()
    expect<Toolset.RecordedTool>().type.toBeAssignableTo<ToolNaming.ToolIdentity>()
    expect<Toolset.AgentTool>().type.toBeAssignableTo<ToolNaming.ToolIdentity>()
    expect<Schema.Schema.Context<typeof Toolset.RecordedTool>>().type.toBe<never>()
    expect<Toolset.RecordedTool["inputSchema"]>().type.toBe<McpProtocol.JsonObject>()
  })

  it("what is listed can't be changed", () => {
    expect<Toolset.ToolList["tools"]>().type.toBe<ReadonlyArray<Toolset.AgentTool>>()
    expect<Toolset.AgentTool>().type.toBe<Readonly<Toolset.AgentTool>>()
  })
})
