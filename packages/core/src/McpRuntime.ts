/**
 * Everything together, as one layer: the servers of an application, connected, and what they offer.
 *
 * Owns: the assembly.
 * May not touch: anything that one of its parts owns.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Types from "effect/Types"
import type * as CatalogStore from "./CatalogStore.js"
import * as Promises from "./internal/runtime/promises.js"
import * as McpCatalog from "./McpCatalog.js"
import type * as McpConfig from "./McpConfig.js"
import type * as McpConnection from "./McpConnection.js"
import type * as McpError from "./McpError.js"
import * as McpManager from "./McpManager.js"
import type * as McpProtocol from "./McpProtocol.js"
import type * as McpTransport from "./McpTransport.js"
import type * as ToolApproval from "./ToolApproval.js"
import type * as ToolFailure from "./ToolFailure.js"
import type * as ToolFilter from "./ToolFilter.js"
import type * as ToolNaming from "./ToolNaming.js"
import type * as ToolOutput from "./ToolOutput.js"
import type * as Toolset from "./Toolset.js"

/**
 * What the layers give.
 *
 * @since 0.1.0
 * @category models
 */
export type McpRuntime = McpManager.McpManager | McpCatalog.McpCatalog

/**
 * What the layers need: ways to reach servers, and a place where lists outlive the program. `NodeMcp.layer` of
 * `@mcp-runtime/node` gives both.
 *
 * @since 0.1.0
 * @category models
 */
export type Requirements = McpTransport.McpTransport | CatalogStore.CatalogStore

/**
 * How a manager is made, and whether it is connected at once.
 *
 * @since 0.1.0
 * @category options
 */
export interface RuntimeOptions extends McpManager.ManagerOptions {
  /** Whether building the layer connects the servers, as `connectAll` does. Default: `true`. */
  readonly connect?: boolean | undefined
}

/**
 * The manager and the catalogue of these servers. Building it connects them: it waits for those that have nothing stored, and
 * otherwise not longer than the gate. It fails only for a wrong configuration, or where all of them must be connected
 * (`strict`).
 *
 * @example
 * ```ts
 * import { McpCatalog, McpManager, McpRuntime } from "@mcp-runtime/core"
 * import { NodeMcp } from "@mcp-runtime/node"
 * import { Effect, Layer } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const manager = yield* McpManager.McpManager
 *   const catalog = yield* McpCatalog.McpCatalog
 *   for (const { items, server } of yield* catalog.tools) yield* Effect.log(`${server}: ${items.length} tools`)
 *   return yield* manager.callTool("files", { name: "read", arguments: { path: "README.md" } })
 * })
 *
 * const live = McpRuntime.layer({
 *   servers: [{ name: "files", transport: "stdio", command: "my-files-server" }]
 * }).pipe(Layer.provide(NodeMcp.layer))
 *
 * const main = Effect.provide(program, live)
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = ({ connect = true, ...options }: RuntimeOptions): Layer.Layer<
  McpRuntime,
  McpError.ConfigInvalid | McpError.ServersFailed,
  Requirements
> => {
  const manager = connect
    ? McpManager.layer(options)
    : Layer.scoped(McpManager.McpManager, McpManager.make(options))
  // A layer that is there only once would be that of one manager for all of a program.
  return Layer.provideMerge(Layer.fresh(McpCatalog.layer), manager)
}

/**
 * The same from `Config`: values that are not known before the program runs, such as secrets in its environment.
 *
 * @example
 * ```ts
 * import { McpRuntime } from "@mcp-runtime/core"
 * import { Config, Effect } from "effect"
 *
 * const live = McpRuntime.layerConfig({
 *   servers: Config.all([
 *     Config.all({
 *       name: Config.succeed("docs"),
 *       transport: Config.succeed("http" as const),
 *       url: Config.string("DOCS_URL"),
 *       headers: Config.all({ Authorization: Config.redacted("DOCS_TOKEN") })
 *     })
 *   ]),
 *   strict: Config.withDefault(Config.boolean("MCP_STRICT"), false)
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  options: Config.Config.Wrap<RuntimeOptions>
): Layer.Layer<
  McpRuntime,
  McpError.ConfigInvalid | McpError.ServersFailed | ConfigError.ConfigError,
  Requirements
> => Layer.unwrapEffect(Effect.map(Config.unwrap(options), layer))

/**
 * A runtime for code that isn't Effect. Every function gives a promise that is rejected with one of the errors of `McpError`,
 * with the reason of the signal where that has interrupted it, or, from `run`, with whatever the Effect fails with.
 *
 * @since 0.1.0
 * @category promises
 */
