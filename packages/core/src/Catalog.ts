/**
 * What one server offers: its tools, prompts, resources and resource templates, unfiltered, as it lists them.
 *
 * Owns: the last good list of each kind, whether it is out of date, and that one listing serves everybody who waits for it.
 * May not touch: connections. It is given a way to list, and is told when a list has changed.
 *
 * A list is complete or not there at all. It is frozen, and shared by reference: reading it copies nothing and waits for
 * nobody. The life of one list:
 *
 * | it is     | `current`                   | `get`                                | becomes                                           |
 * |-----------|-----------------------------|--------------------------------------|---------------------------------------------------|
 * | unknown   | nothing                     | lists                                | fresh, or stored where a store knows it           |
 * | stored    | the list, `origin: "store"` | lists; the stored one if that fails  | fresh                                             |
 * | fresh     | the list                    | the same, at once                    | stale: the server said so, `invalidate`, its ttl  |
 * | stale     | the list, `stale: true`     | lists; the last good one if it fails | fresh                                             |
 *
 * Every invalidation begins a new generation. A listing that began before it is given to those who waited for it, is kept if
 * there is nothing better, and stays stale: an invalidation during a listing is never lost. Where a later listing was
 * quicker, those who waited for the earlier one get the later one, too.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as internal from "./internal/catalog/catalog.js"
import type * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"

/**
 * The item of each kind of list.
 *
 * @since 0.1.0
 * @category models
 */
export interface Items {
  readonly tools: McpProtocol.Tool
  readonly prompts: McpProtocol.Prompt
  readonly resources: McpProtocol.Resource
  readonly templates: McpProtocol.ResourceTemplate
}

/**
 * @since 0.1.0
 * @category models
 */
export type Kind = keyof Items

/**
 * How long a list that was read counts as fresh: never, until it is called out of date, or so long at most.
 *
 * @since 0.1.0
 * @category options
 */
export type CachePolicy = "off" | "session" | { readonly ttl: Duration.DurationInput }

/**
 * In what a list differs from the one before it. Names of tools and prompts, URIs of resources and templates.
 *
 * @since 0.1.0
 * @category models
 */
export interface Drift {
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
}

/**
 * A complete list at one moment. Frozen.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot<A> extends McpProtocol.Listing<A> {
  /** Read from the server, or from the store, where an earlier run has left it. */
  readonly origin: "server" | "store"
  /** When it was read from the server, in milliseconds. */
  readonly listedAt: number
  /** It may be out of date: what is stored always may. */
  readonly stale: boolean
  /** Why it could not be read again, if it was tried since. */
  readonly error: McpError.McpError | undefined
  /** In what it differs from what was known before; nothing for the first one, or where nothing differs. */
  readonly drift: Drift | undefined
}

/**
 * One list of a server.
 *
 * @since 0.1.0
 * @category models
 */
export interface List<A> {
  /** What is known, at once. */
  readonly current: Effect.Effect<Snapshot<A> | undefined>
  /** What is known, at once, if `get` would give it as it is. */
  readonly fresh: Effect.Effect<Snapshot<A> | undefined>
  /**
   * What is known if it is fresh, else it is read from the server; all who wait at once share one listing. Where it can't be
   * read, the last good one is given, marked stale and with the `error`; it fails only where there is none.
   */
  readonly get: Effect.Effect<Snapshot<A>, McpError.McpError>
  /**
   * Reads it from the server: never what began to be read before. What is known stays known if that fails. All who ask for
   * it at the same moment share one listing.
   */
  readonly refresh: Effect.Effect<Snapshot<A>, McpError.McpError>
  /** It is out of date, also if it is being read right now. */
  readonly invalidate: Effect.Effect<void>
  /** The item of this name (or URI) in the last good list. Synchronous, constant time. */
  readonly find: (key: string) => A | undefined
  /** What is known, then each change of it. A slow reader may miss some in between, never the last. */
  readonly changes: Stream.Stream<Snapshot<A>>
}

/**
 * What one server offers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Catalog {
  /** The configured name of the server. */
  readonly server: string
  readonly tools: List<McpProtocol.Tool>
  readonly prompts: List<McpProtocol.Prompt>
  readonly resources: List<McpProtocol.Resource>
  readonly templates: List<McpProtocol.ResourceTemplate>
  /** All lists are out of date. */
  readonly invalidate: Effect.Effect<void>
  /**
   * Takes what the store knows of each list that is not known yet. Done once, by whoever wants to show lists before there
   * is a connection.
   */
  readonly restore: Effect.Effect<void>
}

/**
 * Where the lists of one server outlive the program. Best effort: it does not fail.
 *
 * @since 0.1.0
 * @category models
 */
export interface Storage {
  readonly load: <K extends Kind>(kind: K) => Effect.Effect<Stored<Items[K]> | undefined>
  /** An empty list takes away what was stored. Not interrupted, and not waited for. */
  readonly save: <K extends Kind>(kind: K, items: ReadonlyArray<Items[K]>) => Effect.Effect<void>
}

/**
 * A list as it was stored: complete, frozen, not too old.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stored<A> extends McpProtocol.Listing<A> {
  readonly listedAt: number
}

/**
 * How lists are kept. Everything is optional.
 *
 * @since 0.1.0
 * @category options
 */
export interface CatalogOptions {
  /** Default: `"session"`. */
  readonly cache?: CachePolicy | undefined
  /**
   * After a server said that a list has changed, how long it must be silent before the list is read again; at the latest
   * after ten times as long. One that says so again at each listing is listened to ever more slowly, down to every 30 seconds.
   * Default: 100 ms.
   */
  readonly debounce?: Duration.DurationInput | undefined
  readonly storage?: Storage | undefined
}

/**
 * A way to list: from the server, completely, or not at all.
 *
 * @since 0.1.0
 * @category models
 */
export interface Source {
  readonly server: string
  /** Called for one reader or for many, but never twice at once for the same generation. */
  readonly list: <K extends Kind>(kind: K) => Effect.Effect<McpProtocol.Listing<Items[K]>, McpError.McpError>
  /**
   * The same because the server said that the list has changed, while nobody waits for it. Nothing where it can't be read
   * just now: it stays stale. Whoever has come to wait for it has it listed with `list` where this fails.
   */
  readonly relist?:
    | (<K extends Kind>(kind: K) => Effect.Effect<McpProtocol.Listing<Items[K]> | undefined, McpError.McpError>)
    | undefined
  /** What the server says unasked: `list_changed` makes a list stale. */
  readonly notifications?: Stream.Stream<McpProtocol.Notification> | undefined
}

/**
 * A catalogue over any way to list. A connection has one already: its `catalog`.
 *
 * @example
 * ```ts
 * import type { McpConnection } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * // From the server the first time; from then on at once, until the server says that they have changed.
 * const namesOfTools = (connection: McpConnection.McpConnection) =>
 *   Effect.map(connection.catalog.tools.get, ({ items }) => items.map((tool) => tool.name))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (
  source: Source,
  options?: CatalogOptions
) => Effect.Effect<Catalog, McpError.ConfigInvalid, Scope.Scope> = internal.make
