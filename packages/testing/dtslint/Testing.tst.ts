import type { McpConfig, McpError, McpTransport } from "@mcp-runtime/core"
import { AuthFixture, HttpFixture, LeakCheck, ScriptedServer, StdioFixture } from "@mcp-runtime/testing"
import { Context, Effect, type Layer, type Scope } from "effect"
import { describe, expect, it } from "tstyche"

class Clock extends Context.Tag("Clock")<Clock, { readonly now: number }>() {}

declare const effect: Effect.Effect<number, McpError.SpawnFailed, Clock>
declare const inScope: Effect.Effect<number, McpError.SpawnFailed, Clock | Scope.Scope>
declare const server: ScriptedServer.ScriptedServer

describe("LeakCheck", () => {
  it("checks an effect, which keeps its errors and requirements", () => {
    type Checked = Effect.Effect<number, McpError.SpawnFailed | LeakCheck.LeaksFound, Clock>
    expect(LeakCheck.noLeaks(effect)).type.toBe<Checked>()
    expect(LeakCheck.noLeaks(effect, { patience: "1 second" })).type.toBe<Checked>()
    expect(effect.pipe(LeakCheck.noLeaks)).type.toBe<Checked>()
    expect(LeakCheck.noLeaks).type.not.toBeCallableWith(effect, { patient: true })
  })

  it("scoped closes the scope before it looks", () => {
    type Checked = Effect.Effect<number, McpError.SpawnFailed | LeakCheck.LeaksFound, Clock>
    expect(LeakCheck.scoped(inScope)).type.toBe<Checked>()
    expect(LeakCheck.scoped(inScope, { ignore: (leak) => leak.kind === "timer" })).type.toBe<Checked>()
    expect(inScope.pipe(LeakCheck.scoped)).type.toBe<Checked>()
    expect(inScope.pipe(LeakCheck.noLeaks)).type.toBe<
      Effect.Effect<number, McpError.SpawnFailed | LeakCheck.LeaksFound, Clock | Scope.Scope>
    >()
  })

  it("a snapshot lives in a scope", () => {
    expect(LeakCheck.snapshot).type.toBe<Effect.Effect<LeakCheck.Snapshot, never, Scope.Scope>>()
  })
})

describe("ScriptedServer", () => {
  it("needs nothing to be made, and is a transport", () => {
    expect(ScriptedServer.make()).type.toBe<Effect.Effect<ScriptedServer.ScriptedServer>>()
    expect(server.channel).type.toBe<McpTransport.Channel>()
    expect(ScriptedServer.layer(server)).type.toBe<Layer.Layer<McpTransport.McpTransport>>()
  })

  it("a handler answers with JSON, a reply, or an error", () => {
    expect(ScriptedServer.make).type.toBeCallableWith({
      handlers: {
        a: () => Effect.succeed({ any: "json" }),
        b: () => Effect.succeed(ScriptedServer.silence),
        c: () => Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "no" })),
        d: () => Effect.never
      },
      start: () => Effect.sleep("1 second"),
      cancellation: "ignore"
    })
    expect(ScriptedServer.make).type.not.toBeCallableWith({ handlers: { a: () => Effect.fail(new Error("no")) } })
    expect(ScriptedServer.make).type.not.toBeCallableWith({ reaction: "now" })
  })

  it("asks the client, which may refuse", () => {
    expect(server.request("roots/list")).type.toBe<Effect.Effect<unknown, ScriptedServer.RpcError>>()
    expect(server.notify("x")).type.toBe<Effect.Effect<void>>()
    expect(server.awaitReceived("tools/call")).type.toBe<Effect.Effect<ScriptedServer.Received>>()
  })
})

describe("fixtures", () => {
  it("live in a scope, and do not fail", () => {
    expect(HttpFixture.make()).type.toBe<Effect.Effect<HttpFixture.HttpFixture, never, Scope.Scope>>()
    expect(AuthFixture.make()).type.toBe<Effect.Effect<AuthFixture.AuthFixture, never, Scope.Scope>>()
    expect(HttpFixture.make).type.toBeCallableWith({ override: () => HttpFixture.hang, answers: "sse" })
    expect(HttpFixture.make).type.not.toBeCallableWith({ override: () => "hang" })
  })

  it("a process is a configuration", () => {
    expect(StdioFixture.config(["noise", "flooderr=100"])).type.toBeAssignableTo<McpConfig.ServerConfigInput>()
    expect(StdioFixture.config).type.not.toBeCallableWith(["noisy"])
    expect(StdioFixture.config).type.not.toBeCallableWith([], { transport: "http" })
  })
})
