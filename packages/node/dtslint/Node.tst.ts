import type { KeyValueStore } from "@effect/platform"
import {
  type CatalogStore,
  type HttpExchange,
  McpAuth,
  type McpCatalog,
  type McpConfig,
  type McpError,
  type McpManager,
  McpRuntime,
  type McpTransport,
  type SecretResolver
} from "@mcp-runtime/core"
import {
  ConfigFiles,
  FileStore,
  FileTokens,
  LoopbackAuthorizer,
  NodeMcp,
  NodeSecrets,
  StdioTransport,
  UndiciExchange
} from "@mcp-runtime/node"
import { type Context, type Effect, Layer, type Option } from "effect"
import { describe, expect, it } from "tstyche"

declare const stdio: McpConfig.StdioConfig
declare const http: McpConfig.HttpConfig

describe("NodeMcp", () => {
  it("is all that a runtime needs, and does not fail", () => {
    expect(NodeMcp.layer).type.toBe<Layer.Layer<McpTransport.McpTransport | CatalogStore.CatalogStore>>()
    expect(Layer.provide(McpRuntime.layer({ servers: [] }), NodeMcp.layer)).type.toBe<
      Layer.Layer<McpManager.McpManager | McpCatalog.McpCatalog, McpError.ConfigInvalid | McpError.ServersFailed>
    >()
    expect(McpRuntime.promise).type.toBeCallableWith({ servers: [] }, NodeMcp.layer)
    expect(McpRuntime.promise).type.not.toBeCallableWith({ servers: [] }, NodeMcp.layerTransport)
  })

  it("has its parts alone", () => {
    expect(NodeMcp.layerTransport).type.toBe<Layer.Layer<McpTransport.McpTransport>>()
    expect(NodeMcp.layerCatalog()).type.toBe<Layer.Layer<CatalogStore.CatalogStore>>()
    expect(NodeMcp.layerWithoutHttp).type.toBe<
      Layer.Layer<McpTransport.McpTransport, never, HttpExchange.HttpExchange>
    >()
  })
})

describe("ConfigFiles", () => {
  it("gives a runtime and the files, and needs what a runtime needs", () => {
    expect(ConfigFiles.layer()).type.toBe<
      Layer.Layer<
        McpRuntime.McpRuntime | ConfigFiles.ConfigFiles,
        McpError.ConfigInvalid | McpError.ServersFailed,
        McpTransport.McpTransport | CatalogStore.CatalogStore
      >
    >()
    expect(ConfigFiles.layer).type.toBeCallableWith({ explicit: ["a.json"], strict: true, servers: ["./files.js"] })
    expect(ConfigFiles.layer).type.not.toBeCallableWith({ explicit: 1 })
    expect(ConfigFiles.layer).type.not.toBeCallableWith({ watch: "yes" })
  })

  it("reading never fails", () => {
    expect<Effect.Effect.Error<ReturnType<typeof ConfigFiles.load>>>().type.toBe<never>()
    expect<Effect.Effect.Error<ReturnType<typeof ConfigFiles.places>>>().type.toBe<never>()
  })
})

describe("stores", () => {
  it("are a KeyValueStore and a TokenStore, and building them does not fail", () => {
    expect(FileStore.layer("/tmp/a")).type.toBe<Layer.Layer<KeyValueStore.KeyValueStore>>()
    expect(FileStore.cacheDirectory).type.toBe<Effect.Effect<Option.Option<string>>>()
    expect(FileTokens.layer()).type.toBe<Layer.Layer<McpAuth.TokenStore>>()
    expect(FileTokens.directory).type.toBe<Effect.Effect<Option.Option<string>>>()
  })
})

describe("authorization", () => {
  it("is put together of layers that need nothing", () => {
    const auth = Layer.provide(McpAuth.layer, [UndiciExchange.layer, FileTokens.layer(), LoopbackAuthorizer.layer()])
    expect(auth).type.toBe<Layer.Layer<McpAuth.McpAuth>>()
    const { openBrowser: open } = LoopbackAuthorizer
    expect(LoopbackAuthorizer.layer({ open })).type.toBe<Layer.Layer<McpAuth.Authorizer>>()
    expect(LoopbackAuthorizer.layer({ open, timeout: "1 minute" })).type.toBe<
      Layer.Layer<McpAuth.Authorizer, McpError.ConfigInvalid>
    >()
    expect(LoopbackAuthorizer.layer).type.not.toBeCallableWith({ open: () => {} })
  })
})

describe("parts", () => {
  it("a channel of a process is for processes", () => {
    expect(StdioTransport.channel(stdio)).type.toBe<McpTransport.Channel>()
    expect(StdioTransport.channel).type.not.toBeCallableWith(http)
  })

  it("secrets and exchanges are services", () => {
    expect(NodeSecrets.make()).type.toBe<Context.Tag.Service<SecretResolver.SecretResolver>>()
    expect(NodeSecrets.layer()).type.toBe<Layer.Layer<SecretResolver.SecretResolver>>()
    expect(NodeSecrets.current).type.toBe<Effect.Effect<Context.Tag.Service<SecretResolver.SecretResolver>>>()
    expect(UndiciExchange.layerOptions({ connectTimeout: null })).type.toBe<
      Layer.Layer<HttpExchange.HttpExchange, McpError.ConfigInvalid>
    >()
    expect(UndiciExchange.layerOptions).type.not.toBeCallableWith({ closeTimeout: null })
  })
})
