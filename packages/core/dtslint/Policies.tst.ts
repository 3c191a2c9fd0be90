import {
  ConfigFile,
  JsonSchema,
  McpConfig,
  type McpError,
  McpProtocol,
  RetryPolicy,
  type ToolApproval,
  ToolFailure,
  ToolNaming,
  ToolOutput,
  ToolSchema,
  Toolset
} from "@mcp-runtime/core"
import { Context, Effect, type Either, type Schedule } from "effect"
import { describe, expect, it } from "tstyche"

class Words extends Context.Tag("Words")<Words, { readonly of: (tag: string) => string }>() {}

declare const result: McpProtocol.CallToolResult
declare const loaded: ConfigFile.Loaded
declare const box: Toolset.Toolbox<never, string>
declare const options: Toolset.CallOptions<McpProtocol.CallToolResult>
declare const pending: ToolApproval.PendingApproval

describe("RetryPolicy", () => {
  it("is made of options, each of which may be left out", () => {
    expect(RetryPolicy.make()).type.toBe<Either.Either<RetryPolicy.RetryPolicy, McpError.ConfigInvalid>>()
    expect(RetryPolicy.make).type.toBeCallableWith({
      replays: "unlimited",
      base: "250 millis",
      factor: 2,
      cap: null,
      jitter: 0,
      total: undefined,
      retryAfter: "ignore",
      when: (error: McpError.McpError) => error._tag === "HttpError"
    })
    expect(RetryPolicy.make).type.not.toBeCallableWith({ replays: "none" })
    expect(RetryPolicy.make).type.not.toBeCallableWith({ base: null })
    expect(RetryPolicy.make).type.not.toBeCallableWith({ retryAfter: true })
    expect(RetryPolicy.make).type.not.toBeCallableWith({ retries: 3 })
  })

  it("is a schedule for Effect.retry, of our errors only", () => {
    const schedule = RetryPolicy.delayed(RetryPolicy.none, { idempotent: true })
    expect(schedule).type.toBe<Schedule.Schedule<RetryPolicy.Step, McpError.McpError>>()
    const failing: Effect.Effect<number, McpError.HttpError> = Effect.never
    expect(Effect.retry(failing, schedule)).type.toBe<Effect.Effect<number, McpError.HttpError>>()
    const others: Effect.Effect<number, Error> = Effect.never
    // @ts-expect-error No overload matches this call
    Effect.retry(others, schedule)
  })

  it("can't be changed", () => {
    expect<RetryPolicy.RetryPolicy>().type.toBe<Readonly<RetryPolicy.RetryPolicy>>()
  })
})

describe("ToolNaming", () => {
  it("is one of those there are, or a function", () => {
    expect(ToolNaming.prefixed).type.toBe<ToolNaming.ToolNaming>()
    expect(ToolNaming.make({ mode: "mine", name: ({ server, tool }) => `${server}-${tool}` })).type.toBe<
      ToolNaming.ToolNaming
    >()
    expect(ToolNaming.make).type.not.toBeCallableWith({ name: () => "x" })
    expect(ToolNaming.make).type.not.toBeCallableWith({ mode: "mine", name: () => 1 })
    expect(ToolNaming.raw.names([], new Set())).type.toBe<
      Either.Either<ReadonlyArray<string>, ToolNaming.NamesClash>
    >()
  })
})

describe("ToolOutput", () => {
  it("says what an agent gets", () => {
    expect(ToolOutput.make()).type.toBe<ToolOutput.ToolOutput<ReadonlyArray<ToolOutput.Part>>>()
    expect(ToolOutput.make({ single: "unwrap" })).type.toBe<
      ToolOutput.ToolOutput<ToolOutput.Part | ReadonlyArray<ToolOutput.Part>>
    >()
    expect(ToolOutput.text.convert(result, undefined)).type.toBe<string>()
    expect(ToolOutput.raw.convert(result, undefined)).type.toBe<McpProtocol.CallToolResult>()
    expect(ToolOutput.of("size", ({ content }) => content.length)).type.toBe<ToolOutput.ToolOutput<number>>()
    expect(ToolOutput.make).type.not.toBeCallableWith({ structured: "always" })
  })

  it("is that of the toolset, or of one call", () => {
    const made = Toolset.make([], { output: ToolOutput.text })
    type Box = ReturnType<Effect.Effect.Success<typeof made>["for"]>
    expect<Effect.Effect.Success<ReturnType<Box["call"]>>>().type.toBeAssignableFrom<Toolset.ToolResult<string>>()
    expect<Box>().type.toBe<Toolset.Toolbox<never, string>>()
  })

  it("of one call is all that this call gives; what may be left out does not change what there is", () => {
    type Called<A> = Effect.Effect<Toolset.ToolResult<A>, Toolset.CallError>
    expect(box.call("a")).type.toBe<Called<string>>()
    expect(box.call("a", {}, { timeout: "1 second" })).type.toBe<Called<string>>()
    expect(box.call("a", {}, { output: ToolOutput.raw })).type.toBe<Called<McpProtocol.CallToolResult>>()
    expect(box.call({ server: "s", tool: "a" }, undefined, { output: ToolOutput.of("size", () => 1) })).type.toBe<
      Called<number>
    >()
    expect(box.call("a", {}, options)).type.toBe<Called<string | McpProtocol.CallToolResult>>()
    expect(box.approve(pending)).type.toBe<Called<string>>()
    expect(box.approve(pending, { output: ToolOutput.raw })).type.toBe<Called<McpProtocol.CallToolResult>>()
    expect(box.call).type.not.toBeCallableWith("a", {}, { output: "text" })
  })
})

