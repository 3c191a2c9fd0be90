/**
 * A protected MCP server and the authorization server that it trusts, on 127.0.0.1, as real HTTP servers that do what a
 * test asks for.
 *
 * Owns: the two servers, the tokens, codes and clients that they know, and the record of what they were asked.
 * May not touch: the client under test. It has no timers: tokens expire when a test says so.
 *
 * Without a script, the MCP server is that of `HttpFixture`, and each request must bring a token; the authorization
 * server publishes its metadata, registers clients, approves every authorization at once, and gives tokens for an hour
 * with a refresh token that is replaced by each use. A refresh token that is used twice ends all that came from it.
 *
 * | request                                              | answer                                                 |
 * |------------------------------------------------------|--------------------------------------------------------|
 * | MCP server, no token or one that is not valid        | 401 with a challenge                                   |
 * | MCP server, a token without a scope that is needed   | 403 `insufficient_scope`                               |
 * | `/.well-known/oauth-protected-resource/mcp`          | the metadata of the resource                           |
 * | `/.well-known/oauth-authorization-server`            | the metadata of the authorization server               |
 * | POST `/register`                                     | a new client                                           |
 * | GET `/authorize`                                     | 302 with `code`, `state` and `iss`                     |
 * | POST `/token`                                        | by `authorization_code`, `refresh_token`,              |
 * |                                                      | `client_credentials` or `jwt-bearer`                   |
 * | POST `/idp/token`                                    | by `token-exchange`: an ID-JAG for any id token        |
 *
 * @example
 * ```ts
 * import { assert, it } from "@effect/vitest"
 * import { AuthFixture } from "@mcp-runtime/testing"
 * import { Effect } from "effect"
 *
 * it.scopedLive("a server that rejects every token", () =>
 *   Effect.gen(function*() {
 *     const server = yield* AuthFixture.make({ protect: () => "reject" })
 *     // ... a client of server.url whose authorization opens the URL with server.browser
 *     assert.isAtMost(server.count("token"), 1)
 *   }))
 * ```
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { HttpFixture, LoggedRequest, Reply } from "./HttpFixture.js"
import * as browsing from "./internal/auth/browser.js"
import * as internal from "./internal/auth/fixture.js"
import type { Proof } from "./internal/auth/proofs.js"
import * as replies from "./internal/httpReplies.js"

export type {
  /**
   * A proof as it came. Nothing of it is believed yet.
   *
   * @since 0.1.0
   * @category models
   */
  Proof
} from "./internal/auth/proofs.js"

/**
 * What a request is for. `exchange` is one to the identity provider of an organisation, which is at the same origin as the
 * authorization server. `mcp` is everything at the MCP server that is none of the others.
 *
 * @since 0.1.0
 * @category models
 */
export type Kind =
  | "resourceMetadata"
  | "serverMetadata"
  | "register"
  | "authorize"
  | "token"
  | "exchange"
  | "mcp"
  | "other"

/**
 * How a client shows at the token endpoint who it is.
 *
 * @since 0.1.0
 * @category models
 */
export type ClientMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt"

/**
 * One request to either server, in the order of arrival.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuthRequest {
  /** Counted from 0, over both servers. */
  readonly index: number
  readonly kind: Kind
  /** Which of the two servers was asked. */
  readonly at: "resource" | "authorization"
  /** Of the query, of the form, or of the JSON document (its texts, and lists of them joined by spaces), by kind. */
  readonly parameters: ReadonlyMap<string, string>
  /** Parameters that such a request must have, and this one has not, or has empty. */
  readonly missing: ReadonlyArray<string>
  /** The client as it names itself: in `client_id`, in the Basic credentials or in the assertion. */
  readonly client: string | undefined
  /** How the client of a request to the token endpoint authenticated. */
  readonly clientMethod: ClientMethod | undefined
  /** The access token of the request, if it has one. */
  readonly token: string | undefined
  /** The proof of a key that it has in its header `dpop` (RFC 9449), as it came. */
  readonly proof: Proof | undefined
  /** What became of it by default handling: `"ok"`, or the error code; nothing where the override decided. */
  readonly outcome: string | undefined
  /** The request itself. */
  readonly http: LoggedRequest
}

/**
 * A client that the authorization server knows beforehand.
 *
 * @since 0.1.0
 * @category models
 */
export interface Client {
  readonly id: string
  readonly secret?: string | undefined
  /** In PEM, for `private_key_jwt`. */
  readonly publicKey?: string | undefined
  /** Where codes may be sent. Everywhere by default. */
  readonly redirectUris?: ReadonlyArray<string> | undefined
}

/**
 * Where the metadata of the authorization server can be read. For the issuer `http://host/tenant1`:
 *
 * | place      | path                                              |
 * |------------|---------------------------------------------------|
 * | `oauth`    | `/.well-known/oauth-authorization-server/tenant1` |
 * | `openid`   | `/.well-known/openid-configuration/tenant1`       |
 * | `appended` | `/tenant1/.well-known/openid-configuration`       |
 *
 * @since 0.1.0
 * @category models
 */
