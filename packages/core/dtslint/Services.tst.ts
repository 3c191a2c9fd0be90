import type { HttpClient, KeyValueStore } from "@effect/platform"
import {
  HttpExchange,
  McpAuth,
  type McpConfig,
  McpError,
  McpSession,
  McpTransport,
  SecretResolver
} from "@mcp-runtime/core"
import { type Context, Effect, Layer, Redacted, type Scope } from "effect"
import { describe, expect, it } from "tstyche"

declare const http: Context.Tag.Service<HttpExchange.HttpExchange>
declare const channel: McpTransport.Channel
declare const config: McpConfig.ServerConfig

describe("McpTransport", () => {
  it("is made of its parts, and a channel lives in a scope", () => {
    expect(McpTransport.make({ http })).type.toBe<Context.Tag.Service<McpTransport.McpTransport>>()
    expect(McpTransport.make({ http }).channel(config)).type.toBe<
      Effect.Effect<McpTransport.Channel, McpError.McpError, Scope.Scope>
    >()
    expect(McpTransport.make).type.toBeCallableWith({
      http,
      stdio: undefined,
      secrets: SecretResolver.none,
      auth: { credentials: () => Effect.succeed(undefined) }
    })
    expect(McpTransport.make).type.not.toBeCallableWith({})
    expect(McpTransport.layer).type.toBe<
      Layer.Layer<McpTransport.McpTransport, never, HttpExchange.HttpExchange>
    >()
    expect(McpTransport.layerFetch).type.toBe<Layer.Layer<McpTransport.McpTransport>>()
  })

  it("a channel of one's own is a channel", () => {
    expect(McpSession.open).type.toBeCallableWith(channel)
    expect<McpTransport.Channel>().type.toBeAssignableFrom<{
      readonly config: McpConfig.InMemoryConfig
      readonly open: () => Effect.Effect<McpTransport.MessageTransport, McpError.SpawnFailed, Scope.Scope>
    }>()
    expect<McpTransport.Channel>().type.not.toBeAssignableFrom<{
      readonly config: McpConfig.InMemoryConfig
      readonly open: () => Effect.Effect<McpTransport.MessageTransport, Error, Scope.Scope>
    }>()
    expect(McpError.unwritable("a", "tools/call")).type.toBe<McpError.ConfigInvalid>()
  })
})

describe("HttpExchange", () => {
  it("is one function, over fetch or the client of the application", () => {
    expect(HttpExchange.fromFetch(fetch)).type.toBe<Context.Tag.Service<HttpExchange.HttpExchange>>()
    expect(HttpExchange.layerFetch).type.toBe<Layer.Layer<HttpExchange.HttpExchange>>()
    expect(HttpExchange.layerHttpClient).type.toBe<
      Layer.Layer<HttpExchange.HttpExchange, never, HttpClient.HttpClient>
    >()
    expect(Layer.provide(McpTransport.layer, HttpExchange.layerHttpClient)).type.toBe<
      Layer.Layer<McpTransport.McpTransport, never, HttpClient.HttpClient>
    >()
  })
})

describe("SecretResolver", () => {
  it("is made of some of its functions, whose values are hidden", () => {
    expect(SecretResolver.make({ store: () => Effect.succeed(Redacted.make("x")) })).type.toBe<
      Context.Tag.Service<SecretResolver.SecretResolver>
    >()
    expect(SecretResolver.make).type.not.toBeCallableWith({ store: () => Effect.succeed("x") })
    expect(SecretResolver.make).type.not.toBeCallableWith({ env: () => Effect.fail(new Error("x")) })
    expect(SecretResolver.make).type.not.toBeCallableWith({ vault: () => Effect.succeed(Redacted.make("x")) })
    expect(SecretResolver.fromMap({ env: { A: "a" } })).type.toBe<Context.Tag.Service<SecretResolver.SecretResolver>>()
  })
})

describe("McpAuth", () => {
  it("needs exchanges and a store, and gives the service", () => {
    expect(McpAuth.layer).type.toBe<
      Layer.Layer<McpAuth.McpAuth, never, HttpExchange.HttpExchange | McpAuth.TokenStore>
    >()
    expect(McpAuth.layerTokens).type.toBe<Layer.Layer<McpAuth.TokenStore, never, KeyValueStore.KeyValueStore>>()
  })

  it("says of a server what is known, and what a person has to visit", () => {
    expect(Effect.flatMap(McpAuth.McpAuth, (_) => _.status(config))).type.toBe<
      Effect.Effect<McpAuth.Status, McpError.McpError, McpAuth.McpAuth>
    >()
    expect(Effect.flatMap(McpAuth.McpAuth, (_) => _.begin(config))).type.toBe<
      Effect.Effect<McpAuth.AuthorizationRequest, McpError.McpError, McpAuth.McpAuth>
    >()
  })
})
