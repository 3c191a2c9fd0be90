/**
 * OAuth 2.1 as MCP wants it: who we are to a server, found out when it asks, kept, renewed, and never shown.
 *
 * Owns: what is known of each server's authorization: where it is done, as which client, with which tokens; that there is
 * one renewal at a time, also among processes; and that a person is asked no more often than makes sense.
 * May not touch: sessions, messages, files, browsers. Requests go through `HttpExchange`, secrets through `TokenStore`,
 * people are spoken to by an `Authorizer`.
 *
 * A server that answers 401 is authorized like this, and each step has a deadline and a bound:
 *
 * | what there is                         | what happens                                           | the request           |
 * |---------------------------------------|--------------------------------------------------------|-----------------------|
 * | a newer token, maybe of another process | it is taken                                          | is sent again         |
 * | a refresh token                       | one token request, whoever waits for it                | is sent again         |
 * | credentials of the application        | discovery, one token request, or two                   | is sent again         |
 * | an `Authorizer`                       | discovery, registration; a person is asked meanwhile   | fails: `Unauthorized` |
 * | none of it                            | discovery, registration                                | fails: `Unauthorized` |
 *
 * `Unauthorized.authorizationUrl` is the page to visit. A connection that has failed so connects by itself when the
 * person is done. A request is sent again at most once. A token that was refused is not sent again by anybody, and one
 * that was never accepted is not renewed. 403 with `insufficient_scope` is the same with more scopes, and never a refresh.
 *
 * Where the server or the configuration wants tokens that are bound to a key (DPoP), each request has a proof of its own.
 *
 * Nothing is kept but in the `TokenStore`, and nothing of it is in an error, a log or a span.
 *
 * @since 0.1.0
 */
import type * as PlatformError from "@effect/platform/Error"
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as HttpExchange from "./HttpExchange.js"
import * as internal from "./internal/auth/auth.js"
import * as Stores from "./internal/auth/store.js"
import type * as McpConfig from "./McpConfig.js"
import type * as McpError from "./McpError.js"
import * as SecretResolver from "./SecretResolver.js"

/**
 * What goes with a request.
 *
 * @since 0.1.0
 * @category models
 */
export interface Authorization {
  /** The value of the header `authorization`; without one, the request goes without. */
  readonly header: string | undefined
}

/**
 * An answer of 401 or 403.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuthRefusal {
  readonly status: number
  /** `www-authenticate`, as it came. */
  readonly challenge: string | undefined
  /** The header `authorization` of the request. */
  readonly sent: string | undefined
  /** The session does not stand on it: no person is asked because of it, nor is its token done with. */
  readonly alone?: boolean | undefined
  /** Its header `dpop-nonce`, where the request had a proof and can be sent again. */
  readonly nonce?: string | undefined
}

/**
 * One request that is about to be sent with a token that is bound to a key (RFC 9449).
 *
 * @since 0.1.0
 * @category models
 */
export interface ProofRequest {
  readonly method: string
  readonly url: string
  /** The header `authorization` of the request. */
  readonly sent: string
  /** What the server has just asked for. Default: what it has said last. */
  readonly nonce?: string | undefined
}

/**
 * The credentials of one channel, for transports. `current` and `accepted` are called for each request: they are
 * synchronous and total.
 *
 * @since 0.1.0
 * @category models
 */
