import { ConfigFile, type McpConnection, type McpError, type McpManager, type McpProtocol } from "@mcp-runtime/core"
import type * as ToolApproval from "@mcp-runtime/core/ToolApproval"
import * as ToolFailure from "@mcp-runtime/core/ToolFailure"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import * as ToolNaming from "@mcp-runtime/core/ToolNaming"
import * as ToolOutput from "@mcp-runtime/core/ToolOutput"
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
class Tenant extends Context.Tag("Tenant")<Tenant, { readonly id: string }>() {}
class Words extends Context.Tag("Words")<Words, { readonly of: (tag: string) => string }>() {}

declare const manager: McpManager.Manager
declare const connections: ReadonlyArray<McpConnection.McpConnection>
declare const tool: Toolset.AgentTool
declare const loaded: ConfigFile.Loaded
declare const either: boolean

const byAgent = ToolFilter.dynamic((_, { agent }: ToolFilter.FilterContext<Agent, Run>) => agent.role === "admin")
const byRights = ToolFilter.dynamic((tool) => Effect.flatMap(Rights, (_) => _.may(tool.name)))
const byUser = ToolFilter.dynamic((tool, { runContext }: ToolFilter.FilterContext<unknown, Run>) =>
  Effect.flatMap(Rights, (_) => _.may(runContext.user + tool.name))
)
declare const byRole: ToolApproval.ToolApproval<ToolRequest.ToolRequest<Agent>, Audit>

type Made<E extends Effect.Effect<unknown, unknown, unknown>> = Effect.Effect.Success<E>
type Parts = ReadonlyArray<ToolOutput.Part>
type MakingOf<T> = Effect.Effect<T, McpError.ConfigInvalid>

