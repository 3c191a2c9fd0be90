/**
 * What all servers of a manager offer together: each list with the server it comes from, in configured order.
 *
 * Owns: nothing. It reads the catalogues of the active servers; one server that fails costs its own lists only.
 * May not touch: filters, names, agents. That is for toolsets.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import type * as Catalog from "./Catalog.js"
import * as Glance from "./internal/manager/glance.js"
import * as internal from "./internal/manager/lists.js"
import type * as McpError from "./McpError.js"
import * as McpManager from "./McpManager.js"
import type * as McpProtocol from "./McpProtocol.js"

/**
 * One list of one server. `items` is the list as the catalogue of the server has it: nothing is copied.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerList<A> {
  readonly server: string
  readonly items: ReadonlyArray<A>
  /**
   * `live`: read from the server in this run. `deferred`: known from an earlier run, while the server is not connected; a call
   * connects it. `unknown`: not known yet, or not to be had.
   */
  readonly origin: "live" | "deferred" | "unknown"
  /** It may be out of date. */
  readonly stale: boolean
  /** Why it is not known, or could not be read again. */
  readonly error: McpError.McpError | undefined
}

/**
 * The lists of all active servers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lists {
  /** The tools that are known, at once. The same value as long as nothing changes. */
  readonly current: Effect.Effect<ReadonlyArray<ServerList<McpProtocol.Tool>>>
  /** `current`, then each change of it. A slow reader misses what is between, never the last. */
  readonly changes: Stream.Stream<ReadonlyArray<ServerList<McpProtocol.Tool>>>
  /**
   * The tools: what is not fresh is read from those servers that are connected, all at once; a server that fails has its last
   * good list, or none, and the `error`. So has one that does not answer within 10 seconds.
   */
  readonly tools: Effect.Effect<ReadonlyArray<ServerList<McpProtocol.Tool>>>
  readonly prompts: Effect.Effect<ReadonlyArray<ServerList<McpProtocol.Prompt>>>
  readonly resources: Effect.Effect<ReadonlyArray<ServerList<McpProtocol.Resource>>>
  readonly templates: Effect.Effect<ReadonlyArray<ServerList<McpProtocol.ResourceTemplate>>>
  /** The catalogue of one server. */
  readonly of: (server: string) => Effect.Effect<
    Catalog.Catalog,
    McpError.UnknownServer | McpError.ConfigInvalid | McpError.ConnectionUnavailable
  >
  /** Every list of every server is out of date. */
  readonly invalidate: Effect.Effect<void>
}

/**
 * The service of an application that has one manager.
 *
 * @since 0.1.0
 * @category tags
 */
export class McpCatalog extends Context.Tag("@mcp-runtime/core/McpCatalog")<McpCatalog, Lists>() {}

/**
 * The lists of the servers of a manager.
 *
 * @example
 * ```ts
 * import { McpCatalog, type McpManager } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const show = (manager: McpManager.Manager) =>
 *   Effect.gen(function*() {
 *     for (const { error, items, origin, server } of yield* McpCatalog.make(manager).tools) {
 *       yield* Effect.log(`${server}: ${error?.message ?? `${items.length} tools (${origin})`}`)
 *     }
 *   })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (manager: McpManager.Manager): Lists => internal.make(manager, Glance.at(manager)).lists

/**
 * The lists of the servers of the manager that is there.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<McpCatalog, never, McpManager.McpManager> = Layer.effect(
  McpCatalog,
  Effect.map(McpManager.McpManager, make)
)
