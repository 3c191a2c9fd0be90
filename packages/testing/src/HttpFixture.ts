/**
 * A real HTTP server on 127.0.0.1 that speaks just enough MCP, and does anything else a test asks for.
 *
 * Owns: one `node:http` server, the log of what it was asked, the count of its open sockets, and the replies that a test
 * puts in place of the default ones.
 * May not touch: the client under test. It waits for nothing but what a test hands in, and has no timers.
 *
 * Without a script it answers as a small server does:
 *
 * | request                              | answer                                                       |
 * |--------------------------------------|--------------------------------------------------------------|
 * | POST `initialize`                    | a session id, the version that was asked for, tools          |
 * | POST a notification or a response    | 202                                                          |
 * | POST `ping`, `tools/list`            | as usual; `tools/list` has the one tool `echo`               |
 * | POST `tools/call`                    | the arguments as a text; counted in `executions`             |
 * | POST any other request               | error -32601                                                 |
 * | POST with an unknown session id      | 404; without one 400                                         |
 * | GET                                  | an event stream that stays open, see `pushToStream`          |
 * | DELETE                               | 200, and the session is gone                                 |
 *
 * @example
 * ```ts
 * import { assert, it } from "@effect/vitest"
 * import { HttpFixture } from "@mcp-runtime/testing"
 * import { Effect } from "effect"
 *
 * it.scopedLive("a server that accepts a call and never answers it", () =>
 *   Effect.gen(function*() {
 *     const server = yield* HttpFixture.make({
 *       override: (request) => request.rpc === "tools/call" ? HttpFixture.accepted : undefined
 *     })
 *     // ... a session to server.url, a call that fails at once
 *     yield* server.awaitLog((log) => log.some((_) => _.rpc === "tools/call"))
 *     assert.strictEqual(server.executions("echo"), 0)
 *   }))
 * ```
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as internal from "./internal/httpFixture.js"
import * as replies from "./internal/httpReplies.js"

/**
 * One request that arrived, in the order of arrival.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoggedRequest {
  /** Counted from 0. */
  readonly index: number
  readonly method: string
  /** The path with its query. */
  readonly path: string
  readonly headers: { readonly [name: string]: string | undefined }
  /** The method of the JSON-RPC message in the body, if there is one. */
  readonly rpc: string | undefined
  /** The id of the JSON-RPC message in the body, if there is one. */
  readonly id: string | number | undefined
  /** The whole body, as it came. */
  readonly body: string
  /** The whole body, if it is JSON. */
  readonly message: unknown
  readonly session: string | undefined
  readonly version: string | undefined
  readonly lastEventId: string | undefined
  /** The port of the client's socket: equal ports are one socket. */
  readonly port: number
}

/**
 * What is written into an event stream: text, bytes, or an Effect that is waited for and may give either.
 *
 * @since 0.1.0
 * @category models
 */
export type Piece = string | Uint8Array | Effect.Effect<string | Uint8Array | void>

/**
 * How a body ends: as it should, never, or with its socket.
 *
 * @since 0.1.0
 * @category models
 */
export type Ending = "end" | "open" | "destroy"

/**
 * What the server does with one request.
 *
 * @since 0.1.0
 * @category models
 */
