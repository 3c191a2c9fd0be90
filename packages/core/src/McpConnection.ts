/**
 * One supervised server that an application holds for months. Sessions come and go inside it.
 *
 * Owns: when there is a session, what its state is, who waits for it, and what is sent again after a failure.
 * May not touch: the meaning of results, other servers. Its lists are kept by its `catalog`.
 *
 * One owner fiber opens and closes sessions; callers only ask. State has a single writer:
 *
 * | state                | means                                                    | ends with                                   |
 * |----------------------|----------------------------------------------------------|---------------------------------------------|
 * | `Idle`               | nothing is open, nothing was asked for                   | first use, or at once if `"eager"`          |
 * | `Connecting`         | a first try is under way                                 | `Ready`, `Failed`, `NeedsAuthorization`     |
 * | `Ready`              | calls are sent at once                                   | a loss, `close`, idleness                   |
 * | `Degraded`           | there is a session, but something of it is out of reach  | recovery (`Ready`), or a loss               |
 * | `Reconnecting`       | the session was lost; tries follow their schedule        | `Ready`, `Failed`, `NeedsAuthorization`     |
 * | `NeedsAuthorization` | the server refused our credentials                       | new ones, or the next use: a try            |
 * | `Failed`             | the tries are over                                       | the next use tries again (see `retryAt`)    |
 * | `Disabled`           | by configuration or `disable`                            | `enable`                                    |
 * | `Closed`             | by `close`, or for good with its scope                   | the next use, unless for good               |
 *
 * ```text
 * connection scope
 *   owner fiber ............ all of the above
 *   channel ................ HTTP agent and sockets; opened with the first session, closed by `close` and by idleness
 *     session 1, 2, 3 ...... one after the other; one that is lost may drain while the next is there
 * ```
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as LogLevel from "effect/LogLevel"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Tracer from "effect/Tracer"
import type * as Catalog from "./Catalog.js"
import type * as ClientHandlers from "./ClientHandlers.js"
import * as internal from "./internal/connection/connection.js"
import type * as McpConfig from "./McpConfig.js"
import type * as McpError from "./McpError.js"
import type * as McpMetrics from "./McpMetrics.js"
import type * as McpProtocol from "./McpProtocol.js"
import type * as McpSession from "./McpSession.js"
import * as McpTransport from "./McpTransport.js"
import type * as RequestLimit from "./RequestLimit.js"
import type * as RetryPolicy from "./RetryPolicy.js"
import type * as WireTap from "./WireTap.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("@mcp-runtime/core/McpConnection")

/**
 * @since 0.1.0
 * @category symbols
 */
export type TypeId = typeof TypeId

/**
 * What a connection is doing, with its facts. Times are milliseconds of the Effect clock.
 *
 * @since 0.1.0
 * @category models
 */
export type ConnectionState =
  | { readonly _tag: "Idle"; readonly since: number }
  | { readonly _tag: "Connecting"; readonly since: number; readonly attempt: number }
  | {
    readonly _tag: "Ready"
    readonly since: number
    readonly generation: number
    readonly info: McpSession.SessionInfo
  }
  | {
    readonly _tag: "Degraded"
    readonly since: number
    readonly generation: number
    readonly info: McpSession.SessionInfo
    /** The server's own stream is down (calls work), it could not be reached, or it has refused the credentials of a call. */
    readonly reason: "StreamDown" | "Unreachable" | "Unauthorized"
    readonly error: McpError.McpError | undefined
  }
  | {
    readonly _tag: "Reconnecting"
    readonly since: number
    readonly attempt: number
    readonly error: McpError.McpError
    /** When the next try begins; nothing while one is under way. */
    readonly nextAt: number | undefined
  }
  | { readonly _tag: "NeedsAuthorization"; readonly since: number; readonly error: McpError.McpError }
  | {
    readonly _tag: "Failed"
    readonly since: number
    readonly error: McpError.McpError
    /** Until when a use fails without a try. */
    readonly retryAt: number | undefined
  }
  | { readonly _tag: "Disabled"; readonly since: number }
  | { readonly _tag: "Closed"; readonly since: number }

