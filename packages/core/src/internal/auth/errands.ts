/**
 * The steps of an authorization, each of them requests and a change of what is kept.
 *
 * Owns: their order, and which secret goes where.
 * May not touch: when they are taken, and who waits for them.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { HttpExchange } from "../../HttpExchange.js"
import type { Redirect } from "../../McpAuth.js"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import * as AuthSchema from "../config/auth.js"
import * as Errors from "../engine/errors.js"
import * as Lines from "../telemetry/lines.js"
import { endingWithin } from "../within.js"
import * as Applications from "./application.js"
import * as Authorities from "./authority.js"
import type { Authority } from "./authority.js"
import * as Callback from "./callback.js"
import * as Challenges from "./challenge.js"
import * as Clients from "./clients.js"
import * as Dpop from "./dpop.js"
import { Exposed } from "./exposed.js"
import * as Pkce from "./pkce.js"
import * as Reasons from "./reasons.js"
import * as Records from "./record.js"
import * as Requests from "./requests.js"
import * as Resources from "./resource.js"
import type { Resource } from "./resource.js"
import * as Scopes from "./scopes.js"
import type { Rejected } from "./tokenRequest.js"
import * as Tokens from "./tokens.js"
import * as Urls from "./urls.js"
import type { Vault } from "./vault.js"
import type { Witness } from "./witness.js"

export interface Found {
  readonly authority: Authority
  readonly resource: Resource | undefined
  /** What the server has just asked for. */
  readonly asked: ReadonlyArray<string> | undefined
  /** Whether tokens for it are bound to a key. */
  readonly binding: Dpop.Binding
}

/** Where the browser comes back to where nobody listens: its address is to be given to `finish`. */
const nobodyListens = "http://127.0.0.1:33418"

const pageLasts = 10 * 60_000
const probeTime = 10_000

/** Of a request that was sent when the last one who wanted it has gone. */
const answerWithin = "1 second"

/** An authorization server that does not say is to be refused; some known ones forget to, so the user may vouch for one. */
const withoutPkce = ({ issuer, pkce }: Authority, vouchedFor: string | undefined): string | undefined => {
  if (pkce === true || (pkce === undefined && issuer === vouchedFor)) return undefined
  const who = `the authorization server ${McpError.displayUrl(issuer)}`
  return pkce === false
    ? `${who} does not support PKCE with S256`
    : `${who} does not say that it supports PKCE; if it does, set "auth.issuer" to it`
}

const isSame = (one: Records.Client, other: Records.Client): boolean =>
  one.kind === other.kind && one.issuer === other.issuer && one.clientId === other.clientId

/** What the server said with its 401 or 403, or nothing. */
export type Demand = Challenges.Demand | undefined

export class Errands {
  private newest!: McpConfig.AnyHttpConfig
  readonly url: URL
  /** What no error may show. */
  readonly exposed = new Exposed()
  private readonly nonces = new Dpop.Nonces()
  private readonly applications = new Applications.Applications()

  constructor(
    config: McpConfig.AnyHttpConfig,
    readonly vault: Vault,
    private readonly exchange: Context.Tag.Service<HttpExchange>,
    private readonly witness: Witness
  ) {
    this.config = config
    this.url = Urls.ofServer(config.url)
  }

  /** Of the newest channel. */
  get config(): McpConfig.AnyHttpConfig {
    return this.newest
  }

  set config(config: McpConfig.AnyHttpConfig) {
    this.newest = config
    if (typeof config.auth !== "object") return
    for (const secret of AuthSchema.valuesOf(config.auth)) {
      if (Redacted.isRedacted(secret)) this.exposed.add(String(Redacted.value(secret)))
    }
  }

  get server(): string {
    return this.config.name
  }

  get oauth(): Clients.OAuth {
    const { auth } = this.config
    return typeof auth === "object" && auth.type === "oauth" ? auth : { type: "oauth" }
  }

