/**
 * An MCP server in this process whose every step is scripted: it answers, waits, hangs, fails, disconnects, notifies and
 * asks exactly when a test says so. It has no I/O and no timers of its own, so `TestClock` governs all of it.
 *
 * Owns: the script of a server, and the log of what a client did to it.
 * May not touch: sockets, processes, real time, the protocol engine. It stands where a wire would stand
 * (`McpTransport.Channel`), and whatever passes in either direction is cloned through JSON, as a wire would do.
 *
 * A channel may be opened many times; each opening is one session, counted from 1:
 *
 * | step      | scripted by                                   | without a script                                  |
 * |-----------|-----------------------------------------------|---------------------------------------------------|
 * | open      | `start`                                       | succeeds                                          |
 * | send      | `accept`                                      | every message is accepted                         |
 * | request   | `handlers`                                    | `initialize`, `ping`, `tools/*`; others -32601    |
 * | at will   | `notify`, `request`, `sendRaw`, `disconnect`  | the server says nothing unasked                   |
 * | close     | `close`                                       | succeeds                                          |
 *
 * @example
 * ```ts
 * import { assert, it } from "@effect/vitest"
 * import { McpSession } from "@mcp-runtime/core"
 * import { ScriptedServer } from "@mcp-runtime/testing"
 * import { Effect, Fiber, TestClock } from "effect"
 *
 * it.scoped("gives up on a slow tool and tells the server", () =>
 *   Effect.gen(function*() {
 *     const server = yield* ScriptedServer.make({
 *       tools: [{ name: "slow", call: () => Effect.delay(Effect.succeed("done"), "1 hour") }]
 *     })
 *     const session = yield* McpSession.open(server.channel)
 *     const call = yield* Effect.fork(Effect.flip(
 *       session.request("tools/call", { name: "slow" }, { timeout: "1 second" })
 *     ))
 *     yield* server.awaitReceived("tools/call")
 *     yield* TestClock.adjust("1 second")
 *     assert.strictEqual((yield* Fiber.join(call))._tag, "RequestTimeout")
 *     yield* server.awaitReceived("notifications/cancelled")
 *   }))
 * ```
 *
 * @since 0.1.0
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Reply, type RpcError } from "./internal/scriptedMessages.js"
import * as internal from "./internal/scriptedServer.js"

export {
  /**
   * What a handler succeeds with when a plain result will not do: the messages that go out instead, in one chunk.
   *
   * @since 0.1.0
   * @category replies
   */
  Reply,
  /**
   * A JSON-RPC error, from a handler to the client or from the client to `request`.
   *
   * @since 0.1.0
   * @category errors
   */
  RpcError
} from "./internal/scriptedMessages.js"

/**
 * One message that the client handed over, in the order of its `send`s, whether or not the script accepted it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received {
  /** Which opening of the channel it came through, counted from 1. */
  readonly session: number
  /** When, in milliseconds of the Effect clock. */
  readonly at: number
  /** The whole message. */
  readonly message: McpProtocol.JsonRpcMessage
  /** `undefined` for the answer to a request of the server's. */
  readonly method: string | undefined
  /** `undefined` for a notification. */
  readonly id: McpProtocol.RequestId | null | undefined
  /** Empty where the message has none. */
  readonly params: McpProtocol.JsonObject
}

/**
 * A request or notification of the client's, as a handler gets it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Request extends Received {
  readonly method: string
}

/**
 * What the server can do to one session at any moment. Once the session is closed all of it does nothing.
 *
 * @since 0.1.0
 * @category models
 */
export interface Peer {
  /** Says something unasked. */
  readonly notify: (method: string, params?: McpProtocol.JsonObject) => Effect.Effect<void>
  /**
   * Asks the client and gives its answer. Interrupted, it sends `notifications/cancelled`. The end of the session fails
   * it.
   */
  readonly request: (
    method: string,
    params?: McpProtocol.JsonObject,
    options?: { readonly id?: McpProtocol.RequestId | undefined }
  ) => Effect.Effect<unknown, RpcError>
  /** Sends any JSON values, JSON-RPC or not, in one synchronous chunk: the client gets no turn in between. */
  readonly sendRaw: (...values: ReadonlyArray<unknown>) => Effect.Effect<void>
  /** The wire reports that this request will not be answered. */
  readonly failRequest: (id: McpProtocol.RequestId, error: McpError.McpError) => Effect.Effect<void>
  /** The wire breaks. Without an error: `ConnectionClosed`, because the process exited. */
  readonly disconnect: (error?: McpError.McpError) => Effect.Effect<void>
  /** The standalone stream opens or breaks. */
  readonly serverStream: (state: McpTransport.ServerStreamState) => Effect.Effect<void>
  /** The wire skipped something. */
  readonly warn: (kind: McpTransport.WarningKind, detail: string) => Effect.Effect<void>
}

