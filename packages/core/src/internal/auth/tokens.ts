/**
 * Requests to the token endpoint.
 *
 * Owns: what goes there for each grant, and what its answers mean.
 * May not touch: when it is asked. It is never asked twice from here, and never at another place than its own.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import { retryAfterMillis } from "../http/classify.js"
import { valuesOf } from "../http/hidden.js"
import * as Secrets from "../secrets.js"
import * as Assertion from "./assertion.js"
import type { Authority } from "./authority.js"
import * as Clients from "./clients.js"
import * as Reasons from "./reasons.js"
import { bearerToken, type Client, otherSecret, type Pending, type Tokens } from "./record.js"
import { objectOf, type Requests } from "./requests.js"
import * as Scopes from "./scopes.js"

/** The authorization server has said no. Asking the same again is of no use. */
export class Rejected {
  readonly _tag = "Rejected"
  constructor(
    /** In its words (RFC 6749, 5.2). */
    readonly code: string | undefined,
    readonly detail: string
  ) {}

  /** The grant or the client is of no use any more. Anything else may come from something in between. */
  get isFinal(): boolean {
    return this.code !== undefined && finalCodes.has(this.code)
  }
}

const finalCodes: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"])

export type ClientCredentials = Extract<
  NonNullable<McpConfig.AnyHttpConfig["auth"]>,
  { readonly type: "clientCredentials" }
>

interface Wanted {
  readonly authority: Authority
  readonly client: Client
  readonly resource: string | undefined
  readonly scopes: ReadonlyArray<string>
  /** Kept where the answer has no new one. */
  readonly refresh?: Redacted.Redacted<string> | undefined
}

type Params = ReadonlyArray<readonly [string, string]>

interface Proof {
  readonly headers: { readonly [name: string]: string }
  readonly params: Params
}

const what = "the token request"
const millis = 30_000

export const ofCode = (
  requests: Requests,
  pending: Pending,
  code: string
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  ask(
    requests,
    pending,
    [
      ["grant_type", "authorization_code"],
      ["code", code],
      ["redirect_uri", pending.redirectUri],
      ["code_verifier", Redacted.value(pending.verifier)]
    ],
    Clients.authenticated(pending.client, pending.authority)
  )

/** Only where there is a refresh token. */
export const refreshed = (
  requests: Requests,
  tokens: Tokens & { readonly refresh: Redacted.Redacted<string> }
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  ask(
    requests,
    tokens,
    [["grant_type", "refresh_token"], ["refresh_token", Redacted.value(tokens.refresh)]],
    Clients.authenticated(tokens.client, tokens.authority)
  )

export const ofClient = (
  requests: Requests,
  config: ClientCredentials,
  wanted: Wanted
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  Effect.flatMap(proofOf(requests.server, config, wanted), (proof) =>
    ask(
      requests,
      wanted,
      [
        ["grant_type", "client_credentials"],
        ...(wanted.scopes.length === 0 ? [] : [["scope", wanted.scopes.join(" ")] as const])
      ],
      proof
    ))

const proofOf = (
  server: string,
  { algorithm = "ES256", clientId, privateKey }: ClientCredentials,
  { authority, client }: Wanted
): Effect.Effect<Proof, McpError.McpError> => {
  if (privateKey === undefined) return Effect.succeed(Clients.authenticated(client, authority))
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

const secretParams: ReadonlySet<string> = new Set([
  "code",
  "code_verifier",
  "refresh_token",
  "client_secret",
  "client_assertion"
])

const ask = (
  requests: Requests,
  wanted: Wanted,
  grant: Params,
  proof: Proof
): Effect.Effect<Tokens, McpError.McpError | Rejected> =>
  Effect.gen(function*() {
    const params = new URLSearchParams()
    for (const [name, value] of [...grant, ...proof.params]) params.append(name, value)
    if (wanted.resource !== undefined) params.append("resource", wanted.resource)
    const url = new URL(wanted.authority.tokenEndpoint)
    const answer = yield* requests.send({
      method: "POST",
      url,
      headers: { "content-type": "application/x-www-form-urlencoded", ...proof.headers },
      body: params.toString(),
      what,
      millis
    })
    const now = yield* Clock.currentTimeMillis
    const { status } = answer
    if (Reasons.isTroubled(status)) {
      const retryAfter = retryAfterMillis(answer.header("retry-after"), now)
      return yield* Effect.fail(Reasons.troubled(requests.server, what, url, status, retryAfter))
    }
    const body = objectOf(answer.body)
    const tokens = status === 200 ? tokensOf(wanted, body, now) : undefined
    if (tokens !== undefined) return tokens
    const secrets = [...params].filter(([name]) => secretParams.has(name)).map(([, value]) => value)
    if (wanted.client.clientSecret !== undefined) secrets.push(Redacted.value(wanted.client.clientSecret))
    const sent = Secrets.spellingsOf([...secrets, ...valuesOf(proof.headers)])
    return yield* Effect.fail(rejected(url, status, body, [...requests.exposed(), ...sent]))
  })

const errorCode = /^[a-z_]{1,64}$/

const rejected = (
  url: URL,
  status: number,
  body: { readonly [key: string]: unknown } | undefined,
  secrets: ReadonlyArray<string>
): Rejected => {
  const where = McpError.displayUrl(url.href)
  if (status >= 300 && status < 400) {
    return new Rejected(undefined, `${where} answers with a redirect, which is not followed`)
  }
  const error = body?.error
  const code = typeof error === "string" && errorCode.test(error) ? error : undefined
  if (code === undefined && status === 200) return new Rejected(undefined, `${where} gives no token that can be used`)
  const shown = code ?? Reasons.shown(error, secrets) ?? "no reason given"
  const description = Reasons.shown(body?.error_description, secrets)
  return new Rejected(
    code ?? (status === 401 ? "invalid_client" : undefined),
    `${where} refuses to give a token (HTTP ${status}): ${shown}${description === undefined ? "" : `, ${description}`}`
  )
}

const shortestLife = 10_000
/** What is longer is for ever; this is a time still. */
const longestLife = 100 * 365 * 86_400_000
const longestSkew = 30_000

const tokensOf = (
  { authority, client, refresh, resource, scopes }: Wanted,
  body: { readonly [key: string]: unknown } | undefined,
  now: number
): Tokens | undefined => {
  const access = body?.access_token
  const type = body?.token_type
  if (body === undefined || typeof access !== "string" || !bearerToken.test(access)) return undefined
  if (type !== undefined && (typeof type !== "string" || type.toLowerCase() !== "bearer")) return undefined
  const seconds = Number(body.expires_in)
  const life = body.expires_in === undefined || !(seconds > 0) || !Number.isFinite(seconds)
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
    resource
  }
}