  /** The application is itself who is authorized, so that no person is needed. */
  get application(): Applications.Application | undefined {
    return Applications.of(this.config.auth)
  }

  /** Whether tokens are to be bound to a key; nothing where that is left to the server. */
  get dpop(): boolean | undefined {
    const { auth } = this.config
    return typeof auth === "object" ? auth.dpop : undefined
  }

  /** Tokens that are not bound as they are configured to be now are not used, nor those of another issuer. */
  isUsable({ authority, key }: Records.Tokens): boolean {
    return (this.dpop === undefined || this.dpop === (key !== undefined)) && this.isWished(authority.issuer)
  }

  get requests(): Effect.Effect<Requests.Requests, never, Scope.Scope> {
    return Effect.suspend(() =>
      Requests.make(this.exchange, this.config, {
        expose: (secret) => this.exposed.add(secret),
        exposed: () => this.exposed.spellings,
        nonces: this.nonces
      })
    )
  }

  /** What is ours to answer of `www-authenticate`. */
  demand(challenges: ReadonlyArray<Challenges.Challenge>): Demand {
    return Challenges.demand(challenges, this.dpop !== false)
  }

  /** Whoever is asked may repeat in the answer what we know. */
  private said<A>(effect: Effect.Effect<A, McpError.McpError>): Effect.Effect<A, McpError.McpError> {
    return Effect.mapError(effect, (error) => Errors.without(error, this.exposed.spellings))
  }

  /** What the server says without credentials. */
  probe(requests: Requests.Requests): Effect.Effect<Demand, McpError.McpError> {
    const request = {
      method: "GET",
      url: this.url,
      headers: { accept: "text/event-stream, application/json" },
      what: "the server",
      millis: probeTime,
      headOnly: true
    } as const
    return Effect.map(
      this.said(requests.send(request)),
      ({ header, status }) => status === 401 ? this.demand(Challenges.parse(header("www-authenticate"))) : undefined
    )
  }

  resource(requests: Requests.Requests, demand: Demand): Effect.Effect<Resource | undefined, McpError.McpError> {
    return this.said(Resources.discover(requests, this.url, demand?.params.get("resource_metadata")))
  }

  /** Who authorizes its users. Nothing where nothing says that it wants any authorization of this kind. */
  authority(
    requests: Requests.Requests,
    resource: Resource | undefined,
    demand: Demand
  ): Effect.Effect<Found | undefined, McpError.McpError> {
    const asked = Scopes.ofText(demand?.params.get("scope"))
    const { auth } = this.config
    const issuer = this.issuerOf(resource)
    const found = issuer === undefined
      ? Authorities.discoverOwn(
        requests,
        this.url,
        auth !== undefined || demand !== undefined || resource !== undefined
      )
      : Authorities.discover(requests, this.url, issuer)
    return Effect.flatMap(
      this.said(found),
      (authority) =>
        authority === undefined ? Effect.succeed(undefined) : Effect.map(
          this.binding(authority, resource, demand),
          (binding) => ({ authority, resource, asked, binding })
        )
    )
  }

  /** The same for tokens that replace others: those that are bound to a key stay so. */
  bindingOf(
    { authority, key }: Records.Tokens,
    resource: Resource | undefined,
    demand: Demand
  ): Effect.Effect<Dpop.Binding, McpError.McpError> {
    return key !== undefined && this.dpop !== false
      ? Effect.succeed("required")
      : this.binding(authority, resource, demand)
  }