/**
 * Answers a request, or hears a notification. Any JSON value is the result, `undefined` is `{}`; a `Reply` is sent as it
 * is; an `RpcError` is answered; an `McpError` is what the wire reports instead of an answer. A defect is answered with
 * -32603 and its text, so that a mistake in a script shows. `Effect.never` hangs, `Effect.sleep` delays.
 *
 * It runs as a fiber that is interrupted when the client cancels the request (see `Options.cancellation`) and when the
 * session ends.
 *
 * @since 0.1.0
 * @category models
 */
export type Handler = (request: Request, peer: Peer) => Effect.Effect<unknown, RpcError | McpError.McpError>

/**
 * A tool of the server. Without `call` it gives its arguments back as JSON text; a `string` becomes a text block, any
 * other value is the whole result.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScriptedTool extends Partial<Omit<McpProtocol.Tool, "name">> {
  readonly name: string
  readonly call?:
    | ((
      args: McpProtocol.JsonObject,
      request: Request,
      peer: Peer
    ) => Effect.Effect<unknown, RpcError | McpError.McpError>)
    | undefined
}

/**
 * The script. Everything is optional.
 *
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** The name in the configuration, and so in every error. `"scripted"` by default. */
  readonly name?: string | undefined
  /** The whole configuration, where a name is not enough (time-outs, limits). */
  readonly config?: McpConfig.ServerConfig | undefined
  /** Which wire it pretends to be. Taken from the configuration by default. */
  readonly kind?: McpTransport.TransportKind | undefined

  readonly info?: McpProtocol.Implementation | undefined
  /** `{ tools: {} }` by default. */
  readonly capabilities?: McpProtocol.ServerCapabilities | undefined
  readonly instructions?: string | undefined
  /** The versions it speaks, the preferred one first. All that the client knows, by default. */
  readonly protocolVersions?: ReadonlyArray<string> | undefined
  /** A single tool `echo` by default. */
  readonly tools?: ReadonlyArray<ScriptedTool> | undefined
  /** How many tools one page of `tools/list` has. All of them by default. */
  readonly pageSize?: number | undefined
  /** By method, of requests and notifications. They win over the defaults. */
  readonly handlers?: { readonly [method: string]: Handler } | undefined
  /** What happens to a handler whose request the client cancels. `"ignore"` makes late answers. */
  readonly cancellation?: "interrupt" | "ignore" | undefined
  /**
   * When a handler starts: after `send` has returned, as with any real wire, or inside of it, so that an answer may be
   * there before `send` returns. `"later"` by default.
   */
  readonly reaction?: "later" | "insideSend" | undefined

  /** Runs before a session is open: may hang, fail or die. Counted from 1. */
  readonly start?: ((session: number) => Effect.Effect<void, McpError.McpError>) | undefined
  /** Decides when the wire accepts a message: may hang or fail. A slow one lets later messages overtake. */
  readonly accept?: ((message: Received, peer: Peer) => Effect.Effect<void, McpError.McpError>) | undefined
  /** What `listen` does: for example `(peer) => peer.serverStream("open")`. */
  readonly listen?: ((peer: Peer) => Effect.Effect<void>) | undefined
  /**
   * Runs last when a session closes, uninterruptibly as every finalizer unless it says otherwise: may hang or die. The
   * session counts as live until it has ended.
   */
  readonly close?: ((session: number) => Effect.Effect<void>) | undefined
  /** The session id that comes with the answer to `initialize`. */
  readonly sessionId?: ((session: number) => string | undefined) | undefined
  readonly stderrTail?: (() => string | undefined) | undefined
}

/**
 * What has happened so far.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stats {
  /** How often the channel was asked to open a session. */
  readonly attempts: number
  /** How many of them succeeded. */
  readonly opened: number
  /** How many sessions have closed, to the end of the `close` script. */
  readonly closed: number
  /** The sessions that were opened and have not closed. */
  readonly live: ReadonlyArray<number>
  /** The sessions whose `listen` has run. */
  readonly listening: ReadonlyArray<number>
  /** What each session agreed on with `negotiated`. */
  readonly negotiated: ReadonlyArray<{ readonly session: number; readonly protocolVersion: string }>
  /** The requests that the client released, in order. */
  readonly released: ReadonlyArray<{ readonly session: number; readonly id: McpProtocol.RequestId }>
  /** How many handlers are running. */
  readonly handling: number
}

