import type { McpError, McpProtocol } from "@mcp-runtime/core"
import * as ToolApproval from "@mcp-runtime/core/ToolApproval"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import type * as ToolRequest from "@mcp-runtime/core/ToolRequest"
import { Context, Effect, type Either } from "effect"
import { describe, expect, it } from "tstyche"

interface Agent {
  readonly role: "admin" | "guest"
}
interface Named {
  readonly name: string
}
interface Run {
  readonly user: string
}
class Rights
  extends Context.Tag("Rights")<Rights, { readonly may: (tool: string) => Effect.Effect<boolean, "down"> }>()
{}
class Audit extends Context.Tag("Audit")<Audit, { readonly seen: Effect.Effect<boolean> }>() {}

declare const tool: McpProtocol.Tool

const byAgent = ToolFilter.dynamic((_, context: ToolFilter.FilterContext<Agent, Run>) => context.agent.role === "admin")
const byName = ToolFilter.dynamic((_, context: ToolFilter.FilterContext<Named>) =>
  context.agent.name === "" ? true : Effect.flatMap(Rights, (rights) => rights.may(context.agent.name))
)
const byAudit = ToolFilter.dynamic(() => Effect.flatMap(Audit, (_) => _.seen))

describe("ToolFilter", () => {
  it("a static one fits everywhere", () => {
    expect(ToolFilter.allow("a")).type.toBe<ToolFilter.ToolFilter>()
    expect<ToolFilter.ToolFilter>().type.toBeAssignableTo<ToolFilter.ToolFilter<ToolRequest.ToolRequest<Agent, Run>>>()
    expect<ToolFilter.ToolFilter>().type.toBeAssignableTo<ToolFilter.ToolFilter<ToolRequest.ToolRequest, Rights>>()
    expect(ToolFilter.annotated((_) => _.readOnlyHint === true)).type.toBe<ToolFilter.ToolFilter>()
    expect(ToolFilter.annotated).type.not.toBeCallableWith(() => 1)
  })

  it("a dynamic one says whom it has to know, and which services it needs", () => {
    expect(byAgent).type.toBe<ToolFilter.ToolFilter<ToolRequest.ToolRequest<Agent, Run>>>()
    expect(byName).type.toBe<ToolFilter.ToolFilter<ToolRequest.ToolRequest<Named, unknown>, Rights>>()
    expect(byAudit).type.toBe<ToolFilter.ToolFilter<ToolRequest.ToolRequest, Audit>>()
    expect(ToolFilter.dynamic).type.not.toBeCallableWith(() => "yes")
    expect(ToolFilter.dynamic).type.not.toBeCallableWith(() => Promise.resolve(true))
    expect(ToolFilter.dynamic).type.not.toBeCallableWith(() => Effect.succeed(1))
  })

  it("it fits where at least that is known, and its services are there", () => {
    expect(byAgent).type.toBeAssignableTo<ToolFilter.ToolFilter<ToolRequest.ToolRequest<Agent & Named, Run>>>()
    expect(byAgent).type.not.toBeAssignableTo<ToolFilter.ToolFilter>()
    expect(byAgent).type.not.toBeAssignableTo<ToolFilter.ToolFilter<ToolRequest.ToolRequest<Named, Run>>>()
    expect(byName).type.toBeAssignableTo<ToolFilter.ToolFilter<ToolRequest.ToolRequest<Named, Run>, Rights | Audit>>()
    expect(byName).type.not.toBeAssignableTo<ToolFilter.ToolFilter<ToolRequest.ToolRequest<Named, Run>>>()
    expect(byName).type.toBeAssignableTo<ToolFilter.ToolFilter.Any>()
  })

  it("together they need what each of them needs", () => {
    const together = ToolFilter.and(byAgent, ToolFilter.block("a"), byName, byAudit)
    expect<ToolFilter.ToolFilter.Context<typeof together>>().type.toBe<Rights | Audit>()
    type Request = ToolFilter.ToolFilter.Request<typeof together>
    expect<ToolRequest.ToolRequest<Agent & Named, Run>>().type.toBeAssignableTo<Request>()
    expect<ToolRequest.ToolRequest<Agent, Run>>().type.not.toBeAssignableTo<Request>()
    expect<ToolRequest.ToolRequest<Named, Run>>().type.not.toBeAssignableTo<Request>()
    expect<ToolRequest.ToolRequest<Agent & Named, number>>().type.not.toBeAssignableTo<Request>()
    expect(together).type.toBeAssignableTo<
      ToolFilter.ToolFilter<ToolRequest.ToolRequest<Agent & Named, Run>, Rights | Audit>
    >()
    expect(ToolFilter.and(ToolFilter.readOnly, ToolFilter.allow("a"))).type.toBe<ToolFilter.ToolFilter>()
    expect(ToolFilter.and()).type.toBe<ToolFilter.ToolFilter>()
  })

  it("an evaluation never fails, and must be told who asks", () => {
    expect(byName.decide(tool, "docs", { agent: { name: "x" }, runContext: 1 })).type.toBe<
      boolean | Effect.Effect<boolean, never, Rights>
    >()
    expect(byAgent.decide).type.not.toBeCallableWith(
      tool,
      "docs",
      { agent: { role: "nobody" }, runContext: { user: "x" } }
    )
  })
})

describe("ToolApproval", () => {
  type Made<Request, R> = Either.Either<ToolApproval.ToolApproval<Request, R>, McpError.ConfigInvalid>

  it("by name it fits everywhere, by function it says what it needs", () => {
    expect(ToolApproval.make("never")).type.toBe<Made<unknown, never>>()
    expect(ToolApproval.make({ a: "always", b: true })).type.toBe<Made<unknown, never>>()
    expect(ToolApproval.make({ always: ["a"] }, { otherwise: "never" })).type.toBe<Made<unknown, never>>()
    expect(ToolApproval.make((call) => call.trusted)).type.toBe<Made<ToolRequest.ToolRequest, never>>()
    expect(
      ToolApproval.make((call, { agent }: ToolRequest.ToolRequest<Agent, Run>) =>
        agent.role === "admin" ? false : Effect.flatMap(Rights, (_) => _.may(call.tool))
      )
    ).type.toBe<Made<ToolRequest.ToolRequest<Agent, Run>, Rights>>()
    expect(ToolApproval.never).type.toBeAssignableTo<
      ToolApproval.ToolApproval<ToolRequest.ToolRequest<Agent, Run>, Rights>
    >()
  })

  it("takes nothing else", () => {
    expect(ToolApproval.make).type.not.toBeCallableWith("sometimes")
    expect(ToolApproval.make).type.not.toBeCallableWith({ a: "sometimes" })
    expect(ToolApproval.make).type.not.toBeCallableWith({ always: [1] })
    expect(ToolApproval.make).type.not.toBeCallableWith(() => 1)
  })

  it("is told the digests of what waits for approval, which no call has to have", () => {
    type Digests = "serverFingerprint" | "toolFingerprint"
    expect<Pick<ToolApproval.PendingApproval, Digests>>().type.toBe<Pick<ToolApproval.Call, Digests>>()
    expect<{ server: string; tool: string; arguments: {}; trusted: boolean }>().type.toBeAssignableTo<
      ToolApproval.Call
    >()
  })
})