export interface Credentials {
  /** What goes with the next request; nothing where it is not known yet, or is about to expire: then `prepare`. */
  readonly current: () => Authorization | undefined
  readonly prepare: Effect.Effect<Authorization, McpError.McpError>
  /** The server has taken this header. */
  readonly accepted: (sent: string) => void
  /**
   * `"again"`: there are other credentials, with which the request can be sent once more. `"nonce"`: the same will do, with
   * a proof that has the nonce of the refusal.
   */
  readonly refused: (refusal: AuthRefusal) => Effect.Effect<"again" | "no" | "nonce", McpError.McpError>
  /** For a header of the scheme `DPoP`: each request has a header `dpop` of its own. */
  readonly proofs?: {
    /** Nothing where the token is none of ours. */
    readonly prove: (request: ProofRequest) => Effect.Effect<string | undefined, McpError.McpError>
    /** The header `dpop-nonce` of any answer to such a request. Gives it, if it can be used. */
    readonly learn: (nonce: string | undefined) => string | undefined
  } | undefined
  /** Values that must not show, should the server repeat them. The same list as long as none is new. */
  readonly secrets: () => ReadonlyArray<string>
  /**
   * Calls back when there are new credentials that a person, or another part of the program, has given. Whoever listens
   * wants the server: a person is asked in the background as long as somebody does. Gives the function that ends it.
   */
  readonly follow: (listener: () => void) => () => void
}

/**
 * What is known of a server's authorization. Times are milliseconds since 1970.
 *
 * @since 0.1.0
 * @category models
 */
export type Status =
  | { readonly _tag: "None" }
  /** A person has to visit this page, and then there is an `Authorizer`, or `finish` is to be called. */
  | { readonly _tag: "Pending"; readonly authorizationUrl: string; readonly since: number }
  | {
    readonly _tag: "Authorized"
    readonly issuer: string
    readonly clientId: string
    readonly scopes: ReadonlyArray<string>
    /** When the token expires; nothing where the authorization server did not say. */
    readonly expiresAt: number | undefined
    /** Whether it is of use only with a key (DPoP), which is kept with it. */
    readonly bound: boolean
    /** Whether it can be renewed without a person. */
    readonly refreshable: boolean
  }

/**
 * The service of authorization. `server` is a decoded configuration, whose references are looked up; what can't be authorized so (a process, `auth:
 * "none"`, a configured `Authorization` header) is a `ConfigInvalid`.
 *
 * @since 0.1.0
 * @category tags
 */
export class McpAuth extends Context.Tag("@mcp-runtime/core/McpAuth")<McpAuth, {
  /**
   * Gets new tokens for this server now, whatever is stored. Where a person is needed, an `Authorizer` asks them, and
   * this waits for them; without one it fails with `Unauthorized` and the URL, as `begin` would give it.
   */
  readonly authorize: (server: McpConfig.ServerConfig) => Effect.Effect<void, McpError.McpError>
  /** The page that a person has to visit. To be ended by `finish`, also in another process that shares the store. */
  readonly begin: (server: McpConfig.ServerConfig) => Effect.Effect<AuthorizationRequest, McpError.McpError>
  /** `callback` is the URL to which the browser was sent at the end, or its query. */
  readonly finish: (server: McpConfig.ServerConfig, callback: string) => Effect.Effect<void, McpError.McpError>
  /** Removes what is stored: tokens, the registration, a pending authorization. */
  readonly forget: (server: McpConfig.ServerConfig) => Effect.Effect<void, McpError.McpError>
  readonly status: (server: McpConfig.ServerConfig) => Effect.Effect<Status, McpError.McpError>
  /** For transports: the credentials of a channel; nothing where this configuration brings its own, or wants none. */
  readonly credentials: (
    server: McpConfig.AnyHttpConfig
  ) => Effect.Effect<Credentials | undefined, never, Scope.Scope>
}>() {}

/**
 * What a person is asked.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuthorizationRequest {
  /** The configured name of the server. */
  readonly server: string
  /** The page to visit. It has no secret. */
  readonly url: string
  /** Where the browser comes back to. */
  readonly redirectUri: string
  /** The `state` that comes back with it. */
  readonly state: string
}

/**
 * Where the browser is to come back to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Redirect {
  /** The configured name of the server. */
  readonly server: string
  /** The address that was registered, if there is one: another one may need another registration. */
  readonly registered: string | undefined
  /** Only the registered one will do: it is configured, or belongs to a client that was not registered by us. */
  readonly fixed: boolean
  /**
   * The path of an address that is not registered yet. It is for this authorization server alone, which does not say who it
   * is when the browser comes back: what comes to another path is not from there. Default: any.
   */
  readonly path?: string | undefined
}

