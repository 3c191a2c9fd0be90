import type {
  HttpExchange,
  McpAuth,
  McpCatalog,
  McpConfig,
  McpConnection,
  McpManager,
  McpSession,
  McpTransport,
  RequestLimit,
  RetryPolicy,
  SecretResolver,
  ToolApproval,
  ToolFilter,
  ToolNaming,
  Toolset
} from "@mcp-runtime/core"
import {
  CatalogStore,
  type McpError,
  type McpProtocol,
  McpRuntime,
  type ToolFailure,
  type ToolRequest
} from "@mcp-runtime/core"
import type { Effect, Either, Layer, Stream } from "effect"
import { Config, type ConfigError } from "effect"
import { describe, expect, it } from "tstyche"

/** What a function or a value can fail with, whatever it is: an Effect, a Stream, a Layer, an Either, or a function to one. */
type Fails<A> = A extends (...args: never) => infer B ? Fails<B>
  : A extends Layer.Layer<infer _, infer E, infer __> ? E
  : A extends Either.Either<infer _, infer E> ? E
  : A extends Effect.Effect<infer _, infer E, infer __> ? E
  : A extends Stream.Stream<infer _, infer E, infer __> ? E
  : "it is nothing that fails"

/** What must be there for it. */
type Needs<A> = A extends (...args: never) => infer B ? Needs<B>
  : A extends Layer.Layer<infer _, infer __, infer R> ? R
  : A extends Effect.Effect<infer _, infer __, infer R> ? R
  : "it is nothing that needs anything"

type Any = McpError.McpError
type Unknown = McpError.UnknownServer | McpError.ConnectionUnavailable
type Manager = McpManager.Manager
type Connection = McpConnection.McpConnection
type Session = McpSession.McpSession
type Plain = Toolset.Toolbox<never, string>
type Failing = Toolset.Toolbox<never, string, Any, McpError.ServersFailed>
type OfAsking = ToolNaming.NamesClash | ToolRequest.RequestMissing

declare const servers: ReadonlyArray<McpConfig.Shorthand>
declare const box: Plain
declare const failingBox: Failing
declare const pending: ToolApproval.PendingApproval

describe("what is made fails for what it is made of, and for nothing else", () => {
  it("McpConfig, RetryPolicy, RequestLimit, ToolApproval, ToolFilter", () => {
    expect<Fails<typeof McpConfig.decode>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof McpConfig.decodeUnknown>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof RetryPolicy.make>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof RetryPolicy.openAiAgents>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof RetryPolicy.uiPath>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof RequestLimit.make>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof ToolApproval.make>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof ToolApproval.decode>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof ToolFilter.decodeNames>>().type.toBe<McpError.ConfigInvalid>()
  })

  it("McpConnection, McpManager, Toolset", () => {
    expect<Fails<typeof McpConnection.make>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof McpConnection.fromChannel>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof McpManager.make>>().type.toBe<McpError.ConfigInvalid>()
    expect<Fails<typeof Toolset.make>>().type.toBe<McpError.ConfigInvalid>()
  })

  it("a layer that connects also where all servers must be connected, and are not", () => {
    type OfLayer = McpError.ConfigInvalid | McpError.ServersFailed
    expect<Fails<typeof McpManager.layer>>().type.toBe<OfLayer>()
    expect<Fails<typeof McpRuntime.layer>>().type.toBe<OfLayer>()
    const configured = McpRuntime.layerConfig({ servers: Config.succeed(servers) })
    expect<Fails<typeof configured>>().type.toBe<OfLayer | ConfigError.ConfigError>()
    expect<Needs<typeof McpRuntime.layer>>().type.toBe<McpTransport.McpTransport | CatalogStore.CatalogStore>()
  })

  it("the other layers do not fail, but for options", () => {
    expect<Fails<typeof McpCatalog.layer>>().type.toBe<never>()
    expect<Fails<typeof McpTransport.layer>>().type.toBe<never>()
    expect<Fails<typeof McpTransport.layerFetch>>().type.toBe<never>()
    expect<Fails<typeof HttpExchange.layerFetch>>().type.toBe<never>()
    expect<Fails<typeof HttpExchange.layerHttpClient>>().type.toBe<never>()
    expect<Fails<typeof McpAuth.layer>>().type.toBe<never>()
    expect<Fails<typeof McpAuth.layerTokens>>().type.toBe<never>()
    expect<Fails<typeof McpAuth.layerTokensMemory>>().type.toBe<never>()
    expect<Fails<typeof SecretResolver.layerNone>>().type.toBe<never>()
    expect<Fails<typeof SecretResolver.layerMap>>().type.toBe<never>()
    expect<Fails<typeof SecretResolver.layerConfigProvider>>().type.toBe<never>()
    expect<Fails<typeof CatalogStore.layerMemory>>().type.toBe<never>()
    expect<Fails<typeof CatalogStore.layerNone>>().type.toBe<never>()
    const asItIs = CatalogStore.layer()
    const withOptions = CatalogStore.layer({ maxAge: "1 day" })
    expect<Fails<typeof asItIs>>().type.toBe<never>()
    expect<Fails<typeof withOptions>>().type.toBe<McpError.ConfigInvalid>()
  })
})

