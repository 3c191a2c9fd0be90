import {
  ConfigFile,
  JsonSchema,
  McpConfig,
  type McpConnection,
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
declare const failing: Toolset.Toolbox<never, string, McpError.McpError>
declare const wire: McpConnection.CallOptions
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
    const optional: { readonly output?: ToolOutput.ToolOutput<number> } = {}
    expect(box.call("a", {}, optional)).type.toBe<Called<string | number>>()
    const passedOn: Toolset.CallOptions<number> | undefined = undefined as Toolset.CallOptions<number> | undefined
    expect(box.call("a", {}, passedOn)).type.toBe<Called<string | number>>()
    expect(box.call("a", {}, wire)).type.toBe<Called<string>>()
    const generic = <A, B, R>(box: Toolset.Toolbox<R, A>, output: ToolOutput.ToolOutput<B>) =>
      [box.call("a"), box.call("a", {}, { output })] as const
    expect(generic).type.toBe<
      <A, B, R>(box: Toolset.Toolbox<R, A>, output: ToolOutput.ToolOutput<B>) => readonly [
        Effect.Effect<Toolset.ToolResult<A>, Toolset.CallError, R>,
        Effect.Effect<Toolset.ToolResult<B>, Toolset.CallError, R>
      ]
    >()
    type Approved<A> = Effect.Effect<Toolset.ToolResult<A>, Toolset.ApproveError>
    expect(box.approve(pending)).type.toBe<Approved<string>>()
    expect(box.approve(pending, { output: ToolOutput.raw })).type.toBe<Approved<McpProtocol.CallToolResult>>()
    expect(box.call).type.not.toBeCallableWith("a", {}, { output: "text" })
    expect(box.call).type.not.toBeCallableWith("a", {}, { timeot: "1 second" })
    expect(box.approve).type.not.toBeCallableWith(pending, { timeot: "1 second" })
  })
})

describe("ToolFailure", () => {
  it("may need services, which the toolbox needs then", () => {
    const told = (error: McpError.McpError) => Effect.map(Words, (words) => words.of(error._tag))
    expect<ToolFailure.ToolFailure<Words>>().type.toBeAssignableFrom<typeof told>()
    expect<ToolFailure.ToolFailure>().type.not.toBeAssignableFrom<typeof told>()
    expect(box.call("a", {}, { failure: told })).type.toBe<
      Effect.Effect<Toolset.ToolResult<string>, Toolset.CallError, Words>
    >()
    const made = Toolset.make([], { failure: told })
    expect(Effect.flatMap(made, (_) => _.for().call("a"))).type.toBe<
      Effect.Effect<
        Toolset.ToolResult<ReadonlyArray<ToolOutput.Part>>,
        Toolset.CallError | McpError.ConfigInvalid,
        Words
      >
    >()
    expect(ToolFailure.constant("no")).type.toBe<ToolFailure.ToolFailure>()
  })

  it("may let errors through, with which calls fail then", () => {
    expect<ToolFailure.ToolFailure>().type.not.toBeAssignableFrom<"propagate">()
    expect<ToolFailure.ToolFailure<never, McpError.Unauthorized>>().type.not.toBeAssignableFrom<"propagate">()
    expect<ToolFailure.ToolFailure<never, McpError.McpError>>().type.toBeAssignableFrom<"propagate">()
    expect<ToolFailure.ToolFailure<Words, McpError.McpError | Error>>().type.toBeAssignableFrom<
      ToolFailure.ToolFailure<never, McpError.McpError>
    >()
    expect<ToolFailure.ToolFailure.Error<"propagate" | typeof ToolFailure.explained>>().type.toBe<McpError.McpError>()
    expect<ToolFailure.ToolFailure.Error<ToolFailure.ToolFailure<Words, number>>>().type.toBe<number>()
    expect<ToolFailure.ToolFailure.Context<ToolFailure.ToolFailure<Words, number>>>().type.toBe<Words>()
    expect<ToolFailure.ToolFailure.Context<"propagate">>().type.toBe<never>()
  })

  it("of one call takes the place of that of the toolset", () => {
    type Called<E> = Effect.Effect<Toolset.ToolResult<string>, Toolset.CallError<E>>
    expect(box.call("a", {}, { failure: "propagate" })).type.toBe<Called<McpError.McpError>>()
    expect(box.call("a", {}, { failure: (e, { tool }) => (e._tag === "Forbidden" ? Effect.fail(e) : tool) })).type
      .toBe<Called<McpError.Forbidden>>()
    expect(box.approve(pending, { failure: "propagate" })).type.toBe<
      Effect.Effect<Toolset.ToolResult<string>, Toolset.ApproveError<McpError.McpError>>
    >()
    expect(failing.call("a")).type.toBe<Called<McpError.McpError>>()
    expect(failing.call("a", {}, { timeout: "1 second" })).type.toBe<Called<McpError.McpError>>()
    expect(failing.call("a", {}, { failure: ToolFailure.explained })).type.toBe<Called<never>>()
    const optional: { readonly failure?: ToolFailure.ToolFailure<never, Error> | undefined } = {}
    expect(failing.call("a", {}, optional)).type.toBe<Called<McpError.McpError | Error>>()
    expect(box.call).type.not.toBeCallableWith("a", {}, { failure: "explain" })
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