/**
 * A place to which the browser can come back, from now until its scope closes.
 *
 * @since 0.1.0
 * @category models
 */
export interface Callback {
  readonly redirectUri: string
  /**
   * Asks a person, and waits until the browser has come back. Gives the URL that it was sent to, or its query, with all
   * parameters. To be called at most once.
   */
  readonly authorize: (request: AuthorizationRequest) => Effect.Effect<string, McpError.McpError>
}

/**
 * Asks a person to authorize. `LoopbackAuthorizer` of `@mcp-runtime/node` does it with a browser on this machine.
 *
 * Before `authorize` of what it gives is called, nothing must be opened or shown. When the scope has closed, nothing is
 * listened to, opened or shown any more.
 *
 * @since 0.1.0
 * @category tags
 */
export class Authorizer extends Context.Tag("@mcp-runtime/core/Authorizer")<Authorizer, {
  readonly listen: (redirect: Redirect) => Effect.Effect<Callback, McpError.McpError, Scope.Scope>
}>() {}

/**
 * Where tokens, registrations and pending authorizations are kept, each under a key of hexadecimal digits. It is written
 * only by `McpAuth`, and what it holds are secrets.
 *
 * `lock` waits until nobody else holds the lock of this key, among all who share the store, and holds it until the scope
 * closes. It has a bound of its own for locks whose owner has died.
 *
 * @since 0.1.0
 * @category tags
 */
export class TokenStore extends Context.Tag("@mcp-runtime/core/TokenStore")<TokenStore, {
  readonly get: (key: string) => Effect.Effect<Redacted.Redacted<string> | undefined, PlatformError.PlatformError>
  readonly set: (key: string, value: Redacted.Redacted<string>) => Effect.Effect<void, PlatformError.PlatformError>
  readonly remove: (key: string) => Effect.Effect<void, PlatformError.PlatformError>
  readonly lock: (key: string) => Effect.Effect<void, PlatformError.PlatformError, Scope.Scope>
}>() {}

/**
 * Keeps tokens in a `KeyValueStore`. Without `lock`, only this process is kept from renewing a token twice.
 *
 * @since 0.1.0
 * @category constructors
 */
export const tokenStore: (
  store: KeyValueStore.KeyValueStore,
  lock?: Context.Tag.Service<TokenStore>["lock"]
) => Context.Tag.Service<TokenStore> = Stores.make

/**
 * Keeps tokens in the `KeyValueStore` that is provided, which must be the user's alone.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerTokens: Layer.Layer<TokenStore, never, KeyValueStore.KeyValueStore> = Layer.effect(
  TokenStore,
  Effect.map(KeyValueStore.KeyValueStore, (store) => tokenStore(store))
)

/**
 * Keeps tokens for as long as the layer lives.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerTokensMemory: Layer.Layer<TokenStore> = Layer.suspend(() =>
  Layer.provide(layerTokens, Layer.fresh(KeyValueStore.layerMemory))
)

/**
 * Authorization over the `HttpExchange` and the `TokenStore` that are provided, and the `Authorizer` and the `SecretResolver`,
 * if there are such. To be provided to the layer of `McpTransport`. When its scope closes, whatever is under way ends.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<McpAuth, never, HttpExchange.HttpExchange | TokenStore> = Layer.scoped(
  McpAuth,
  Effect.gen(function*() {
    const authorizer = yield* Effect.serviceOption(Authorizer)
    const secrets = yield* Effect.serviceOption(SecretResolver.SecretResolver)
    return yield* internal.make({
      exchange: yield* HttpExchange.HttpExchange,
      store: yield* TokenStore,
      authorizer: Option.getOrUndefined(authorizer),
      secrets: Option.getOrElse(secrets, () => SecretResolver.none)
    })
  })
)