  /** By the configuration, else as the server wants it. Where it takes either, as its authorization server can. */
  binding(
    { issuer, proofs }: Authority,
    resource: Resource | undefined,
    demand: Demand
  ): Effect.Effect<Dpop.Binding, McpError.McpError> {
    if (this.dpop === false) return Effect.succeed("none")
    const canProve = proofs?.includes(Dpop.algorithm)
    const isNeeded = this.dpop === true || resource?.bound === true || (demand?.dpop === true && !demand.bearer)
    if (!isNeeded) return Effect.succeed(demand?.dpop === true && canProve === true ? "offered" : "none")
    if (canProve !== false) return Effect.succeed("required")
    const who = `the authorization server ${McpError.displayUrl(issuer)}`
    return Effect.fail(
      Reasons.unauthorized(
        this.server,
        `its tokens have to be bound to a key (DPoP), and ${who} does not take keys for ${Dpop.algorithm}`
      )
    )
  }

  private issuerOf(resource: Resource | undefined): string | undefined {
    return resource?.issuers.find((_) => _ === this.wished) ?? resource?.issuers[0]
  }

  /** The refresh token belongs to who authorizes the users of this server still. */
  isStillOf(tokens: Records.Tokens, resource: Resource | undefined): boolean {
    const { issuer } = tokens.authority
    const issuers = resource?.issuers ?? []
    return this.isWished(issuer) && (issuers.length === 0 || issuers.includes(issuer))
  }

  /** The configuration names no other one, as it may have done since. */
  private isWished(issuer: string): boolean {
    return (this.wished ?? issuer) === issuer
  }

  private get wished(): string | undefined {
    const { auth } = this.config
    return typeof auth === "object" ? auth.issuer : undefined
  }

  /** New tokens for a refresh token. `false` where it is of no use any more, and forgotten. */
  refresh(
    requests: Requests.Requests,
    tokens: Records.Tokens & { readonly refresh: Redacted.Redacted<string> },
    binding: Dpop.Binding
  ): Effect.Effect<boolean, McpError.McpError> {
    const asked = Tokens.refreshed(requests, { ...tokens, client: this.withSecret(tokens.client) }, binding)
    const kept = Effect.matchEffect(asked, {
      onSuccess: (next) => Effect.as(this.vault.save({ ...this.vault.known, tokens: next }), true),
      onFailure: (error) =>
        error._tag === "Rejected"
          ? this.refreshRefused(error, tokens.client)
          : Effect.fail(error)
    })
    // Where each use replaces it, whoever leaves without the answer has to be authorized anew.
    return this.said(endingWithin(kept, answerWithin))
  }

  /** The secret of a configured client is that of the configuration, which may have changed. */
  private withSecret(client: Records.Client): Records.Client {
    const { auth } = this.config
    if (client.kind !== "given" || typeof auth !== "object") return client
    const { clientSecret } = auth
    if (clientSecret !== undefined) this.exposed.add(Redacted.value(clientSecret))
    return { ...client, clientSecret }
  }

  /** Only what the authorization server says in its own words is a reason to need a person again. */
  private refreshRefused(
    error: Rejected,
    client: Records.Client
  ): Effect.Effect<boolean, McpError.McpError> {
    return error.isFinal
      ? Effect.as(this.vault.save(this.without(error, client, { tokens: undefined })), false)
      : Effect.fail(Reasons.unauthorized(this.server, error.detail))
  }

  /** New tokens for the application itself. */
  acquire(
    requests: Requests.Requests,
    config: Applications.Application,
    found: Found,
    more: ReadonlyArray<string> | undefined
  ): Effect.Effect<void, McpError.McpError> {
    const { authority, binding, resource } = found
    const { server, vault } = this
    return Effect.gen(this, function*() {
      const client = (yield* Clients.given(server, config, authority, vault.known))!
      const scopes = Scopes.choose({
        configured: config.scopes,
        challenge: found.asked,
        resource: resource?.scopes,
        before: more,
        supported: undefined
      })
      yield* this.bind(config, client)
      const wanted = { authority, binding, client, resource: resource?.resource, scopes }
      const tokens = yield* Effect.mapError(
        this.applications.tokens(requests, config, wanted),
        (error) => error._tag === "Rejected" ? Reasons.unauthorized(server, error.detail) : error
      )
      const { proof } = this.witness
      yield* vault.save({ ...Records.withClient(vault.known, client), tokens: { ...tokens, proof: yield* proof } })
    }).pipe((_) => this.said(_))
  }

