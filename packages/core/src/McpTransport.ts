/**
 * From a decoded configuration to bytes: a *channel* holds what outlives a session (HTTP agent, credentials), and opens
 * one *message transport* per session.
 *
 * Owns: the contract between the protocol engine and the wires, and the service that picks the wire.
 * May not touch: correlation, deadlines, the meaning of any message.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as HttpExchange from "./HttpExchange.js"
import * as HttpChannel from "./internal/http/channel.js"
import * as InMemory from "./internal/inMemory.js"
import * as Resolving from "./internal/resolving.js"
import * as McpAuth from "./McpAuth.js"
import type * as McpConfig from "./McpConfig.js"
import * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"
import * as SecretResolver from "./SecretResolver.js"

/**
 * What a transport tells the engine. Every function is total, synchronous and may be called from any callback; after the
 * scope of the transport has closed nothing is listened to any more.
 *
 * @since 0.1.0
 * @category models
 */
export interface TransportEvents {
  /** One JSON value that arrived, in the order of arrival. The engine judges whether it is JSON-RPC. */
  readonly message: (message: unknown) => void
  /** The request with this id will never be answered. */
  readonly requestFailed: (id: McpProtocol.RequestId, error: McpError.McpError) => void
  /** Nothing can be sent or received any more. Only the first call counts. */
  readonly closed: (error: McpError.McpError) => void
  /** Something was skipped, which is worth counting and, now and then, a line in the log. */
  readonly warning: (kind: WarningKind, detail: string) => void
  /** The state of the standalone stream over which the server speaks unasked (Streamable HTTP only). */
  readonly serverStream: (state: ServerStreamState) => void
}

/**
 * What a transport or the engine skipped.
 *
 * @since 0.1.0
 * @category models
 */
export type WarningKind =
  | "NotJson"
  | "NotJsonRpc"
  | "UnknownResponse"
  | "UnknownProgress"
  | "DroppedNotification"
  | "SendFailed"
  | "StreamFailed"
  | "HandlerFailed"
  | "CloseFailed"

/**
 * The standalone stream: `none` where the transport needs none or the server offers none, `open`, or `down` while it is
 * being opened again: calls still work, but what the server says unasked is not heard.
 *
 * @since 0.1.0
 * @category models
 */
export type ServerStreamState = "none" | "open" | "down"

/**
 * One way to exchange JSON-RPC messages during one session. Opened in a scope, used once, closed with the scope.
 *
 * `send` and `release` are called on the hot path: they are synchronous, never throw and never block.
 *
 * @since 0.1.0
 * @category models
 */