describe("ToolFailure", () => {
  it("may need services, which the toolbox needs then", () => {
    const told = (error: McpError.McpError) => Effect.map(Words, (words) => words.of(error._tag))
    expect<ToolFailure.ToolFailure<Words>>().type.toBeAssignableFrom<typeof told>()
    expect<ToolFailure.ToolFailure>().type.not.toBeAssignableFrom<typeof told>()
    const made = Toolset.make([], { failure: told })
    type Box = ReturnType<Effect.Effect.Success<typeof made>["for"]>
    expect<Effect.Effect.Context<ReturnType<Box["call"]>>>().type.toBe<Words>()
    expect(ToolFailure.constant("no")).type.toBe<ToolFailure.ToolFailure>()
  })
})

describe("schemas", () => {
  it("a conversion keeps a JSON object, and says whether it was possible", () => {
    expect(ToolSchema.strict({ type: "object" }, { optional: "nullable" })).type.toBe<ToolSchema.StrictSchema>()
    expect(ToolSchema.strict).type.not.toBeCallableWith(true)
    expect(ToolSchema.strict).type.not.toBeCallableWith({}, { optional: "never" })
    expect(ToolSchema.withoutFillIns({}, { a: null })).type.toBe<McpProtocol.JsonObject>()
  })

  it("a validation has three answers", () => {
    expect(JsonSchema.compile({}).validate(1)).type.toBe<JsonSchema.Validation>()
    expect<JsonSchema.Validation["_tag"]>().type.toBe<"Valid" | "Invalid" | "Unknown">()
  })
})

describe("ConfigFile", () => {
  it("gives configurations that a manager takes, and settings that a toolset takes", () => {
    expect(ConfigFile.serversOf(loaded)).type.toBe<ReadonlyArray<McpConfig.ServerConfigInput>>()
    expect(ConfigFile.serversOf(loaded)).type.toBeAssignableTo<ReadonlyArray<McpConfig.Shorthand>>()
    const made = Toolset.make([], { servers: ConfigFile.toolsetServers(loaded) })
    expect<Effect.Effect.Context<ReturnType<Effect.Effect.Success<typeof made>["for"]>["list"]>>().type.toBe<never>()
    expect<Effect.Effect.Success<typeof made>["for"]>().type.toBeCallableWith()
  })

  it("reads texts without an Effect, and never fails", () => {
    expect(ConfigFile.load([{ level: "user", path: "mcp.json", text: "" }])).type.toBe<ConfigFile.Loaded>()
    expect(ConfigFile.load).type.not.toBeCallableWith([{ level: "system", path: "mcp.json", text: "" }])
    expect(ConfigFile.load).type.not.toBeCallableWith("mcp.json")
    expect(ConfigFile.load).type.toBeCallableWith([], { exclude: [ConfigFile.named("a*"), ConfigFile.level("user")] })
  })
})

describe("what is decoded", () => {
  it("is one of five, told by its transport, with durations and hidden values", () => {
    expect<McpConfig.ServerConfig["transport"]>().type.toBe<"stdio" | "http" | "sse" | "auto" | "inMemory">()
    expect<McpConfig.AnyHttpConfig>().type.toBeAssignableTo<McpConfig.ServerConfig>()
    expect(McpConfig.concurrencyOf).type.toBe<(config: McpConfig.ServerConfig) => number>()
    expect(McpProtocol.isObject).type.toBe<(u: unknown) => u is McpProtocol.JsonObject>()
  })
})