export interface PromiseRuntime {
  /** How all servers are, at once. */
  readonly state: () => McpManager.ManagerState
  /** The tools of all active servers. */
  readonly tools: (options?: PromiseOptions) => Promise<ReadonlyArray<McpCatalog.ServerList<McpProtocol.Tool>>>
  /** The prompts of all active servers. */
  readonly prompts: (options?: PromiseOptions) => Promise<ReadonlyArray<McpCatalog.ServerList<McpProtocol.Prompt>>>
  /** The resources of all active servers. */
  readonly resources: (options?: PromiseOptions) => Promise<ReadonlyArray<McpCatalog.ServerList<McpProtocol.Resource>>>
  readonly callTool: (
    server: string,
    params: McpProtocol.CallToolParams,
    options?: PromiseCallOptions
  ) => Promise<McpProtocol.CallToolResult>
  readonly getPrompt: (
    server: string,
    params: McpProtocol.GetPromptParams,
    options?: PromiseCallOptions
  ) => Promise<McpProtocol.GetPromptResult>
  readonly readResource: (
    server: string,
    uri: string,
    options?: PromiseCallOptions
  ) => Promise<McpProtocol.ReadResourceResult>
  readonly connect: (server: string, options?: PromiseOptions) => Promise<void>
  readonly disconnect: (server: string, options?: PromiseOptions) => Promise<void>
  readonly reconnect: (
    options?: { readonly failedOnly?: boolean | undefined } & PromiseOptions
  ) => Promise<ReadonlyArray<string>>
  readonly reload: (
    servers: ReadonlyArray<McpConfig.Shorthand>,
    options?: PromiseOptions
  ) => Promise<McpManager.Reloaded>
  /**
   * The tools as an agent shall have them, with the options of `Toolset.make`. Is rejected with `ConfigInvalid` for wrong ones. What
   * of them is a function gives an `Effect` where it has to wait, such as `Effect.promise`, with the services of the runtime.
   */
  readonly toolset: <
    Filter extends ToolFilter.ToolFilter<never, McpRuntime> = ToolFilter.ToolFilter,
    Approval extends ToolApproval.ToolApproval<never, McpRuntime> = ToolApproval.ToolApproval,
    A = ReadonlyArray<ToolOutput.Part>,
    Servers extends { readonly [server: string]: Toolset.ServerOptions<never, McpRuntime, unknown, unknown> } = {},
    Request = unknown
  >(
    options?: Toolset.ToolsetParts<
      Filter,
      Approval,
      ToolFailure.ToolFailure<McpRuntime, unknown>,
      ToolOutput.ToolOutput<A>,
      & Servers
      & { readonly [Server in keyof Servers]: Types.NoExcessProperties<Toolset.ServerOptions.Any, Servers[Server]> },
      Toolset.MetaResolver<
        ToolFilter.ToolFilter.Request<Filter> & ToolApproval.ToolApproval.Request<Approval> & Request,
        McpRuntime
      >,
      Toolset.CallHook<McpRuntime>,
      "report" | "fail"
    >
  ) => Promise<
    PromiseToolset<
      & ToolFilter.ToolFilter.Request<Filter>
      & ToolApproval.ToolApproval.Request<Approval>
      & Toolset.ServerOptions.Request<Servers[keyof Servers]>
      & Request,
      A | Toolset.ServerOptions.Output<Servers[keyof Servers]>
    >
  >
  /** Anything else, with the services of the runtime. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, McpRuntime>, options?: PromiseOptions) => Promise<A>
  /** Closes everything for good. May be called more than once. */
  readonly close: () => Promise<void>
}

/**
 * @since 0.1.0
 * @category promises
 */
export interface PromiseOptions {
  /** Interrupts what was begun: the promise is rejected, and a server is told that a call was cancelled. */
  readonly signal?: AbortSignal | undefined
}

/**
 * How one request is sent.
 *
 * @since 0.1.0
 * @category promises
 */
export interface PromiseCallOptions extends Omit<McpConnection.CallOptions, "onProgress">, PromiseOptions {
  /**
   * Sees every progress notification of this call, in order, before the call returns. A promise that it gives is waited for; what
   * it throws is logged and changes nothing.
   */
  readonly onProgress?: ((progress: McpProtocol.Progress) => unknown) | undefined
}