export type Reply =
  | {
    readonly _tag: "Respond"
    readonly status: number
    readonly headers: { readonly [name: string]: string }
    readonly pieces: ReadonlyArray<Piece>
    readonly ending: Ending
  }
  | { readonly _tag: "Hang" }
  | { readonly _tag: "Destroy" }
  | { readonly _tag: "After"; readonly effect: Effect.Effect<unknown>; readonly reply: Reply }

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** Decides about a request; `undefined` leaves it to the default. Called once per request, in the order of arrival. */
  readonly override?: ((request: LoggedRequest) => Reply | undefined) | undefined
  /** How requests are answered by default: as JSON, or as an event stream of one event. */
  readonly answers?: "json" | "sse" | undefined
  /** Whether `initialize` gives a session id, which all that follows must bring. On by default. */
  readonly sessions?: boolean | undefined
  /** Whether GET opens a stream; otherwise it is answered 405. On by default. */
  readonly stream?: boolean | undefined
  /** Speak the older HTTP+SSE transport instead: GET gives the endpoint and the answers, POST to the URL is 405. */
  readonly legacy?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface HttpFixture {
  /** Where the server is: `http://127.0.0.1:<port>/mcp`. */
  readonly url: string
  readonly origin: string
  /** Everything that was asked so far. Grows. */
  readonly log: ReadonlyArray<LoggedRequest>
  /** Waits until the log is as wanted, and gives it. */
  readonly awaitLog: (
    predicate: (log: ReadonlyArray<LoggedRequest>) => boolean
  ) => Effect.Effect<ReadonlyArray<LoggedRequest>>
  /** Replaces the override of the options; `undefined` takes it away. */
  readonly setOverride: (override: Options["override"]) => Effect.Effect<void>
  /** How many sockets are open. */
  readonly openSockets: () => number
  /** Waits until the number of open sockets is as wanted. */
  readonly awaitSockets: (predicate: (open: number) => boolean) => Effect.Effect<number>
  /** How many GET streams are open by default handling. */
  readonly openStreams: () => number
  /** Waits until the number of open GET streams is as wanted. */
  readonly awaitStreams: (predicate: (open: number) => boolean) => Effect.Effect<number>
  /** Sends a message on every open GET stream, and gives how many there were. A text is sent as it is. */
  readonly pushToStream: (message: unknown) => Effect.Effect<number>
  /** Ends or destroys every open GET stream. */
  readonly endStreams: (ending: "end" | "destroy") => Effect.Effect<void>
  /** Destroys every socket. */
  readonly destroySockets: Effect.Effect<void>
  /** Forgets all sessions, as a restarted server does. */
  readonly expireSessions: Effect.Effect<void>
  /** The sessions that are known. */
  readonly sessions: () => ReadonlyArray<string>
  /** How often a tool, or any tool, ran. */
  readonly executions: (tool?: string) => number
}

/**
 * Starts a server. Closing the scope destroys its sockets and stops it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options?: Options) => Effect.Effect<HttpFixture, never, Scope.Scope> = internal.make

/**
 * Any answer.
 *
 * @since 0.1.0
 * @category replies
 */
export const respond: (options: {
  readonly status?: number | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: Piece | ReadonlyArray<Piece> | undefined
  readonly ending?: Ending | undefined
}) => Reply = replies.respond

/**
 * A JSON answer.
 *
 * @since 0.1.0
 * @category replies
 */
export const json: (
  value: unknown,
  options?: { readonly status?: number | undefined; readonly headers?: { readonly [name: string]: string } | undefined }
) => Reply = replies.json

/**
 * The result of a request, as JSON.
 *
 * @since 0.1.0
 * @category replies
 */
export const result: (request: LoggedRequest, value: unknown) => Reply = replies.result

/**
 * An event stream, which ends after its pieces unless told otherwise.
 *
 * @since 0.1.0
 * @category replies
 */
export const sse: (
  pieces: ReadonlyArray<Piece>,
  ending?: Ending,
  headers?: { readonly [name: string]: string }
) => Reply = replies.sse

/**
 * The text of one event. A value that is not a text is written as JSON.
 *
 * @since 0.1.0
 * @category replies
 */
export const event: (
  data: unknown,
  options?: {
    readonly id?: string | undefined
    readonly event?: string | undefined
    readonly retry?: number | undefined
  }
) => string = replies.event

/**
 * HTTP 202 without a body.
 *
 * @since 0.1.0
 * @category replies
 */
export const accepted: Reply = replies.accepted

/**
 * An answer that never comes.
 *
 * @since 0.1.0
 * @category replies
 */
export const hang: Reply = { _tag: "Hang" }

/**
 * The socket is destroyed instead of an answer.
 *
 * @since 0.1.0
 * @category replies
 */
export const destroy: Reply = { _tag: "Destroy" }

/**
 * A reply once an Effect has succeeded.
 *
 * @since 0.1.0
 * @category replies
 */
export const after = (effect: Effect.Effect<unknown>, reply: Reply): Reply => ({ _tag: "After", effect, reply })