  /** Where no issuer is configured, the first one that is shown something of the application stays the only one. */
  private bind(config: Applications.Application, client: Records.Client): Effect.Effect<void> {
    const { known } = this.vault
    if (config.issuer !== undefined || known.clients.some((_) => isSame(_, client))) return Effect.void
    const save = this.vault.save(Records.withClient(known, client))
    // A signature for this authorization server is of no use to another one.
    if (config.type === "clientCredentials" && config.clientSecret === undefined) return save
    const warning = Effect.logWarning(
      `what the field "auth" holds goes to ${
        McpError.displayUrl(client.issuer)
      }, because the server names it, and to nobody else from now on; set "auth.issuer" to say who may have it`
    )
    return Effect.zipRight(Lines.about(this.server, "authorize")(warning), save)
  }

  /** The address to which the browser is to come back, as it is registered or configured. */
  redirect(authority: Authority): Effect.Effect<Omit<Redirect, "server">> {
    const { clientId, clientMetadataUrl, redirectPort, redirectUri } = this.oauth
    if (redirectUri !== undefined) return Effect.succeed({ registered: redirectUri, fixed: true })
    if (redirectPort !== undefined) {
      return Effect.succeed({ registered: `http://127.0.0.1:${redirectPort}/callback`, fixed: true })
    }
    const client = this.vault.known.clients.find((_) => _.kind === "registered" && _.issuer === authority.issuer)
    const registered = client?.redirectUri
    // Of a client that was made before, the addresses are what they are.
    const isRegistered = clientId === undefined && (!authority.documents || clientMetadataUrl === undefined)
    if (authority.sendsIssuer || !isRegistered) return Effect.succeed({ registered, fixed: false })
    return Effect.map(Callback.pathOf(authority.issuer), (path) => {
      const url = Urls.parse(registered)
      const fits = url !== undefined && (url.pathname === path || !Urls.isLoopback(url))
      return { registered: fits ? registered : undefined, fixed: false, path }
    })
  }

  /** The page that a person has to visit, and what is needed when they are back. To be called with the lock. */
  page(
    requests: Requests.Requests,
    found: Found,
    options: { readonly redirectUri: string | undefined; readonly before: ReadonlyArray<string> | undefined }
  ): Effect.Effect<Records.Pending, McpError.McpError> {
    const { authority, binding, resource } = found
    return Effect.gen(this, function*() {
      const { oauth, server, vault } = this
      const endpoint = authority.authorizationEndpoint
      if (endpoint === undefined) {
        return yield* Effect.fail(
          Reasons.unauthorized(
            server,
            `its authorization server ${McpError.displayUrl(authority.issuer)} has no page for people`
          )
        )
      }
      const unproven = withoutPkce(authority, oauth.issuer)
      if (unproven !== undefined) return yield* Effect.fail(Reasons.unauthorized(server, unproven))
      const now = yield* Clock.currentTimeMillis
      const record = yield* vault.reload
      const { path = "/callback", registered } = yield* this.redirect(authority)
      const redirectUri = options.redirectUri ?? registered ?? `${nobodyListens}${path}`
      const scopes = Scopes.choose({
        configured: oauth.scopes,
        challenge: found.asked,
        resource: resource?.scopes,
        before: options.before,
        supported: authority.scopes
      })
      const known = yield* Clients.known(server, oauth, authority, record, now)
      const fits = known !== undefined && (known.kind !== "registered" || known.redirectUri === redirectUri)
      const { pending } = record
      if (
        fits && pending !== undefined && now - pending.since < pageLasts && pending.redirectUri === redirectUri &&
        pending.client.clientId === known.clientId && pending.authority.issuer === authority.issuer &&
        pending.resource === resource?.resource && pending.binding === binding &&
        pending.scopes.join(" ") === scopes.join(" ")
      ) {
        return pending
      }
      const client = fits ? known : yield* Clients.register(requests, authority, redirectUri, scopes)
      const verifier = yield* Pkce.random
      const state = yield* Pkce.random
      const url = new URL(endpoint)
      const params: ReadonlyArray<readonly [string, string]> = [
        ["response_type", "code"],
        ["client_id", client.clientId],
        ["redirect_uri", redirectUri],
        ["state", state],
        ["code_challenge", yield* Pkce.challengeOf(verifier)],
        ["code_challenge_method", "S256"],
        ...(scopes.length === 0 ? [] : [["scope", scopes.join(" ")] as const]),
        ...(scopes.includes("offline_access") ? [["prompt", "consent"] as const] : []),
        ...(resource === undefined ? [] : [["resource", resource.resource] as const])
      ]
      for (const [name, value] of params) url.searchParams.set(name, value)
      const next: Records.Pending = {
        url: url.href,
        state,
        verifier: Redacted.make(verifier),
        redirectUri,
        scopes,
        authority,
        client,
        resource: resource?.resource,
        binding,
        since: now
      }
      yield* vault.save({ ...Records.withClient(record, client), pending: next })
      return next
    }).pipe((_) => this.said(_))
  }

