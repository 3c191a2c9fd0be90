import type { KeyValueStore } from "@effect/platform"
import type { McpError, McpTransport } from "@mcp-runtime/core"
import {
  type Catalog,
  CatalogStore,
  McpCatalog,
  McpConfig,
  type McpConnection,
  McpManager,
  type McpProtocol,
  McpRuntime,
  RequestLimit
} from "@mcp-runtime/core"
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import type { Effect } from "effect"
import { Config, type ConfigError, type Layer, type Scope, type Stream } from "effect"
import { describe, expect, it } from "tstyche"

declare const manager: McpManager.Manager
declare const lists: McpCatalog.Lists
declare const connection: McpConnection.McpConnection
declare const platform: Layer.Layer<McpTransport.McpTransport | CatalogStore.CatalogStore>

declare const sdkServer: McpServer

const servers = [{ name: "docs", transport: "http", url: "http://127.0.0.1:1/mcp" }] as const

describe("McpManager", () => {
  it("needs transports, a store and a scope, and fails only for a wrong configuration", () => {
    expect(McpManager.make({ servers })).type.toBe<
      Effect.Effect<
        McpManager.Manager,
        McpError.ConfigInvalid,
        McpTransport.McpTransport | CatalogStore.CatalogStore | Scope.Scope
      >
    >()
    expect(McpManager.layer({ servers })).type.toBe<
      Layer.Layer<
        McpManager.McpManager,
        McpError.ConfigInvalid | McpError.ServersFailed,
        McpTransport.McpTransport | CatalogStore.CatalogStore
      >
    >()
  })

  it("takes what a manager can do", () => {
    expect(McpManager.make).type.toBeCallableWith({
      servers,
      mode: "sequential",
      concurrency: 4,
      strict: true,
      dropFailed: false,
      connectTimeout: null,
      closeTimeout: "5 seconds",
      startup: { gate: "1 second", deferred: true },
      requests: 100,
      enrich: false,
      connection: (config: McpConfig.ServerConfig) => ({
        logLevel: config.logLevel,
        catalog: { cache: "off" as const }
      })
    })
    expect(McpManager.make).type.not.toBeCallableWith({})
    expect(McpManager.make).type.not.toBeCallableWith({ servers, mode: "both" })
    expect(McpManager.make).type.not.toBeCallableWith({ servers, startup: { gate: true } })
    expect(McpManager.make).type.not.toBeCallableWith({ servers: [{ name: "x", transport: "stdio" }] })
    expect(McpManager.make).type.not.toBeCallableWith({ servers, timeout: "1 second" })
  })

  it("takes what says it all in place of a configuration", () => {
    const short = [
      "https://docs.example.com/mcp",
      "./files.js",
      new URL("https://docs.example.com/mcp"),
      sdkServer,
      () => sdkServer,
      McpConfig.from("./files.js", "others"),
      servers[0]
    ]
    expect(McpManager.make).type.toBeCallableWith({ servers: short })
    expect(McpManager.layer).type.toBeCallableWith({ servers: short })
    expect(McpRuntime.layer).type.toBeCallableWith({ servers: short })
    expect(McpRuntime.promise).type.toBeCallableWith({ servers: short }, platform)
    expect(McpRuntime.layerConfig).type.toBeCallableWith({ servers: Config.succeed(short) })
    expect(manager.reload).type.toBeCallableWith(short)
    for (const none of [1, null, undefined, {}, [], Symbol.iterator] as const) {
      expect(McpManager.make).type.not.toBeCallableWith({ servers: [none] })
    }
    expect(McpManager.make).type.not.toBeCallableWith({ servers: "./files.js" })
    expect(McpManager.make).type.not.toBeCallableWith({ servers: [{ url: "https://docs.example.com/mcp" }] })
    expect(McpManager.make).type.not.toBeCallableWith({ servers: [() => Promise.resolve(sdkServer)] })
    expect(manager.reload).type.not.toBeCallableWith([1])
  })

  it("gives views, and what is done to servers", () => {
    expect<Effect.Effect.Success<typeof manager.state>>().type.toBe<McpManager.ManagerState>()
    expect(manager.changes).type.toBe<Stream.Stream<McpManager.ManagerState>>()
    expect(manager.errors).type.toBe<Effect.Effect<ReadonlyMap<string, McpError.McpError>>>()
    const { connectAll, reconnect, reload } = manager
    expect<Effect.Effect.Success<typeof connectAll>>().type.toBe<ReadonlyArray<string>>()
    expect<Effect.Effect.Success<ReturnType<typeof reconnect>>>().type.toBe<ReadonlyArray<string>>()
    expect<Effect.Effect.Success<ReturnType<typeof reload>>>().type.toBe<McpManager.Reloaded>()
    expect(manager.close).type.toBe<
      Effect.Effect<ReadonlyArray<McpError.CloseFailed>, McpError.ConnectionUnavailable>
    >()
    expect(manager.reconnect).type.toBeCallableWith()
    expect(manager.reconnect).type.toBeCallableWith({ failedOnly: false })
    expect(manager.reconnect).type.not.toBeCallableWith({ all: true })
  })

  it("calls a tool of a server, and gives its connection", () => {
    expect(manager.callTool("docs", { name: "x" }, { timeout: "1 second" })).type.toBe<
      Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
    >()
    expect(manager.callTool).type.not.toBeCallableWith("docs", "x")
    expect(manager.callTool).type.not.toBeCallableWith("docs", { name: "x", args: {} })
    expect<Effect.Effect.Success<ReturnType<typeof manager.connection>>>().type.toBe<McpConnection.McpConnection>()
  })
})

