/**
 * How bytes go out and come back over HTTP, and nothing of what they mean.
 *
 * Owns: the contract of one exchange (request in; status, headers and body out), and the implementations that need no
 * platform. The implementation over undici is in `@mcp-runtime/node`.
 * May not touch: sessions, JSON-RPC, event streams, retries.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as McpConfig from "./McpConfig.js"
import type * as McpError from "./McpError.js"

/**
 * One request. `headers` has lower-case names and is never changed by who receives it.
 *
 * @since 0.1.0
 * @category models
 */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE"
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: string | undefined
}

/**
 * Why an exchange failed. `sent: false` promises that the server can't have seen the request.
 *
 * @since 0.1.0
 * @category models
 */
export interface HttpFailure {
  readonly sent: boolean
  readonly reason: McpError.ConnectFailed["reason"] | "Lost" | "TooLarge"
  /** A code of the platform (`ECONNREFUSED`), if there is one. */
  readonly code?: string | undefined
  /** What happened, in words that can be shown. */
  readonly detail: string
}

/**
 * What one exchange reports: `head` at most once, then `data` any number of times, then exactly one of `end` and
 * `failed`. After the exchange was aborted, nothing. Every function is total.
 *
 * @since 0.1.0
 * @category models
 */
export interface HttpListener {
  readonly head: (status: number, header: (lowerCaseName: string) => string | undefined) => void
  readonly data: (chunk: Uint8Array) => void
  readonly end: () => void
  readonly failed: (failure: HttpFailure) => void
}

/**
 * Exchanges of one channel, over sockets that they share. Redirects are reported, not followed. Sending never throws.
 *
 * @since 0.1.0
 * @category models
 */
export interface HttpClient {
  /** Sends a request and gives the function that aborts it. Aborting twice, or after the end, does nothing. */
  readonly send: (request: HttpRequest, listener: HttpListener, kind: "request" | "stream") => () => void
}

/**
 * The service that opens a channel's HTTP client. Closing the scope aborts what is under way and closes its sockets.
 *
 * @since 0.1.0
 * @category tags
 */
export class HttpExchange extends Context.Tag("@mcp-runtime/core/HttpExchange")<HttpExchange, {
  readonly open: (config: McpConfig.AnyHttpConfig) => Effect.Effect<HttpClient, McpError.McpError, Scope.Scope>
}>() {}
