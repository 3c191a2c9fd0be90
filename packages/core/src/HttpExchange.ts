/**
 * How bytes go out and come back over HTTP, and nothing of what they mean.
 *
 * Owns: the contract of one exchange (request in; status, headers and body out), and the implementations that need no
 * platform. The implementation over undici is in `@mcp-runtime/node`.
 * May not touch: sessions, JSON-RPC, event streams, retries.
 *
 * @since 0.1.0
 */
import * as PlatformClient from "@effect/platform/HttpClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Failure from "./internal/exchange/failure.js"
import * as Fetch from "./internal/exchange/fetch.js"
import * as Platform from "./internal/exchange/httpClient.js"
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
  /**
   * Sends a request and gives the function that aborts it. Aborting twice, or after the end, does nothing. It may say
   * `true` to promise that nothing of the request was written, and nothing will be.
   *
   * `maxConnections` bounds the sockets of the kind `"request"` only. The other kind is for streams, and for what must
   * not wait behind a request: a message without an answer, for which the server may be waiting before it answers the
   * request, a ping, and the end of a session.
   */
  readonly send: (request: HttpRequest, listener: HttpListener, kind: "request" | "stream") => () => boolean | void
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

/**
 * What an error of the platform (of undici, `node:net`, `node:tls`, `fetch`) means for an exchange, by its codes alone;
 * causes and the attempts of an `AggregateError` are looked into. For those who implement the service.
 *
 * `stage` says what the implementation knows by itself: `"unsent"` if no byte can have left, `"sent"` if bytes may have
 * left, `"unknown"` if only the error can tell. Then the failure says `sent: false` only for errors that prove it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const failureFromError: (error: unknown, stage: "unsent" | "sent" | "unknown") => HttpFailure = Failure.fromError

/**
 * Exchanges over a `fetch` function. A configuration with `tls`, `proxy` or `maxConnections` is refused, because `fetch`
 * can't be told.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFetch: (fetch: typeof globalThis.fetch) => Context.Tag.Service<HttpExchange> = Fetch.fromFetch

/**
 * Exchanges over the `fetch` of the platform, as it is when a request is sent. Works on every runtime; on Node,
 * `UndiciExchange.layer` of `@mcp-runtime/node` is several times faster and has `tls`, `proxy` and `maxConnections`.
 *
 * What \`fetch\` imposes: a 407 is a failure without a status; on Node a stream that is quiet for five minutes is cut, and a
 * kept socket that the server has just closed loses the request that is sent over it; in browsers a redirect is a failure.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerFetch: Layer.Layer<HttpExchange> = Layer.sync(
  HttpExchange,
  () => fromFetch((input, init) => globalThis.fetch(input, init))
)

/**
 * Exchanges over the `HttpClient` of the application, one fiber each. A configuration with `tls`, `proxy` or
 * `maxConnections` is refused, because the client is not ours to set up. A redirect is reported if the client does not follow it; over
 * `FetchHttpClient` we ask for that.
 *
 * No span and no trace header is made per exchange, since spans come with the requests of the protocol. A client on which
 * `HttpClient.withTracerDisabledWhen` or `HttpClient.withTracerPropagation` was set keeps what was set.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromHttpClient: (client: PlatformClient.HttpClient) => Context.Tag.Service<HttpExchange> =
  Platform.fromHttpClient

/**
 * The same as `fromHttpClient` with the client of the context.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHttpClient: Layer.Layer<HttpExchange, never, PlatformClient.HttpClient> = Layer.effect(
  HttpExchange,
  Effect.map(PlatformClient.HttpClient, fromHttpClient)
)