describe("Catalog", () => {
  it("has typed lists", () => {
    expect(connection.catalog.tools.get).type.toBe<
      Effect.Effect<Catalog.Snapshot<McpProtocol.Tool>, McpError.McpError>
    >()
    expect(connection.catalog.prompts.current).type.toBe<
      Effect.Effect<Catalog.Snapshot<McpProtocol.Prompt> | undefined>
    >()
    expect(connection.catalog.templates.changes).type.toBe<
      Stream.Stream<Catalog.Snapshot<McpProtocol.ResourceTemplate>>
    >()
  })

  it("of all servers never fails", () => {
    expect(lists.tools).type.toBe<Effect.Effect<ReadonlyArray<McpCatalog.ServerList<McpProtocol.Tool>>>>()
    expect(McpCatalog.make(manager)).type.toBe<McpCatalog.Lists>()
    expect(McpCatalog.layer).type.toBe<Layer.Layer<McpCatalog.McpCatalog, never, McpManager.McpManager>>()
  })

  it("is stored where a KeyValueStore is", () => {
    expect(CatalogStore.layer()).type.toBe<
      Layer.Layer<CatalogStore.CatalogStore, never, KeyValueStore.KeyValueStore>
    >()
    expect(CatalogStore.layerMemory).type.toBe<Layer.Layer<CatalogStore.CatalogStore>>()
    expect(CatalogStore.layerNone).type.toBe<Layer.Layer<CatalogStore.CatalogStore>>()
  })
})

describe("McpRuntime", () => {
  it("gives manager and catalogue", () => {
    expect(McpRuntime.layer({ servers })).type.toBe<
      Layer.Layer<
        McpManager.McpManager | McpCatalog.McpCatalog,
        McpError.ConfigInvalid | McpError.ServersFailed,
        McpTransport.McpTransport | CatalogStore.CatalogStore
      >
    >()
  })

  it("takes any of its options from Config", () => {
    expect(McpRuntime.layerConfig({ servers: Config.succeed(servers), strict: Config.boolean("STRICT") })).type.toBe<
      Layer.Layer<
        McpManager.McpManager | McpCatalog.McpCatalog,
        McpError.ConfigInvalid | McpError.ServersFailed | ConfigError.ConfigError,
        McpTransport.McpTransport | CatalogStore.CatalogStore
      >
    >()
  })

  it("as promises needs a platform that needs nothing", () => {
    expect(McpRuntime.promise({ servers }, platform)).type.toBe<Promise<McpRuntime.PromiseRuntime>>()
    expect(McpRuntime.promise).type.not.toBeCallableWith({ servers })
    expect(McpRuntime.promise).type.not.toBeCallableWith({ servers }, CatalogStore.layerMemory)
  })
})

describe("RequestLimit", () => {
  it("is shared by connections", () => {
    expect(RequestLimit.make(1)).type.toBe<Effect.Effect<RequestLimit.RequestLimit, McpError.ConfigInvalid>>()
  })
})
