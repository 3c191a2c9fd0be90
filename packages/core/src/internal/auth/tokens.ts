/**
 * Tokens for each kind of grant.
 *
 * Owns: what goes to the token endpoint for each, and what its answers mean: a token is taken only as it was asked for.
 * May not touch: when it is asked.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import * as Assertion from "./assertion.js"
import type { Authority } from "./authority.js"
import * as Clients from "./clients.js"
import * as Dpop from "./dpop.js"
import { bearerToken, type Client, otherSecret, type Pending, type Tokens } from "./record.js"
import type { Requests } from "./requests.js"
import * as Scopes from "./scopes.js"
import {
  ask,
  type ClientProof,
  type Fields,
  type Params,
  proven,
  type Rejected,
  type Unusable
} from "./tokenRequest.js"

export type ClientCredentials = Extract<
  NonNullable<McpConfig.AnyHttpConfig["auth"]>,
  { readonly type: "clientCredentials" }
>

/** What tokens are to be. */
export interface Wanted {
  readonly authority: Authority
  readonly client: Client
  readonly resource: string | undefined
  readonly scopes: ReadonlyArray<string>
  readonly binding: Dpop.Binding
}

export const ofCode = (
  requests: Requests,
  pending: Pending,
  code: string
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  granted(requests, pending, {
    params: [
      ["grant_type", "authorization_code"],
      ["code", code],
      ["redirect_uri", pending.redirectUri],
      ["code_verifier", Redacted.value(pending.verifier)]
    ]
  })

/** Only where there is a refresh token. It is bound to the key that came with it, as is what it gives. */
export const refreshed = (
  requests: Requests,
  tokens: Tokens & { readonly refresh: Redacted.Redacted<string> },
  binding: Dpop.Binding
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  granted(requests, { ...tokens, binding }, {
    params: [["grant_type", "refresh_token"], ["refresh_token", Redacted.value(tokens.refresh)]],
    before: tokens
  })

export const ofClient = (
  requests: Requests,
  config: ClientCredentials,
  wanted: Wanted
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  Effect.map(
    granted(requests, wanted, {
      params: [["grant_type", "client_credentials"], ...scopeOf(wanted)],
      client: signedBy(requests.server, config, wanted)
    }),
    withoutRefresh
  )

/** For a JWT that somebody has issued whom the authorization server believes (RFC 7523). */
export const ofAssertion = (
  requests: Requests,
  assertion: string,
  wanted: Wanted
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  Effect.map(
    granted(requests, wanted, {
      params: [
        ["grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
        ["assertion", assertion],
        ...scopeOf(wanted)
      ]
    }),
    withoutRefresh
  )

/** What was shown once is shown again for the next one: a second secret that does the same is not kept. */
const withoutRefresh = (tokens: Tokens): Tokens => ({ ...tokens, refresh: undefined })

const scopeOf = ({ scopes }: Wanted): Params => scopes.length === 0 ? [] : [["scope", scopes.join(" ")]]

const signedBy = (
  server: string,
  { algorithm = "ES256", clientId, privateKey }: ClientCredentials,
  { authority, client }: Wanted
): Effect.Effect<ClientProof, McpError.McpError> => {
  if (privateKey === undefined) return Effect.sync(() => Clients.authenticated(client, authority))
  const signed = Assertion.sign({ server, clientId, audience: authority.issuer, privateKey, algorithm })
  return Effect.map(signed, (assertion) => ({
    headers: {},
    params: [
      ["client_id", clientId],
      ["client_assertion_type", Assertion.assertionType],
      ["client_assertion", assertion]
    ]
  }))
}

interface Grant {
  readonly params: Params
  /** How it is usual for this client, if it is not said. */
  readonly client?: Effect.Effect<ClientProof, McpError.McpError>
  /** What the new ones replace. */
  readonly before?: Tokens | undefined
}

const granted = (
  requests: Requests,
  wanted: Wanted,
  { before, client = Effect.sync(() => Clients.authenticated(wanted.client, wanted.authority)), params }: Grant
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  Effect.gen(function*() {
    const { authority, binding, resource } = wanted
    const key = binding === "none" ? undefined : before?.key ?? (yield* proven(requests.server, Dpop.generate))
    if (key !== undefined) requests.expose(Redacted.value(key.d))
    const secret = wanted.client.clientSecret
    return yield* ask(
      requests,
      {
        endpoint: authority.tokenEndpoint,
        params: resource === undefined ? params : [...params, ["resource", resource]],
        client,
        key,
        secrets: secret === undefined ? [] : [Redacted.value(secret)]
      },
      (body, now) => tokensOf(wanted, key, before?.refresh, body, now)
    )
  })

const shortestLife = 10_000
/** What is longer is for ever; this is a time still. */
const longestLife = 100 * 365 * 86_400_000
const longestSkew = 30_000

const tokensOf = (
  { authority, binding, client, resource, scopes }: Wanted,
  key: Dpop.Key | undefined,
  refresh: Redacted.Redacted<string> | undefined,
  body: Fields,
  now: number
): Tokens | Unusable | undefined => {
  const access = body.access_token
  const type = body.token_type ?? "bearer"
  if (typeof access !== "string" || !bearerToken.test(access) || typeof type !== "string") return undefined
  const isBound = key !== undefined && type.toLowerCase() === "dpop"
  if (!isBound && type.toLowerCase() !== "bearer") return undefined
  if (!isBound && binding === "required") {
    return { unusable: "a token that anybody could use (its type is Bearer), and one that is bound to a key is needed" }
  }
  const { expires_in: expiresIn } = body
  const seconds = typeof expiresIn === "number" || typeof expiresIn === "string" ? Number(expiresIn) : NaN
  const life = !(seconds > 0) || !Number.isFinite(seconds)
    ? undefined
    : Math.min(longestLife, Math.max(shortestLife, seconds * 1000))
  const next = body.refresh_token
  return {
    access: Redacted.make(access),
    refresh: typeof next === "string" && otherSecret.test(next) ? Redacted.make(next) : refresh,
    expiresAt: life === undefined ? undefined : now + life,
    skew: life === undefined ? 0 : Math.min(longestSkew, life / 10),
    scopes: Scopes.union(scopes, Scopes.ofText(typeof body.scope === "string" ? body.scope : undefined)),
    authority,
    client,
    resource,
    key: isBound ? key : undefined,
    proof: undefined
  }
}