describe("Toolset", () => {
  it("is made of a manager or of connections, and fails for wrong options only", () => {
    type Plain = Effect.Effect<
      Toolset.Toolset<unknown, never, Parts, never, never>,
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
    expect(Toolset.make).type.not.toBeCallableWith(manager, { servers: { a: { output: ToolOutput.raw, unknown: 1 } } })
    expect(Toolset.make).type.not.toBeCallableWith(manager, { servers: { a: { filter: () => true } } })
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
  })

  it("each part has its own services, and its own idea of who asks", () => {
    const made = Toolset.make(manager, {
      filter: byUser,
      approval: byRole,
      meta: (_, request) => {
        expect(request).type.toBe<
          (ToolRequest.ToolRequest<unknown, Run> & ToolRequest.ToolRequest<Agent>) | undefined
        >()
        return Effect.map(Tenant, ({ id }) => ({ id, role: request?.agent.role, user: request?.runContext.user }))
      },
      around: (_, next) => Effect.zipRight(Effect.flatMap(Audit, (_) => _.seen), next()),
      failure: (error) => Effect.map(Words, (_) => _.of(error._tag)),
      output: ToolOutput.text
    })
    expect(made).type.toBe<
      MakingOf<
        Toolset.Toolset<
          ToolRequest.ToolRequest<unknown, Run> & ToolRequest.ToolRequest<Agent>,
          Rights | Audit | Tenant | Words,
          string
        >
      >
    >()
    expect<Made<typeof made>["for"]>().type.toBeCallableWith({ agent: { role: "admin" }, runContext: { user: "a" } })
    expect<Made<typeof made>["for"]>().type.not.toBeCallableWith({ agent: { role: "admin" }, runContext: {} })
    expect<Made<typeof made>["for"]>().type.not.toBeCallableWith({ agent: {}, runContext: { user: "a" } })
  })

  it("so has each part of each server", () => {
    const made = Toolset.make(manager, {
      filter: ToolFilter.block("x"),
      servers: {
        a: { filter: byUser, approval: byRole },
        b: { failure: (error, { name }) => Effect.map(Words, (_) => _.of(error._tag + name)) },
        c: { filter: byAgent, output: ToolOutput.text },
        d: {}
      },
      meta: () => Effect.map(Tenant, ({ id }) => ({ id }))
    })
    expect(made).type.toBe<
      MakingOf<
        Toolset.Toolset<
          ToolRequest.ToolRequest<unknown, Run> & ToolRequest.ToolRequest<Agent, Run> & ToolRequest.ToolRequest<Agent>,
          Rights | Audit | Words | Tenant,
          Parts | string
        >
      >
    >()
  })

  it("metadata alone may need to know who asks", () => {
    const made = Toolset.make(manager, {
      meta: (_, request: ToolRequest.ToolRequest<unknown, Run> | undefined) => ({ user: request?.runContext.user })
    })
    expect(made).type.toBe<MakingOf<Toolset.Toolset<ToolRequest.ToolRequest<unknown, Run>, never, Parts>>>()
  })

  it("results of servers with an output of their own are beside those of all others", () => {
    const { raw, text } = ToolOutput
    type Of<A> = MakingOf<Toolset.Toolset<unknown, never, A>>
    expect(Toolset.make(manager, { servers: { a: { output: text } } })).type.toBe<Of<Parts | string>>()
    expect(Toolset.make(manager, { output: text, servers: { a: { output: raw } } })).type.toBe<
      Of<string | McpProtocol.CallToolResult>
    >()
    expect(Toolset.make(manager, { output: text, servers: { a: { output: raw }, b: { output: text }, c: {} } })).type
      .toBe<Of<string | McpProtocol.CallToolResult>>()
    expect(Toolset.make(manager, { output: text, servers: { a: { validateOutput: false } } })).type.toBe<Of<string>>()
    expect(Toolset.make(manager, { output: text, servers: {} })).type.toBe<Of<string>>()
    expect(Toolset.make(manager, { output: text, servers: ConfigFile.toolsetServers(loaded) })).type.toBe<Of<string>>()
  })

  it("fails with what failures let through, wherever that is settled", () => {
    type Of<E, R = never> = MakingOf<Toolset.Toolset<unknown, R, Parts, E>>
    expect(Toolset.make(manager, { failure: "propagate" })).type.toBe<Of<McpError.McpError>>()
    expect(Toolset.make(manager, { servers: { a: { failure: "propagate" }, b: { failure: ToolFailure.explained } } }))
      .type.toBe<Of<McpError.McpError>>()
    expect(Toolset.make(manager, { failure: ToolFailure.openAiAgents })).type.toBe<Of<never>>()
    expect(Toolset.make(manager, { failure: ToolFailure.constant("no"), servers: { a: { failure: () => "no" } } })).type
      .toBe<Of<never>>()
    expect(Toolset.make(manager, { failure: (e) => (e._tag === "Unauthorized" ? Effect.fail(e) : e.message) })).type
      .toBe<Of<McpError.Unauthorized>>()
    expect(Toolset.make(manager, { failure: () => Effect.zipRight(Words, Effect.fail(1)) })).type.toBe<
      Of<number, Words>
    >()
    expect(Toolset.make(manager, { failure: either ? "propagate" : ToolFailure.explained })).type.toBe<
      Of<McpError.McpError>
    >()
    expect(Toolset.make).type.not.toBeCallableWith(manager, { failure: "explain" })
    expect(Toolset.make).type.not.toBeCallableWith(manager, { failure: () => 1 })
  })

  it("a listing fails for servers only where it is to", () => {
    type Of<L> = MakingOf<Toolset.Toolset<unknown, never, Parts, never, L>>
    expect(Toolset.make(manager, { onServerError: "report" })).type.toBe<Of<never>>()
    expect(Toolset.make(manager, { onServerError: "fail" })).type.toBe<Of<McpError.ServersFailed>>()
    expect(Toolset.make(manager, { onServerError: either ? "fail" : "report" })).type.toBe<Of<McpError.ServersFailed>>()
  })

  it("may be made with types that are said", () => {
    const made = Toolset.make<Request, Rights | Audit, string, McpError.McpError, McpError.ServersFailed>(manager, {
      filter: byAgent,
      output: ToolOutput.text,
      failure: "propagate",
      onServerError: "fail",
      servers: { a: { filter: byRights } }
    })
    expect(made).type.toBe<
      MakingOf<Toolset.Toolset<Request, Rights | Audit, string, McpError.McpError, McpError.ServersFailed>>
    >()
    // @ts-expect-error Type 'CallToolResult' is not assignable to type 'string'
    Toolset.make<unknown, never, string>(manager, { output: ToolOutput.raw })
    // @ts-expect-error Type 'string' is not assignable to type '(error: McpError
    Toolset.make<unknown, never, string>(manager, { failure: "propagate" })
    // @ts-expect-error Type '"fail"' is not assignable to type '"report"'
    Toolset.make<unknown, never, string>(manager, { onServerError: "fail" })
  })

  it("may be made of options that are typed elsewhere", () => {
    const made = <R, A>(options?: Toolset.ToolsetOptions<Request, R, A>) => Toolset.make(manager, options)
    expect(made).type.toBe<
      <R, A>(options?: Toolset.ToolsetOptions<Request, R, A>) => MakingOf<Toolset.Toolset<Request, R, A>>
    >()
    expect<Toolset.ToolsetOptions<Request, Rights, string | number, McpError.McpError, McpError.ServersFailed>>().type
      .toBeAssignableFrom<Toolset.ToolsetOptions<unknown, never, string>>()
    expect<Toolset.ToolsetOptions<unknown, never, string>>().type.not.toBeAssignableFrom<
      Toolset.ToolsetOptions<unknown, never, string, McpError.McpError>
    >()
    expect<Toolset.ToolsetOptions<unknown, never, string>>().type.not.toBeAssignableFrom<
      Toolset.ToolsetOptions<unknown, never, string, never, McpError.ServersFailed>
    >()
  })

  it("a toolbox may be used as one that promises less", () => {
    type Plain = Toolset.Toolbox<never, string>
    expect<Plain>().type.toBeAssignableTo<Toolset.Toolbox<Rights, unknown, McpError.McpError, McpError.ServersFailed>>()
    expect<Plain>().type.not.toBeAssignableFrom<Toolset.Toolbox<Rights, string>>()
    expect<Plain>().type.not.toBeAssignableFrom<Toolset.Toolbox<never, unknown>>()
    expect<Plain>().type.not.toBeAssignableFrom<Toolset.Toolbox<never, string, McpError.McpError>>()
    expect<Plain>().type.not.toBeAssignableFrom<Toolset.Toolbox<never, string, never, McpError.ServersFailed>>()
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