  /** The person is back: tokens for the code. An authorization that has failed is over, and its page with it. */
  redeem(
    requests: Requests.Requests,
    pending: Records.Pending,
    callback: string
  ): Effect.Effect<void, McpError.McpError> {
    const { server, vault } = this
    // A code can be redeemed once: what it gave is kept, whatever the store says.
    const over = (change: (record: Records.Record) => Records.Record) =>
      Effect.scoped(
        Effect.zipRight(
          Effect.ignore(Effect.zipRight(vault.lock, vault.reload)),
          Effect.suspend(() => {
            const record = vault.known
            return vault.save(
              change(record.pending?.state === pending.state ? { ...record, pending: undefined } : record)
            )
          })
        )
      )
    const same = (record: Records.Record) => record
    return this.said(Effect.suspend(() => {
      const code = Callback.read(callback, pending, this.exposed.spellings)
      if (Either.isLeft(code)) {
        const error = Effect.fail(
          Reasons.unauthorized(server, `what the browser has brought back is not used: ${code.left.detail}`)
        )
        return code.left.own ? Effect.zipRight(over(same), error) : error
      }
      this.exposed.add(code.right)
      if (!this.isWished(pending.authority.issuer)) {
        const detail = `it was begun with ${
          McpError.displayUrl(pending.authority.issuer)
        }, and the configuration names another authorization server now; begin again`
        return Effect.zipRight(over(same), Effect.fail(Reasons.unauthorized(server, detail)))
      }
      const kept = Effect.matchEffect(
        Tokens.ofCode(requests, { ...pending, client: this.withSecret(pending.client) }, code.right),
        {
          onSuccess: (tokens) => over((record) => ({ ...Records.withClient(record, pending.client), tokens })),
          onFailure: (error) =>
            error._tag === "Rejected"
              ? Effect.zipRight(
                over(() => this.without(error, pending.client, { pending: undefined })),
                Effect.fail(Reasons.unauthorized(server, error.detail))
              )
              : Effect.zipRight(over(same), Effect.fail(error))
        }
      )
      // Whoever leaves without the answer has to visit the page again.
      return endingWithin(kept, answerWithin)
    }))
  }

  /** An authorization server that has forgotten a client is asked for a new registration the next time. */
  private without(
    { code }: Rejected,
    client: Records.Client,
    change: Partial<Records.Record>
  ): Records.Record {
    const record = { ...this.vault.known, ...change }
    return code === "invalid_client" || code === "unauthorized_client" ? Records.withoutClient(record, client) : record
  }
}