/**
 * A scripted server. As a `Peer` it acts on the newest live session, and dies when there is none, which is a mistake in
 * the test.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScriptedServer extends Peer {
  /** What the client opens. */
  readonly channel: McpTransport.Channel
  /** One live session by its number. Dies when it is not live. */
  readonly session: (session: number) => Effect.Effect<Peer>
  /** Every message in order, of all sessions. */
  readonly received: Effect.Effect<ReadonlyArray<Received>>
  /** Those with this method. */
  readonly receivedOf: (method: string) => Effect.Effect<ReadonlyArray<Received>>
  /** The first message, past or to come, that has this method or satisfies this predicate. */
  readonly awaitReceived: (match: string | ((message: Received) => boolean)) => Effect.Effect<Received>
  readonly stats: Effect.Effect<Stats>
  /** Waits until the statistics satisfy a predicate, which they may do already. */
  readonly awaitStats: (predicate: (stats: Stats) => boolean) => Effect.Effect<Stats>
}

/**
 * A server with this script. It holds nothing until its channel is opened.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<ScriptedServer> => Effect.sync(() => internal.make(options))

/**
 * The transport service over these servers, found by the name in their configuration. The channel it gives has the
 * configuration that was asked for.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (...servers: ReadonlyArray<ScriptedServer>): Layer.Layer<McpTransport.McpTransport> =>
  Layer.succeed(McpTransport.McpTransport, {
    channel: (config) => {
      const server = servers.find((_) => _.channel.config.name === config.name)
      return server === undefined
        ? Effect.fail(
          new McpError.ConfigInvalid({
            server: config.name,
            operation: "open",
            executed: "no",
            problems: [{ field: "name", problem: "no scripted server has this name" }]
          })
        )
        : Effect.succeed({ ...server.channel, config })
    }
  })

/**
 * A JSON-RPC notification, to be used with `raw`, `before` and `sendRaw`.
 *
 * @since 0.1.0
 * @category messages
 */
export const notification = (
  method: string,
  params?: McpProtocol.JsonObject
): McpProtocol.JsonRpcNotification => ({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) })

/**
 * A JSON-RPC result, with any id.
 *
 * @since 0.1.0
 * @category messages
 */
export const result = (id: unknown, value: unknown): McpProtocol.JsonObject => ({ jsonrpc: "2.0", id, result: value })

/**
 * Progress of the request that a handler is answering, to be used with `before` and `sendRaw`. The token is the one that
 * the client asked with, or the request's id.
 *
 * @since 0.1.0
 * @category messages
 */
export const progress = (
  request: Request,
  progress: McpProtocol.Progress
): McpProtocol.JsonRpcNotification => {
  const meta = request.params._meta as McpProtocol.JsonObject | undefined
  return notification("notifications/progress", { progressToken: meta?.progressToken ?? request.id, ...progress })
}

/**
 * Exactly these JSON values instead of an answer, in one chunk.
 *
 * @since 0.1.0
 * @category replies
 */
export const raw = (...values: ReadonlyArray<unknown>): Reply => new Reply({ messages: () => values })

/**
 * The request was handled, but nobody ever answers.
 *
 * @since 0.1.0
 * @category replies
 */
export const silence: Reply = raw()

/**
 * The result with another id: of another type, of another request, of none.
 *
 * @since 0.1.0
 * @category replies
 */
export const withId = (id: unknown, value: unknown): Reply => raw(result(id, value))

/**
 * The result with its id as a text, as some servers do.
 *
 * @since 0.1.0
 * @category replies
 */
export const withStringId = (value: unknown): Reply => new Reply({ messages: (id) => [result(String(id), value)] })

/**
 * The result, twice in one chunk.
 *
 * @since 0.1.0
 * @category replies
 */
export const twice = (value: unknown): Reply => new Reply({ messages: (id) => [result(id, value), result(id, value)] })

/**
 * Messages and the result after them, in one chunk.
 *
 * @since 0.1.0
 * @category replies
 */
export const before = (messages: ReadonlyArray<unknown>, value: unknown): Reply =>
  new Reply({ messages: (id) => [...messages, result(id, value)] })

/**
 * The result and messages after it, in one chunk.
 *
 * @since 0.1.0
 * @category replies
 */
export const after = (value: unknown, messages: ReadonlyArray<unknown>): Reply =>
  new Reply({ messages: (id) => [result(id, value), ...messages] })