describe("a manager", () => {
  it("what is looked at does not fail", () => {
    expect<Fails<Manager["state"]>>().type.toBe<never>()
    expect<Fails<Manager["changes"]>>().type.toBe<never>()
    expect<Fails<Manager["configured"]>>().type.toBe<never>()
    expect<Fails<Manager["connected"]>>().type.toBe<never>()
    expect<Fails<Manager["failed"]>>().type.toBe<never>()
    expect<Fails<Manager["active"]>>().type.toBe<never>()
    expect<Fails<Manager["errors"]>>().type.toBe<never>()
  })

  it("what is asked by name fails for names, and once it is closed for good", () => {
    expect<Fails<Manager["status"]>>().type.toBe<Unknown>()
    expect<Fails<Manager["disconnect"]>>().type.toBe<Unknown>()
    expect<Fails<Manager["connection"]>>().type.toBe<Unknown | McpError.ConfigInvalid>()
    expect<Fails<McpCatalog.Lists["of"]>>().type.toBe<Unknown | McpError.ConfigInvalid>()
  })

  it("what concerns all servers tells of all that failed in one error", () => {
    type OfAll = McpError.ServersFailed | McpError.ConnectionUnavailable
    expect<Fails<Manager["connectAll"]>>().type.toBe<OfAll>()
    expect<Fails<Manager["reconnect"]>>().type.toBe<OfAll>()
    expect<Fails<Manager["reload"]>>().type.toBe<OfAll | McpError.ConfigInvalid>()
    expect<Fails<Manager["close"]>>().type.toBe<McpError.ConnectionUnavailable>()
  })

  it("what connects one server, or calls it, fails with anything", () => {
    expect<Fails<Manager["connect"]>>().type.toBe<Any>()
    expect<Fails<Manager["callTool"]>>().type.toBe<Any>()
  })

  it("lists do not fail: each says why it is not there", () => {
    expect<Fails<McpCatalog.Lists["current"]>>().type.toBe<never>()
    expect<Fails<McpCatalog.Lists["changes"]>>().type.toBe<never>()
    expect<Fails<McpCatalog.Lists["tools"]>>().type.toBe<never>()
    expect<Fails<McpCatalog.Lists["prompts"]>>().type.toBe<never>()
    expect<Fails<McpCatalog.Lists["resources"]>>().type.toBe<never>()
    expect<Fails<McpCatalog.Lists["templates"]>>().type.toBe<never>()
    expect<Fails<McpCatalog.Lists["invalidate"]>>().type.toBe<never>()
  })
})