/**
 * What was counted since the connection was made.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConnectionStats {
  /** How many sessions have been opened. */
  readonly sessions: number
  /** How many tries to open one have been made. */
  readonly attempts: number
  /** How many sessions have ended without our doing. */
  readonly losses: number
  /** When the last of them was lost, in milliseconds of the Effect clock, and why: also when all is well again. */
  readonly lastLoss: { readonly at: number; readonly error: McpError.McpError } | undefined
  /** How many requests were sent again. */
  readonly replays: number
  readonly holders: number
  /** The sessions that are open now: the current one, and lost ones whose last requests still run. */
  readonly open: number
}

/**
 * How a lost session comes back. Everything is optional.
 *
 * @since 0.1.0
 * @category options
 */
export interface ReconnectOptions {
  /**
   * When the tries follow each other, from the moment of the loss. Where it ends, the tries end (`Failed`), until `coolDown`
   * has passed. Default: at once, then after 500, 1000, 2000 and 4000 ms; then, for remote servers, every 15 s, growing to
   * 5 minutes, without end.
   */
  readonly schedule?: Schedule.Schedule<unknown, McpError.McpError> | undefined
  /** A session that has lasted so long was a success: the schedule begins anew. Default: 30 seconds. */
  readonly stableAfter?: Duration.DurationInput | undefined
  /** After the last try, how long a use fails without a try; it doubles up to ten times as much. Default: 1 minute. */
  readonly coolDown?: Duration.DurationInput | undefined
}

/**
 * How a connection is made. Everything is optional.
 *
 * @since 0.1.0
 * @category options
 */
export interface ConnectionOptions extends Pick<McpSession.SessionOptions, "clientInfo" | "capabilities" | "logLevel"> {
  readonly handlers?: ClientHandlers.Handlers | undefined
  /** The budget of each call. Default: `RetryPolicy.defaultPolicy`. */
  readonly retry?: RetryPolicy.RetryPolicy | undefined
  readonly reconnect?: ReconnectOptions | undefined
  /**
   * Shared with other connections: how many requests may be under way over all of them at once. The turns go round by
   * connection.
   */
  readonly requests?: RequestLimit.RequestLimit | undefined
  /**
   * Whether servers are told, in `_meta`, which trace a request is part of, where there is a span; a function says what else they
   * are told. Default: `true`.
   */
  readonly traceContext?: boolean | ((span: Tracer.AnySpan) => TraceContext) | undefined
  /** Whether anything is counted, see `McpMetrics`. Default: `true`. */
  readonly metrics?: boolean | McpMetrics.MetricsOptions | undefined
  /** Hears every message of all sessions, both ways. */
  readonly tap?: WireTap.WireTap | undefined
  /**
   * At which level it is logged that a session is opened, ready, and closed by the application. What goes wrong is logged as a
   * warning in any case, and its mending at `Info`. Default: `LogLevel.Debug`; for an operator, `LogLevel.Info`.
   */
  readonly logLifecycle?: LogLevel.LogLevel | undefined
  /** How lists are kept. */
  readonly catalog?: Catalog.CatalogOptions | undefined
}

/**
 * What a server is told of a trace beside the span: W3C `tracestate` and `baggage`.
 *
 * @since 0.1.0
 * @category options
 */
export interface TraceContext {
  readonly tracestate?: string | undefined
  readonly baggage?: string | undefined
}

/**
 * How one request is sent.
 *
 * `replay` says when a request may be sent again after a failure: `"auto"` when it certainly did not run, or when running
 * twice does no harm (lists, reads; tools that a `trusted` server calls read-only or idempotent); `"always"` whenever the
 * failure may pass; `"never"` not at all.
 *
 * @since 0.1.0
 * @category options
 */
export interface CallOptions extends McpSession.RequestOptions {
  readonly replay?: "auto" | "always" | "never" | undefined
  /** The budget of this call. */
  readonly retry?: RetryPolicy.RetryPolicy | undefined
}

/**
 * One request, as `perform` wants it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Operation<A> {
  /** The method, as errors and spans name it. */
  readonly method: string
  /** What it is about: the name of a tool, for example. */
  readonly target?: string | undefined
  /** The URI of the resource that it is about, for its span. */
  readonly uri?: string | undefined
  /** Whether running it twice does no harm. Default: what the protocol says of the method. */
  readonly idempotent?: boolean | undefined
  readonly options?: CallOptions | undefined
  /** Sends it over a session, with the options that it is given. May run several times. */
  readonly send: (
    session: McpSession.McpSession,
    options: McpSession.RequestOptions | undefined
  ) => Effect.Effect<A, McpError.McpError>
}

