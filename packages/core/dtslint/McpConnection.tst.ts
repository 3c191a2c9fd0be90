import {
  type McpConfig,
  McpConnection,
  type McpError,
  type McpProtocol,
  type McpSession,
  type McpTransport,
  RetryPolicy
} from "@mcp-runtime/core"
import { Effect, type Either, Schedule, type Scope, type Stream } from "effect"
import { describe, expect, it } from "tstyche"

declare const config: McpConfig.ServerConfig
declare const channel: McpTransport.Channel
declare const connection: McpConnection.McpConnection

describe("McpConnection.make", () => {
  it("needs a transport and a scope, and fails only for wrong options", () => {
    expect(McpConnection.make(config)).type.toBe<
      Effect.Effect<McpConnection.McpConnection, McpError.ConfigInvalid, McpTransport.McpTransport | Scope.Scope>
    >()
    expect(McpConnection.fromChannel(channel)).type.toBe<
      Effect.Effect<McpConnection.McpConnection, McpError.ConfigInvalid, Scope.Scope>
    >()
  })

  it("takes a budget and a schedule", () => {
    expect(McpConnection.make).type.toBeCallableWith(config, {
      retry: RetryPolicy.none,
      reconnect: { schedule: Schedule.recurs(3), stableAfter: "1 second", coolDown: undefined },
      handlers: {},
      logLevel: "info"
    })
    expect(McpConnection.make).type.not.toBeCallableWith(config, { retry: 3 })
    expect(McpConnection.make).type.not.toBeCallableWith(config, { reconnect: { schedule: "500 millis" } })
    expect(McpConnection.make).type.not.toBeCallableWith(config, { retires: RetryPolicy.none })
  })
})

describe("operations", () => {
  it("give what those of a session give, with one error type and no requirements", () => {
    expect(McpConnection.callTool(connection, { name: "x" })).type.toBe<
      Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
    >()
    expect(McpConnection.listTools(connection)).type.toBe<
      Effect.Effect<McpProtocol.Listing<McpProtocol.Tool>, McpError.McpError>
    >()
    expect(McpConnection.callTool).type.toBeCallableWith(connection, { name: "x" }, {
      replay: "always",
      retry: RetryPolicy.none,
      timeout: "1 second",
      maxTotal: null
    })
    expect(McpConnection.callTool).type.not.toBeCallableWith(connection, { name: "x" }, { replay: true })
    expect(McpConnection.callTool).type.not.toBeCallableWith(connection, {})
  })

  it("perform gives what is sent", () => {
    expect(connection.perform({ method: "x", send: () => Effect.succeed(1) })).type.toBe<
      Effect.Effect<number, McpError.McpError>
    >()
  })
})

describe("state", () => {
  it("is a closed union with the facts of each", () => {
    expect(connection.state).type.toBe<Effect.Effect<McpConnection.ConnectionState>>()
    expect(connection.changes).type.toBe<Stream.Stream<McpConnection.ConnectionState>>()
    expect<Extract<McpConnection.ConnectionState, { readonly _tag: "Ready" }>["info"]>().type.toBe<
      McpSession.SessionInfo
    >()
    expect(connection.hold).type.toBe<Effect.Effect<McpSession.SessionInfo, McpError.McpError, Scope.Scope>>()
    expect(connection.close).type.toBe<Effect.Effect<void>>()
  })
})

describe("RetryPolicy", () => {
  it("is validated when it is built", () => {
    expect(RetryPolicy.make({ replays: 3 })).type.toBe<
      Either.Either<RetryPolicy.RetryPolicy, McpError.ConfigInvalid>
    >()
    expect(RetryPolicy.make).type.not.toBeCallableWith({ replays: "many" })
    expect(Effect.retry).type.toBeCallableWith(
      McpConnection.ping(connection),
      RetryPolicy.delayed(RetryPolicy.defaultPolicy)
    )
  })
})