export type MetadataPlace = "oauth" | "openid" | "appended"

/**
 * What the MCP server does with a request: asks for a token, answers it without one, rejects it with 401 or 403 whatever
 * token it has, or anything else.
 *
 * @since 0.1.0
 * @category models
 */
export type Protection = "token" | "open" | "reject" | "forbid" | Reply

/**
 * What the servers do with proofs of a key (RFC 9449). Each proof is good for one request.
 *
 * @since 0.1.0
 * @category options
 */
export interface Dpop {
  /** The scheme of the challenges of the MCP server. `"DPoP"` by default, which takes no other tokens. */
  readonly challenge?: "DPoP" | "Bearer" | "both" | undefined
  /** What the authorization server gives for a proof. `"DPoP"` by default. */
  readonly gives?: "DPoP" | "Bearer" | undefined
  /** The nonce that a proof for the token endpoint must have; the answer to one without it has it. */
  readonly serverNonce?: ((request: AuthRequest) => string | undefined) | undefined
  /** The same for the MCP server. */
  readonly resourceNonce?: ((request: AuthRequest) => string | undefined) | undefined
}

/**
 * What the two servers do. Everything can be changed while they run, see `change`.
 *
 * @since 0.1.0
 * @category options
 */
export interface Script {
  /** Decides about any request to either server; `undefined` leaves it to the rest of the script. Called once for each. */
  readonly override?: ((request: AuthRequest) => Reply | undefined) | undefined

  /** What the MCP server asks for. `"token"` for everything by default. */
  readonly protect?: ((request: LoggedRequest) => Protection) | undefined
  /** The scope that the token of a request must have, as a list with spaces. None by default. */
  readonly requiredScope?: ((request: LoggedRequest) => string | undefined) | undefined
  /** The scope in the challenge of a 401. */
  readonly challengeScope?: string | undefined
  /** The whole `WWW-Authenticate` header of a 401; `null` for none. */
  readonly challenge?: string | null | undefined

  /** Where the metadata of the resource is: for the path `/mcp`, for the origin, nowhere, or at this path. */
  readonly resourceMetadata?: "path" | "root" | "none" | `/${string}` | undefined
  /** Whether the challenge says where it is. On by default. */
  readonly announced?: boolean | undefined
  /** Its `resource`, instead of the URL of the MCP server, or of its origin where the metadata is that of the root. */
  readonly resource?: string | undefined
  /** Its `scopes_supported`. */
  readonly resourceScopes?: ReadonlyArray<string> | undefined
  /** More fields, which win. */
  readonly resourceFields?: { readonly [field: string]: unknown } | undefined

  /** The authorization server is at the origin of the MCP server, as in revision 2025-03-26. Off by default. */
  readonly together?: boolean | undefined
  /** The path of the issuer, for example `/tenant1`. None by default. */
  readonly issuerPath?: string | undefined
  /** Where its metadata can be read. `["oauth"]` by default. */
  readonly serverMetadata?: ReadonlyArray<MetadataPlace> | undefined
  /** The path in front of `/authorize`, `/token` and `/register`. None by default. */
  readonly endpointPath?: string | undefined
  /** The `issuer` of the metadata, instead of the right one. */
  readonly issuer?: string | undefined
  /** The `iss` of the answer to an authorization, instead of the right one; `null` for none. */
  readonly iss?: string | null | undefined
  /** Whether the metadata says that there is an `iss`. On by default. */
  readonly issAdvertised?: boolean | undefined
  /** Its `scopes_supported`. */
  readonly serverScopes?: ReadonlyArray<string> | undefined
  /** More fields, which win. */
  readonly serverFields?: { readonly [field: string]: unknown } | undefined

  /** How clients may authenticate. `none`, `client_secret_basic` and `client_secret_post` by default. */
  readonly clientMethods?: ReadonlyArray<ClientMethod> | undefined
  /** Clients that are known beforehand. */
  readonly clients?: ReadonlyArray<Client> | undefined
  /** Whether clients can register. On by default. */
  readonly registration?: boolean | undefined
  /** Whether the URL of a document may be the id of a client. Off by default. */
  readonly clientDocuments?: boolean | undefined

