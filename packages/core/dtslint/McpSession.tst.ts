import { type McpConfig, type McpError, McpProtocol, McpSession, McpTransport } from "@mcp-runtime/core"
import { type Deferred, Effect, type Layer, type Scope, type Stream } from "effect"
import { describe, expect, it } from "tstyche"

declare const channel: McpTransport.Channel
declare const session: McpSession.McpSession

describe("McpSession.open", () => {
  it("gives a session, fails with McpError only, and lives in a scope", () => {
    expect(McpSession.open(channel)).type.toBe<
      Effect.Effect<McpSession.McpSession, McpError.McpError, Scope.Scope>
    >()
    expect(Effect.scoped(McpSession.open(channel))).type.toBe<
      Effect.Effect<McpSession.McpSession, McpError.McpError>
    >()
  })

  it("takes options that are undefined, and no others than its own", () => {
    expect(McpSession.open).type.toBeCallableWith(channel, {})
    expect(McpSession.open).type.toBeCallableWith(channel, {
      clientInfo: undefined,
      capabilities: undefined,
      handlers: undefined,
      logLevel: undefined,
      generation: undefined,
      concurrency: undefined,
      listen: undefined
    })
    expect(McpSession.open).type.toBeCallableWith(channel, { logLevel: "info", generation: 1 })
    expect(McpSession.open).type.toBeCallableWith(channel, { concurrency: 1, listen: false })
    expect(McpSession.open).type.not.toBeCallableWith(channel, { concurrency: "serial" })
    expect(McpSession.open).type.not.toBeCallableWith(channel, { logLevel: "loud" })
    expect(McpSession.open).type.not.toBeCallableWith(channel, { timeout: 1 })
    expect(McpSession.open).type.not.toBeCallableWith()
  })

  it("needs a transport, and nothing else, from a configuration on", () => {
    const program = Effect.gen(function*() {
      const transport = yield* McpTransport.McpTransport
      const config = {} as McpConfig.ServerConfig
      return yield* McpSession.open(yield* transport.channel(config))
    })
    expect(program).type.toBe<
      Effect.Effect<McpSession.McpSession, McpError.McpError, McpTransport.McpTransport | Scope.Scope>
    >()
    expect(McpTransport.layerFetch).type.toBe<Layer.Layer<McpTransport.McpTransport>>()
  })
})

describe("the port", () => {
  it("gives what is not known as unknown, and what is decoded as what it was decoded to", () => {
    expect(session.request("x/y")).type.toBe<Effect.Effect<unknown, McpError.McpError>>()
    expect(session.requestWith("x/y", undefined, () => ({ value: 7 }))).type.toBe<
      Effect.Effect<number, McpError.McpError>
    >()
    expect(session.notify("x/y", { a: 1 })).type.toBe<Effect.Effect<void, McpError.McpError>>()
    expect(session.incoming).type.toBe<Stream.Stream<McpProtocol.Notification>>()
    expect(session.closed).type.toBe<Deferred.Deferred<McpError.McpError>>()
    expect(session.quiet).type.toBe<Effect.Effect<void>>()
    expect(session.stats).type.toBe<Effect.Effect<McpSession.SessionStats>>()
    expect<McpSession.SessionStats["quietSince"]>().type.toBe<number | undefined>()
    expect(session.info.sessionId).type.toBe<string | undefined>()
  })

  it("can't be written to", () => {
    expect<keyof McpSession.McpSession>().type.toBeAssignableFrom<"server" | "info" | "limits">()
    // @ts-expect-error read-only
    session.generation = 1
    // @ts-expect-error read-only
    session.info.protocolVersion = ""
  })
})