/**
 * Tools of servers, as an application wants its agents to have them: a `Toolset` for code that isn't Effect. It ends with its runtime.
 *
 * @example
 * ```ts
 * import { type McpRuntime, ToolApproval } from "@mcp-runtime/core"
 *
 * declare const ask: (question: string) => Promise<boolean>
 *
 * const callWithPerson = async (mcp: McpRuntime.PromiseRuntime, name: string, args: unknown, signal: AbortSignal) => {
 *   const { approve, call, reject } = (await mcp.toolset({ approval: ToolApproval.destructive })).for()
 *   try {
 *     return await call(name, args, { signal })
 *   } catch (error) {
 *     if (!(error instanceof ToolApproval.ApprovalRequired)) throw error
 *     return await ask(error.message) ? await approve(error.pending, { signal }) : await reject(error.pending)
 *   }
 * }
 * ```
 *
 * @since 0.1.0
 * @category promises
 */
export interface PromiseToolset<Request, out A> {
  readonly id: string
  /** For one agent in one run. Where something depends on who asks, it must be said. */
  readonly for: (...request: Toolset.RequestArgs<Request>) => PromiseToolbox<A>
  /** What servers say about themselves, marked as coming from outside. Empty unless wished. */
  readonly instructions: (
    options?: PromiseOptions
  ) => Promise<ReadonlyArray<{ readonly server: string; readonly text: string }>>
}

/**
 * What one agent in one run sees and may call. What of it fails in a `Toolbox` is rejected with the same errors, and with
 * `ConnectionUnavailable` once the runtime is closed.
 *
 * @since 0.1.0
 * @category promises
 */
export interface PromiseToolbox<out A> {
  /** The tools. Decided anew each time; what has not changed since is shared. */
  readonly list: (options?: PromiseOptions) => Promise<Toolset.ToolList>
  /**
   * Calls a tool: by its name, or by what tells it. Arguments may be JSON as text. Most of what goes wrong is a `Failure`, for the
   * model. Where the call needs approval it is rejected with `ToolApproval.ApprovalRequired`, whose `pending` is for `approve` or
   * `reject`.
   */
  readonly call: <O extends PromiseToolCallOptions = {}>(
    tool: string | ToolNaming.ToolIdentity,
    args?: unknown,
    options?: O & Types.NoExcessProperties<PromiseToolCallOptions, O>
  ) => Promise<Toolset.ToolResult<Toolset.CallOptions.Output<O, A>>>
  /** Makes the call that waited for approval, once. Is rejected with `ConfigInvalid` where it can't be the one that was asked about. */
  readonly approve: <O extends PromiseToolCallOptions = {}>(
    pending: ToolApproval.PendingApproval,
    options?: O & Types.NoExcessProperties<PromiseToolCallOptions, O>
  ) => Promise<Toolset.ToolResult<Toolset.CallOptions.Output<O, A>>>
  /** Says to the model that a person did not want the call. */
  readonly reject: (
    pending: ToolApproval.PendingApproval,
    reason?: string,
    options?: PromiseOptions
  ) => Promise<Toolset.ToolResult<never>>
}

/**
 * How one call of an agent is made. What is not said here is as in the toolset.
 *
 * @since 0.1.0
 * @category promises
 */
export interface PromiseToolCallOptions extends
  PromiseCallOptions,
  Omit<
    Toolset.CallParts<ToolFailure.ToolFailure<McpRuntime, unknown>, ToolOutput.ToolOutput.Any>,
    keyof McpConnection.CallOptions
  >
{}

/**
 * A runtime for code that isn't Effect, connected. `platform` is what it needs, such as `NodeMcp.layer`.
 *
 * @example
 * ```ts
 * import { McpRuntime } from "@mcp-runtime/core"
 * import { NodeMcp } from "@mcp-runtime/node"
 *
 * const main = async () => {
 *   const mcp = await McpRuntime.promise({
 *     servers: [{ name: "files", transport: "stdio", command: "my-files-server" }]
 *   }, NodeMcp.layer)
 *   try {
 *     const result = await mcp.callTool("files", { name: "read", arguments: { path: "README.md" } }, { timeout: "5 seconds" })
 *     console.log(result.content)
 *   } finally {
 *     await mcp.close()
 *   }
 * }
 * ```
 *
 * @since 0.1.0
 * @category promises
 */
export const promise = <E>(
  options: RuntimeOptions,
  platform: Layer.Layer<Requirements, E>,
  { signal }: PromiseOptions = {}
): Promise<PromiseRuntime> => Promises.make(Layer.provide(Layer.suspend(() => layer(options)), platform), signal)