export interface MessageTransport {
  /** Which wire this is; with `auto`, the one that was found to work. */
  readonly kind: () => TransportKind
  /** The session id the server gave to us, if the wire has such a thing. */
  readonly sessionId: () => string | undefined
  /**
   * Hands over one message. A failed request is reported by `TransportEvents.requestFailed`. For any other message `sent`
   * is called exactly once: without an error when the wire has accepted it. A message that can't be written as JSON is
   * reported in the same ways, as `McpError.unwritable`.
   */
  readonly send: (message: McpProtocol.JsonRpcMessage, sent?: (error: McpError.McpError | undefined) => void) => void
  /**
   * Nobody waits for the answer to this request any more: give back what it still holds. `true` promises that the server
   * can't have acted on it and never will: nothing of it was written, and nothing will be. Who does not know says `false`.
   */
  readonly release: (id: McpProtocol.RequestId) => boolean
  /** The protocol version is settled: called before `notifications/initialized` goes out. */
  readonly negotiated: (protocolVersion: string) => void
  /** After `notifications/initialized` was accepted: opens what the server needs to speak to us unasked. Bounded. */
  readonly listen: Effect.Effect<void>
  /** What the process wrote to stderr last, if there is a process. */
  readonly stderrTail: () => string | undefined
  /**
   * What was given to the server and must not show in an error, should the server repeat it. Asked for only when there is an
   * error; synchronous and total. Absent where there is nothing of the kind.
   */
  readonly secrets?: (() => ReadonlyArray<string>) | undefined
  /**
   * Gives a function that says later whether the server has read meanwhile some of what had to wait for it. Synchronous and
   * total. Absent where the wire can't tell.
   */
  readonly reading?: (() => () => boolean) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type TransportKind = "stdio" | "http" | "sse" | "inMemory"

/**
 * What outlives a session: opened once per connection, it opens a transport for each session.
 *
 * @since 0.1.0
 * @category models
 */
export interface Channel {
  readonly config: McpConfig.ServerConfig
  /**
   * Opens the wire. When it fails it has released everything it had opened.
   */
  readonly open: (events: TransportEvents) => Effect.Effect<MessageTransport, McpError.McpError, Scope.Scope>
  /**
   * Calls back when there are new credentials for this server, which a person has given, also after the scope of the
   * channel has closed. Gives the function that ends it. Absent where nothing of the kind can happen.
   */
  readonly followCredentials?: ((listener: () => void) => () => void) | undefined
}

/**
 * The service that opens channels.
 *
 * @since 0.1.0
 * @category tags
 */
export class McpTransport extends Context.Tag("@mcp-runtime/core/McpTransport")<McpTransport, {
  readonly channel: (config: McpConfig.ServerConfig) => Effect.Effect<Channel, McpError.McpError, Scope.Scope>
}>() {}

/**
 * The channel of a server process: nothing is started before it is opened.
 *
 * @since 0.1.0
 * @category models
 */
export type StdioChannel = (config: McpConfig.StdioConfig) => Channel

/**
 * The service from its platform-dependent parts. References of a configuration are looked up with `secrets` each time that
 * a session is opened; without it there is nothing where they could be looked up.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (parts: {
  readonly http: Context.Tag.Service<typeof HttpExchange.HttpExchange>
  readonly stdio?: StdioChannel | undefined
  readonly secrets?: Context.Tag.Service<SecretResolver.SecretResolver> | undefined
  /** Without it, a server that asks for credentials which the configuration does not have is an `Unauthorized`. */
  readonly auth?: Pick<Context.Tag.Service<McpAuth.McpAuth>, "credentials"> | undefined
}): Context.Tag.Service<McpTransport> => ({
  channel: (config) =>
    Resolving.channel(config, parts.secrets ?? SecretResolver.none, (resolved) => open(parts, resolved))
})

const open = (
  parts: Parameters<typeof make>[0],
  config: McpConfig.ServerConfig
): Effect.Effect<Channel, McpError.McpError, Scope.Scope> => {
  switch (config.transport) {
    case "stdio":
      return parts.stdio === undefined ? Effect.fail(noProcesses(config)) : Effect.succeed(parts.stdio(config))
    case "inMemory":
      return Effect.succeed(InMemory.make(config))
    default:
      return Effect.flatMap(parts.http.open(config), (client) =>
        parts.auth === undefined
          ? Effect.succeed(HttpChannel.make(config, client))
          : Effect.map(parts.auth.credentials(config), (credentials) => HttpChannel.make(config, client, credentials)))
  }
}

const noProcesses = (config: McpConfig.StdioConfig): McpError.McpError =>
  new McpError.ConfigInvalid({
    server: config.name,
    operation: "open",
    executed: "no",
    problems: [{
      field: "transport",
      problem: `this platform starts no processes; provide NodeMcp.layer of @mcp-runtime/node for "stdio"`
    }]
  })

/**
 * Every transport but `stdio`, over the `HttpExchange` that is provided, and with the `SecretResolver` and the `McpAuth` of
 * the application if it provides them.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<McpTransport, never, HttpExchange.HttpExchange> = Layer.effect(
  McpTransport,
  Effect.map(
    Effect.all([
      HttpExchange.HttpExchange,
      Effect.serviceOption(SecretResolver.SecretResolver),
      Effect.serviceOption(McpAuth.McpAuth)
    ]),
    ([http, secrets, auth]) =>
      make({ http, secrets: Option.getOrUndefined(secrets), auth: Option.getOrUndefined(auth) })
  )
)

/**
 * Every transport but `stdio`, over the `fetch` of the platform.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerFetch: Layer.Layer<McpTransport> = Layer.provide(layer, Layer.suspend(() => HttpExchange.layerFetch))