describe("operations", () => {
  it("succeed with frozen data, and fail with McpError only", () => {
    expect(McpSession.ping(session)).type.toBe<Effect.Effect<void, McpError.McpError>>()
    expect(McpSession.listTools(session)).type.toBe<
      Effect.Effect<McpProtocol.Listing<McpProtocol.Tool>, McpError.McpError>
    >()
    expect(McpSession.listPrompts(session)).type.toBe<
      Effect.Effect<McpProtocol.Listing<McpProtocol.Prompt>, McpError.McpError>
    >()
    expect(McpSession.listResources(session)).type.toBe<
      Effect.Effect<McpProtocol.Listing<McpProtocol.Resource>, McpError.McpError>
    >()
    expect(McpSession.listResourceTemplates(session)).type.toBe<
      Effect.Effect<McpProtocol.Listing<McpProtocol.ResourceTemplate>, McpError.McpError>
    >()
    expect(McpSession.callTool(session, { name: "x" })).type.toBe<
      Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
    >()
    expect(McpSession.getPrompt(session, { name: "x", arguments: { a: "b" } })).type.toBe<
      Effect.Effect<McpProtocol.GetPromptResult, McpError.McpError>
    >()
    expect(McpSession.readResource(session, "file:///a")).type.toBe<
      Effect.Effect<McpProtocol.ReadResourceResult, McpError.McpError>
    >()
    expect(McpSession.subscribe(session, "file:///a")).type.toBe<Effect.Effect<void, McpError.McpError>>()
    expect(McpSession.unsubscribe(session, "file:///a")).type.toBe<Effect.Effect<void, McpError.McpError>>()
    expect(McpSession.setLogLevel(session, "info")).type.toBe<Effect.Effect<void, McpError.McpError>>()
    expect(McpSession.sendRootsChanged(session)).type.toBe<Effect.Effect<void, McpError.McpError>>()
    expect(
      McpSession.complete(session, { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } })
    ).type.toBe<Effect.Effect<McpProtocol.CompleteResult, McpError.McpError>>()
  })

  it("refuse what the protocol has not", () => {
    expect(McpSession.callTool).type.not.toBeCallableWith(session, {})
    expect(McpSession.callTool).type.not.toBeCallableWith(session, { name: "x", arguments: "y" })
    expect(McpSession.getPrompt).type.not.toBeCallableWith(session, { name: "x", arguments: { a: 1 } })
    expect(McpSession.setLogLevel).type.not.toBeCallableWith(session, "loud")
    expect(McpSession.complete).type.not.toBeCallableWith(session, {
      ref: { type: "ref/tool", name: "x" },
      argument: { name: "a", value: "" }
    })
  })

  it("take durations, null for none, and a handler of progress that needs nothing and may fail", () => {
    expect<McpSession.RequestOptions>().type.toBeAssignableFrom<{ timeout: "5 seconds"; maxTotal: null }>()
    expect<McpSession.RequestOptions>().type.toBeAssignableFrom<{ timeout: 5; meta: { a: 1 } }>()
    expect<McpSession.RequestOptions>().type.not.toBeAssignableFrom<{ timeout: "soon" }>()
    expect<McpSession.RequestOptions>().type.toBeAssignableFrom<
      { onProgress: (_: McpProtocol.Progress) => Effect.Effect<void, Error> }
    >()
    expect<McpSession.RequestOptions>().type.not.toBeAssignableFrom<
      { onProgress: (_: McpProtocol.Progress) => Effect.Effect<void, never, McpTransport.McpTransport> }
    >()
    expect<McpSession.RequestOptions>().type.not.toBeAssignableFrom<{ onProgress: (_: McpProtocol.Progress) => void }>()
  })
})

describe("tasks", () => {
  it("one that is started lives in a scope, one that is waited for does not", () => {
    expect(McpSession.startTask(session, { name: "x" }, { ttl: "1 minute" })).type.toBe<
      Effect.Effect<McpSession.RunningTask, McpError.McpError, Scope.Scope>
    >()
    expect(McpSession.callToolAsTask(session, { name: "x" })).type.toBe<
      Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
    >()
    expect(McpSession.getTask(session, "t")).type.toBe<Effect.Effect<McpProtocol.Task, McpError.McpError>>()
    expect(McpSession.getTaskResult(session, "t")).type.toBe<
      Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
    >()
    expect(McpSession.cancelTask(session, "t")).type.toBe<Effect.Effect<McpProtocol.Task, McpError.McpError>>()
    expect(McpSession.listTasks(session)).type.toBe<
      Effect.Effect<McpProtocol.Listing<McpProtocol.Task>, McpError.McpError>
    >()
    expect<McpSession.RunningTask["current"]>().type.toBe<Effect.Effect<McpProtocol.Task>>()
    expect<McpSession.RunningTask["cancel"]>().type.toBe<Effect.Effect<void, McpError.McpError>>()
  })
})

describe("McpError", () => {
  it("can be caught by tag, with its own fields, until nothing is left", () => {
    const caught = McpSession.ping(session).pipe(
      Effect.catchTags({
        RequestTimeout: (error) => {
          expect(error.kind).type.toBe<"idle" | "total" | "handshake" | "send" | "wait">()
          expect(error.executed).type.toBe<McpError.Executed>()
          return Effect.void
        },
        ConnectionClosed: (error) => {
          expect(error.exit).type.toBe<
            { readonly code: number | null; readonly signal: string | null } | undefined
          >()
          return Effect.void
        }
      })
    )
    expect(caught).type.toBe<
      Effect.Effect<void, Exclude<McpError.McpError, McpError.RequestTimeout | McpError.ConnectionClosed>>
    >()
  })
})

describe("McpProtocol", () => {
  it("decoding gives an item or a problem", () => {
    expect(McpProtocol.decodeTool({})).type.toBe<McpProtocol.Decoded<McpProtocol.Tool>>()
    expect(McpProtocol.decodeTask({})).type.toBe<McpProtocol.Decoded<McpProtocol.Task>>()
  })

  it("isObject narrows", () => {
    const value: unknown = {}
    if (McpProtocol.isObject(value)) expect(value).type.toBe<McpProtocol.JsonObject>()
  })
})
