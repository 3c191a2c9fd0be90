/**
 * Many servers, one manager: it connects them together, says honestly which of them work, and ends them all.
 *
 * Owns: which servers there are, the order of what is done to them, and one snapshot of how they are, in configured order.
 * May not touch: sessions, and when a lost one comes back. That is each connection's own affair.
 *
 * A server is in one phase:
 *
 * | phase          | means                                                         | in `active`             |
 * |----------------|---------------------------------------------------------------|-------------------------|
 * | `disconnected` | not connected yet, or not any more                            | before the first start  |
 * | `connecting`   | the manager is connecting it                                  | if its tools are known  |
 * | `connected`    | it can be used                                                | yes                     |
 * | `reconnecting` | its session was lost, and comes back by itself; calls wait    | yes                     |
 * | `idle`         | nobody uses it; the next use connects                         | yes                     |
 * | `failed`       | it could not be connected, or reconnected; see `error`        | no                      |
 * | `disabled`     | by its configuration                                          | no                      |
 *
 * With `dropFailed: false` every server that is not disabled is in `active`, whatever its phase.
 *
 * What is done to servers (`connectAll`, `connect`, `reconnect`, `disconnect`, `reload`, `close`) is done one after the
 * other, in order of arrival. Interrupting one that waits changes nothing; one that runs closes what it has opened.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Catalog from "./Catalog.js"
import type * as CatalogStore from "./CatalogStore.js"
import * as internal from "./internal/manager/manager.js"
import type * as McpConfig from "./McpConfig.js"
import type * as McpConnection from "./McpConnection.js"
import type * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"
import type * as McpTransport from "./McpTransport.js"

/**
 * What a server is doing, as the table of this module says it.
 *
 * @since 0.1.0
 * @category models
 */
export type Phase =
  | "disconnected"
  | "connecting"
  | "connected"
  | "reconnecting"
  | "idle"
  | "failed"
  | "disabled"

/**
 * How one server is. Frozen, with the error and the state as they are.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerStatus {
  readonly name: string
  readonly phase: Phase
  /** Nothing where it can't be used; then `error` says why. */
  readonly config: McpConfig.ServerConfig | undefined
  /** What its connection is doing; nothing where there is none yet. */
  readonly state: McpConnection.ConnectionState | undefined
  /** Why it has failed. */
  readonly error: McpError.McpError | undefined
  /** What did not end in order when it was closed last. */
  readonly closeError: McpError.CloseFailed | undefined
  /** Its tools, as far as they are known: from the server, or from an earlier run. */
  readonly tools: Catalog.Snapshot<McpProtocol.Tool> | undefined
}

/**
 * How all of them are, in configured order.
 *
 * @since 0.1.0
 * @category models
 */
export interface ManagerState {
  readonly servers: ReadonlyArray<ServerStatus>
  /** The names of those that agents get. */
  readonly active: ReadonlyArray<string>
}

/**
 * How long the start may take before tools of an earlier run are shown.
 *
 * @since 0.1.0
 * @category options
 */
export interface StartupOptions {
  /**
   * After this time a server that is still connecting is represented by the tools that are stored of it, if there are any; one
   * without is waited for. Default: 250 ms.
   */
  readonly gate?: Duration.DurationInput | undefined
  /** `false` waits for every server. Default: `true`. */
  readonly deferred?: boolean | undefined
}

/**
 * How a manager is made.
 *
 * @since 0.1.0
 * @category options
 */
export interface ManagerOptions {
  /**
   * The servers, in their order: configurations, or what stands for them, such as a URL (see `McpConfig.from`). One that is
   * not valid is one that has failed; one that is there twice, word by word, is there once; two different ones with the same
   * name are an error.
   */
  readonly servers: ReadonlyArray<McpConfig.Shorthand>
  /** Default: `"parallel"`. */
  readonly mode?: "sequential" | "parallel" | undefined
  /** How many servers are connected at once in parallel mode. Default: all. */
  readonly concurrency?: number | undefined
  /** All or nothing: a server that can't be connected ends the attempt, and with it all it has opened. Default: `false`. */
  readonly strict?: boolean | undefined
  /** Whether servers that have failed are left out of `active`. Default: `true`. */
  readonly dropFailed?: boolean | undefined
  /**
   * How long one server may take until it can be used, its tools included. `null`: no bound of the manager. Default: 10 s,
   * or the `timeouts.handshake` that is configured for the server, if that is longer.
   */
  readonly connectTimeout?: Duration.DurationInput | null | undefined
  /** How long one server may take to end. It goes on ending in the background. `null`: as long as it takes. Default: 10 s. */
  readonly closeTimeout?: Duration.DurationInput | null | undefined
  readonly startup?: StartupOptions | undefined
  /** How many requests may be under way at once over all servers; the turns go round by server. Default: no bound. */
  readonly requests?: number | undefined
  /** Whether prompts, resources and templates are read in the background after a server is connected. Default: `true`. */
  readonly enrich?: boolean | undefined
  /** How connections are made. */
  readonly connection?:
    | McpConnection.ConnectionOptions
    | ((config: McpConfig.ServerConfig) => McpConnection.ConnectionOptions)
    | undefined
}