describe("a connection and a session", () => {
  it("what is looked at, and what ends it, does not fail", () => {
    expect<Fails<Connection["state"]>>().type.toBe<never>()
    expect<Fails<Connection["changes"]>>().type.toBe<never>()
    expect<Fails<Connection["notifications"]>>().type.toBe<never>()
    expect<Fails<Connection["stats"]>>().type.toBe<never>()
    expect<Fails<Connection["close"]>>().type.toBe<never>()
    expect<Fails<Connection["disable"]>>().type.toBe<never>()
    expect<Fails<Connection["enable"]>>().type.toBe<never>()
    expect<Fails<Session["stats"]>>().type.toBe<never>()
    expect<Fails<Session["quiet"]>>().type.toBe<never>()
    expect<Fails<Session["incoming"]>>().type.toBe<never>()
  })

  it("what needs a session, and every operation, fails with anything, and needs nothing", () => {
    expect<Fails<Connection["awaitReady"]>>().type.toBe<Any>()
    expect<Fails<Connection["session"]>>().type.toBe<Any>()
    expect<Fails<Connection["reconnect"]>>().type.toBe<Any>()
    expect<Fails<Connection["request"]>>().type.toBe<Any>()
    expect<Fails<Connection["notify"]>>().type.toBe<Any>()
    expect<Fails<Session["request"]>>().type.toBe<Any>()
    expect<Fails<Session["notify"]>>().type.toBe<Any>()
    expect<Fails<typeof McpSession.open>>().type.toBe<Any>()
    type OfConnections = typeof McpConnection
    type OfSessions = typeof McpSession
    type Shared =
      | "callTool"
      | "complete"
      | "getPrompt"
      | "listPrompts"
      | "listResources"
      | "listResourceTemplates"
      | "listTools"
      | "ping"
      | "readResource"
      | "sendRootsChanged"
      | "setLogLevel"
      | "subscribe"
      | "unsubscribe"
    expect<Fails<OfConnections[Shared]>>().type.toBe<Any>()
    expect<Fails<OfSessions[Shared]>>().type.toBe<Any>()
    expect<Needs<OfConnections[Shared]>>().type.toBe<never>()
    expect<Needs<OfSessions[Shared]>>().type.toBe<never>()
    expect<
      Fails<OfSessions["callToolAsTask" | "cancelTask" | "getTask" | "getTaskResult" | "listTasks" | "startTask"]>
    >()
      .type.toBe<Any>()
  })

  it("lists of one server fail only where they are read", () => {
    expect<Fails<Connection["catalog"]["tools"]["get"]>>().type.toBe<Any>()
    expect<Fails<Connection["catalog"]["tools"]["refresh"]>>().type.toBe<Any>()
    expect<Fails<Connection["catalog"]["tools"]["current"]>>().type.toBe<never>()
    expect<Fails<Connection["catalog"]["tools"]["fresh"]>>().type.toBe<never>()
    expect<Fails<Connection["catalog"]["tools"]["invalidate"]>>().type.toBe<never>()
    expect<Fails<Connection["catalog"]["tools"]["changes"]>>().type.toBe<never>()
    expect<Fails<Connection["catalog"]["restore"]>>().type.toBe<never>()
  })
})

describe("a toolbox", () => {
  it("a listing fails for names and for who asks, and for servers where they must all be there", () => {
    expect<Fails<Plain["list"]>>().type.toBe<OfAsking>()
    expect<Fails<Plain["changes"]>>().type.toBe<OfAsking>()
    expect<Fails<Failing["list"]>>().type.toBe<OfAsking | McpError.ServersFailed>()
    expect<Fails<Failing["changes"]>>().type.toBe<OfAsking | McpError.ServersFailed>()
  })

  it("a call fails where a person has to say yes, or for what was said, and else only where failures propagate", () => {
    const plain = box.call("a")
    const failing = failingBox.call("a")
    expect<Fails<typeof plain>>().type.toBe<OfAsking | ToolApproval.ApprovalRequired>()
    expect<Fails<typeof failing>>().type.toBe<OfAsking | ToolApproval.ApprovalRequired | Any>()
    const approved = box.approve(pending)
    const approvedFailing = failingBox.approve(pending)
    expect<Fails<typeof approved>>().type.toBe<OfAsking | McpError.ConfigInvalid>()
    expect<Fails<typeof approvedFailing>>().type.toBe<OfAsking | Any>()
  })

  it("who says no fails only where there is nothing to say no to", () => {
    expect<Fails<Plain["reject"]>>().type.toBe<McpError.ConfigInvalid>()
  })

  it("policies, filters and names", () => {
    expect<Fails<Extract<ReturnType<ToolFilter.ToolFilter["decide"]>, object>>>().type.toBe<never>()
    expect<Fails<Extract<ReturnType<ToolApproval.ToolApproval["decide"]>, object>>>().type.toBe<never>()
    expect<Fails<typeof ToolNaming.prefixed.names>>().type.toBe<ToolNaming.NamesClash>()
    expect<ToolFailure.ToolFailure>().type.toBeAssignableFrom<(error: Any) => string>()
    expect<ToolFailure.ToolFailure>().type.not.toBeAssignableFrom<(error: Any) => Effect.Effect<string, Error>>()
  })
})

describe("every error of ours can be told by its tag", () => {
  it("says the server, what was tried, and whether it was executed", () => {
    type All = Toolset.CallError<Any>
    expect<All>().type.toBeAssignableTo<{
      readonly _tag: string
      readonly server: string
      readonly operation: string
      readonly executed: McpError.Executed
      readonly message: string
    }>()
    expect<Extract<All, { readonly _tag: "ApprovalRequired" }>["pending"]>().type.toBe<ToolApproval.PendingApproval>()
    expect<Extract<All, { readonly _tag: "ToolFailed" }>["result"]>().type.toBe<unknown>()
    expect<McpError.ServersFailed["errors"][0]>().type.not.toBeAssignableFrom<McpError.ServersFailed>()
    expect<McpProtocol.CallToolResult["isError"]>().type.toBe<boolean | undefined>()
  })
})