/**
 * A supervised server. Only this module makes one: its functions need more of it than is shown.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpConnection {
  readonly [TypeId]: TypeId
  /** The configured name of the server. */
  readonly server: string
  readonly config: McpConfig.ServerConfig
  readonly state: Effect.Effect<ConnectionState>
  /** The current state, then each change. A slow reader may miss states in between, never the last. */
  readonly changes: Stream.Stream<ConnectionState>
  /** Waits until there is a session, and makes one if there is none. */
  readonly awaitReady: Effect.Effect<McpSession.SessionInfo, McpError.McpError>
  /**
   * The current session, for what this module has no function for. What is sent over it is not sent again, and it is not
   * replaced when it is lost.
   */
  readonly session: Effect.Effect<McpSession.McpSession, McpError.McpError>
  /** Counts as a user until the scope closes: with `lifetime: { idle }` the session is kept meanwhile. Connects. */
  readonly hold: Effect.Effect<McpSession.SessionInfo, McpError.McpError, Scope.Scope>
  /** What the server says unasked, from now on, over all sessions. A slow reader loses the oldest. */
  readonly notifications: Stream.Stream<McpProtocol.Notification>
  /** Runs one operation: waits for a session and for its turn, sends it, and again as the rules say. */
  readonly perform: <A>(operation: Operation<A>) => Effect.Effect<A, McpError.McpError>
  /** Sends a request and gives its raw result, frozen. */
  readonly request: (
    method: string,
    params?: McpProtocol.JsonObject,
    options?: CallOptions
  ) => Effect.Effect<unknown, McpError.McpError>
  /** Sends a notification over the current session. It is not sent again. */
  readonly notify: (method: string, params?: McpProtocol.JsonObject) => Effect.Effect<void, McpError.McpError>
  /** What the server offers: each list is read once and then known, until the server says that it has changed. */
  readonly catalog: Catalog.Catalog
  /** Ends the session and makes a new one, at any moment, whatever the state. Calls that run fail. */
  readonly reconnect: Effect.Effect<McpSession.SessionInfo, McpError.McpError>
  /**
   * Ends the session and releases everything. Running calls fail. The next use connects again. Interrupting it does not
   * take the wish back: the owner closes all the same, and nobody waits for it.
   */
  readonly close: Effect.Effect<void>
  /** Like `close`, and nothing connects until `enable`. */
  readonly disable: Effect.Effect<void>
  readonly enable: Effect.Effect<void>
  readonly stats: Effect.Effect<ConnectionStats>
}

/**
 * A connection to one server. Nothing is opened yet, unless `lifetime` is `"eager"`. It lives as long as the scope.
 *
 * @example
 * ```ts
 * import { McpConfig, McpConnection } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const config = yield* McpConfig.decode({ name: "docs", transport: "http", url: "http://127.0.0.1:8080/mcp" })
 *   const docs = yield* McpConnection.make(config)
 *   return yield* McpConnection.callTool(docs, { name: "search", arguments: { text: "effect" } })
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  config: McpConfig.ServerConfig,
  options: ConnectionOptions = {}
): Effect.Effect<McpConnection, McpError.ConfigInvalid, McpTransport.McpTransport | Scope.Scope> =>
  Effect.flatMap(McpTransport.McpTransport, (transport) => internal.make(transport.channel(config), config, options))

/**
 * The same over a channel that exists already, such as that of a `ScriptedServer`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromChannel = (
  channel: McpTransport.Channel,
  options: ConnectionOptions = {}
): Effect.Effect<McpConnection, McpError.ConfigInvalid, Scope.Scope> =>
  internal.make(Effect.succeed(channel), channel.config, options)

export {
  callTool,
  complete,
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  listTools,
  ping,
  readResource,
  sendRootsChanged,
  setLogLevel,
  subscribe,
  unsubscribe
} from "./internal/connection/operations.js"

export { resourceUpdates } from "./internal/connection/updates.js"