/**
 * What a change of the configuration has done. Names, in configured order.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reloaded {
  readonly added: ReadonlyArray<string>
  readonly restarted: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
  readonly unchanged: ReadonlyArray<string>
}

/**
 * Many servers. When its scope has closed, all that can fail fails with `ConnectionUnavailable`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Manager {
  /** How all servers are, at once. */
  readonly state: Effect.Effect<ManagerState>
  /** How they are, then each change. A slow reader misses what is between, never the last. */
  readonly changes: Stream.Stream<ManagerState>
  /** The names of all servers, in their order; so are those of the other views. */
  readonly configured: Effect.Effect<ReadonlyArray<string>>
  readonly connected: Effect.Effect<ReadonlyArray<string>>
  readonly failed: Effect.Effect<ReadonlyArray<string>>
  /** Those that agents get. Before the first start: all that may be connected, since their first use connects them. */
  readonly active: Effect.Effect<ReadonlyArray<string>>
  /** Why servers have failed, or else what did not end in order. */
  readonly errors: Effect.Effect<ReadonlyMap<string, McpError.McpError>>
  readonly status: (
    name: string
  ) => Effect.Effect<ServerStatus, McpError.UnknownServer | McpError.ConnectionUnavailable>
  /**
   * The connection of a server, which is not opened by that. It stays the same one until the server is removed, changed, or
   * did not end in time. `ConfigInvalid`: its configuration can't be used.
   */
  readonly connection: (name: string) => Effect.Effect<
    McpConnection.McpConnection,
    McpError.UnknownServer | McpError.ConfigInvalid | McpError.ConnectionUnavailable
  >
  /**
   * Calls a tool. A server that is not connected yet is connected by it, or waited for; a tool that is only known from an
   * earlier run is looked up in the live list first.
   */
  readonly callTool: (
    server: string,
    params: McpProtocol.CallToolParams,
    options?: McpConnection.CallOptions
  ) => Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
  /**
   * Connects all servers that are not connected, and gives the names of the active ones. Fails only where all of them must be
   * connected (`strict`): then as it was before.
   */
  readonly connectAll: Effect.Effect<ReadonlyArray<string>, McpError.ServersFailed | McpError.ConnectionUnavailable>
  /**
   * Connects one server, or waits for the attempt that is under way. Nothing is to be done for one that is connected, idle, or
   * comes back by itself, unless it is idle and its tools are not known. Fails with the server's error, which is also recorded.
   */
  readonly connect: (name: string) => Effect.Effect<void, McpError.McpError>
  /**
   * Connects those that have failed, and touches no other; with `failedOnly: false`, all are closed first. Gives the names of
   * the active ones.
   */
  readonly reconnect: (
    options?: { readonly failedOnly?: boolean | undefined }
  ) => Effect.Effect<ReadonlyArray<string>, McpError.ServersFailed | McpError.ConnectionUnavailable>
  /** Closes one server. Until it is connected again, its use is an error. */
  readonly disconnect: (name: string) => Effect.Effect<void, McpError.UnknownServer | McpError.ConnectionUnavailable>
  /** Takes other servers for those there are. Only what has changed is touched: an unchanged server does not notice it. */
  readonly reload: (
    servers: ReadonlyArray<McpConfig.Shorthand>
  ) => Effect.Effect<Reloaded, McpError.ConfigInvalid | McpError.ServersFailed | McpError.ConnectionUnavailable>
  /**
   * Closes all servers, in reverse order, and gives what did not end in order. Until they are connected again, their use is
   * an error.
   */
  readonly close: Effect.Effect<ReadonlyArray<McpError.CloseFailed>, McpError.ConnectionUnavailable>
}

/**
 * The service of an application that has one manager.
 *
 * @since 0.1.0
 * @category tags
 */
export class McpManager extends Context.Tag("@mcp-runtime/core/McpManager")<McpManager, Manager>() {}

/**
 * A manager. Nothing is connected yet. When the scope closes, everything is closed for good.
 *
 * @example
 * ```ts
 * import { McpManager } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const manager = yield* McpManager.make({
 *     servers: [
 *       { name: "docs", transport: "http", url: "http://127.0.0.1:8080/mcp" },
 *       { name: "files", transport: "stdio", command: "my-files-server" }
 *     ]
 *   })
 *   yield* manager.connectAll
 *   for (const [server, error] of yield* manager.errors) yield* Effect.logWarning(`${server}: ${error.message}`)
 *   return yield* manager.callTool("docs", { name: "search", arguments: { text: "effect" } })
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (
  options: ManagerOptions
) => Effect.Effect<
  Manager,
  McpError.ConfigInvalid,
  McpTransport.McpTransport | CatalogStore.CatalogStore | Scope.Scope
> = internal.make

/**
 * A manager that has connected its servers. Building the layer takes as long as `connectAll`, and fails with it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: ManagerOptions
): Layer.Layer<
  McpManager,
  McpError.ConfigInvalid | McpError.ServersFailed,
  McpTransport.McpTransport | CatalogStore.CatalogStore
> =>
  Layer.scoped(
    McpManager,
    // Its scope is open.
    Effect.tap(make(options), (manager) => Effect.catchTag(manager.connectAll, "ConnectionUnavailable", Effect.die))
  )