  /** What an authorization is answered with: a code, or this error code. */
  readonly authorization?: "code" | (string & {}) | undefined
  /** `expires_in` of tokens in seconds; `null` leaves it out. 3600 by default. Nothing expires by itself. */
  readonly expiresIn?: number | null | undefined
  /** No refresh tokens, ones that stay, or ones that each use replaces. `"rotate"` by default. */
  readonly refresh?: "none" | "keep" | "rotate" | undefined
  /** Proofs of a key. Without it, they are not looked at. */
  readonly dpop?: Dpop | undefined
  /** What becomes of an assertion (RFC 7523): `"ok"`, or an error code. */
  readonly assertion?: ((assertion: string) => "ok" | (string & {})) | undefined
  /** The same for an id token (RFC 8693). */
  readonly idToken?: ((idToken: string) => "ok" | (string & {})) | undefined
  /** The scope that is granted, instead of the one that was asked for. */
  readonly granted?: ((requested: string | undefined) => string | undefined) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AuthFixture {
  /** The MCP server: `http://127.0.0.1:<port>/mcp`. */
  readonly url: string
  /** The authorization server, as its metadata names it. */
  readonly issuer: string
  /** The identity provider of an organisation, with metadata of OpenID. */
  readonly idp: { readonly issuer: string; readonly tokenEndpoint: string }
  /** The MCP server as an HTTP server: its log, sockets, streams and executions. */
  readonly resource: HttpFixture
  /** The authorization server as an HTTP server. */
  readonly authorization: HttpFixture
  /** Changes the script from now on: what is named, and nothing else. `undefined` restores a default. */
  readonly change: (script: Script) => Effect.Effect<void>
  /** Everything that was asked so far, of both. Grows. */
  readonly requests: ReadonlyArray<AuthRequest>
  /** Waits until the requests are as wanted, and gives them. */
  readonly awaitRequests: (
    predicate: (requests: ReadonlyArray<AuthRequest>) => boolean
  ) => Effect.Effect<ReadonlyArray<AuthRequest>>
  /** How many requests of a kind there were. */
  readonly count: (kind: Kind, predicate?: (request: AuthRequest) => boolean) => number
  /** How many requests to the token endpoint used this grant, for example `refresh_token`. */
  readonly grants: (grant: string) => number
  /** All access tokens that were given so far are no longer valid. */
  readonly expireTokens: Effect.Effect<void>
  /** All refresh tokens that were given so far are no longer valid. */
  readonly revokeRefreshTokens: Effect.Effect<void>
  /** All clients that have registered are forgotten. */
  readonly forgetClients: Effect.Effect<void>
  /** A valid pair of tokens, as if a client had been authorized. */
  readonly issue: (
    options?: { readonly client?: string | undefined; readonly scope?: string | undefined }
  ) => Effect.Effect<
    { readonly accessToken: string; readonly refreshToken: string | undefined }
  >
  /** How often a refresh token was used that had been replaced before. */
  readonly reuses: () => number
  /** Every token, code, verifier, secret and assertion that went either way: none may be seen anywhere else. */
  readonly secrets: ReadonlySet<string>
  /** The user's browser: opens the URL of an authorization, and gives where it is sent, without going there. */
  readonly browser: (url: string | URL) => Effect.Effect<string, browsing.BrowserFailed>
  /** The same, and goes there: what a client sees that listens at its redirect URI. */
  readonly visit: (url: string | URL) => Effect.Effect<Visited, browsing.BrowserFailed>
}

/**
 * Where a browser ended, and what it was shown there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Visited {
  readonly url: string
  readonly status: number
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  readonly body: string
}

export {
  /**
   * The page of the authorization server was no redirect, or nobody was there.
   *
   * @since 0.1.0
   * @category errors
   */
  BrowserFailed
} from "./internal/auth/browser.js"

/**
 * Starts both servers. Closing the scope destroys their sockets and stops them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (script?: Script) => Effect.Effect<AuthFixture, never, Scope.Scope> = internal.make

/**
 * Opens any URL as a browser does, without following a redirect.
 *
 * @since 0.1.0
 * @category browsing
 */
export const open: (url: string | URL) => Effect.Effect<Visited, browsing.BrowserFailed> = browsing.open

/**
 * Opens the page of any authorization as a browser does, and goes where it is sent: one redirect. The `visit` of a
 * fixture.
 *
 * @since 0.1.0
 * @category browsing
 */
export const visit: (url: string | URL) => Effect.Effect<Visited, browsing.BrowserFailed> = browsing.visit

/**
 * An error as OAuth endpoints give it.
 *
 * @since 0.1.0
 * @category replies
 */
export const oauthError = (error: string, options?: {
  readonly status?: number | undefined
  readonly description?: string | undefined
}): Reply =>
  replies.json({
    error,
    ...(options?.description !== undefined && { error_description: options.description })
  }, { status: options?.status ?? 400 })

/**
 * 200 with a body that is no JSON, though it says so.
 *
 * @since 0.1.0
 * @category replies
 */
export const garbage: Reply = replies.respond({ headers: { "content-type": "application/json" }, body: "{\"garb" })

/**
 * 200 with a body that goes on and on: as many bytes, then it stays open.
 *
 * @since 0.1.0
 * @category replies
 */
export const huge = (bytes: number): Reply =>
  replies.respond({
    headers: { "content-type": "application/json" },
    body: ["{\"a\":\"", new Uint8Array(bytes).fill(0x61)],
    ending: "open"
  })

/**
 * 200 whose body begins, and never ends.
 *
 * @since 0.1.0
 * @category replies
 */
export const stalled: Reply = replies.respond({
  headers: { "content-type": "application/json" },
  body: "{",
  ending: "open"
})

/**
 * A redirect. 307 by default, which keeps the method and the body.
 *
 * @since 0.1.0
 * @category replies
 */
export const redirect = (location: string, status = 307): Reply => replies.respond({ status, headers: { location } })
