/**
 * What is kept of one server.
 *
 * Owns: the form of it as a text, with its version. What is not exactly that is as if nothing were kept.
 * May not touch: the store.
 */
import * as Redacted from "effect/Redacted"
import type { Authority } from "./authority.js"
import * as Dpop from "./dpop.js"
import { objectOf } from "./requests.js"
import type { Proof } from "./witness.js"

type Secret = Redacted.Redacted<string>

/** An access token that a header can carry. */
export const bearerToken = /^[\x21-\x7e]{1,65536}$/

/** A refresh token or a client's secret (RFC 6749, A.2 and A.17). With all of them, a record is still one that is read. */
export const otherSecret = /^[\x20-\x7e]{1,16384}$/

/** Who we are to one authorization server. No other one ever sees it. */
export interface Client {
  readonly issuer: string
  readonly kind: "given" | "document" | "registered"
  readonly clientId: string
  readonly clientSecret: Secret | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined
  /** How it shows who it is, as the registration has said. */
  readonly method: string | undefined
  /** The place to which the browser comes back that was registered. */
  readonly redirectUri: string | undefined
}

export interface Tokens {
  readonly access: Secret
  readonly refresh: Secret | undefined
  readonly expiresAt: number | undefined
  /** How long before that it is renewed, in milliseconds. */
  readonly skew: number
  /** What it was asked for, or given. */
  readonly scopes: ReadonlyArray<string>
  readonly authority: Authority
  readonly client: Client
  readonly resource: string | undefined
  /** The key without which the access token is of no use (RFC 9449). It has come with the tokens and goes with them. */
  readonly key: Dpop.Key | undefined
  /** What tells whether they were given for what an application shows now. */
  readonly proof: Proof | undefined
}

/** A person was sent to a page, and has not come back. */
export interface Pending {
  readonly url: string
  readonly state: string
  readonly verifier: Secret
  readonly redirectUri: string
  readonly scopes: ReadonlyArray<string>
  readonly authority: Authority
  readonly client: Client
  readonly resource: string | undefined
  readonly binding: Dpop.Binding
  readonly since: number
}

export interface Record {
  readonly clients: ReadonlyArray<Client>
  readonly tokens: Tokens | undefined
  readonly pending: Pending | undefined
}

export const empty: Record = { clients: [], tokens: undefined, pending: undefined }

const version = 1
const longest = 1024 * 1024
const mostClients = 8

/** Secrets in the clear: for the store alone. */
export const encode = (record: Record): Secret =>
  Redacted.make(JSON.stringify({ version, ...record, clients: record.clients.slice(-mostClients) }, inTheClear))

/** A `Redacted` has hidden itself before `value` is seen. What is configured stays where it is. */
function inTheClear(this: { readonly [key: string]: unknown }, key: string, value: unknown): unknown {
  const own = this[key]
  if (key === "clientSecret" && this.kind === "given") return undefined
  return Redacted.isRedacted(own) ? Redacted.value(own) : value
}

export const decode = (stored: Secret | undefined): Record => {
  if (stored === undefined) return empty
  const text = Redacted.value(stored)
  const value = text.length > longest ? undefined : objectOf(text)
  if (value === undefined || value.version !== version) return empty
  return {
    clients: Array.isArray(value.clients)
      ? value.clients.slice(-mostClients).map(clientOf).filter((_) => _ !== undefined)
      : [],
    tokens: tokensOf(value.tokens),
    pending: pendingOf(value.pending)
  }
}

/** The one of this issuer is replaced. */
export const withClient = (record: Record, client: Client): Record => ({
  ...record,
  clients: [...record.clients.filter((_) => _.issuer !== client.issuer), client]
})

/** A client that the application was given stays bound to its authorization server, whatever that one says. */
export const withoutClient = (record: Record, client: Client): Record =>
  client.kind === "given" ? record : {
    ...record,
    clients: record.clients.filter((_) => _.issuer !== client.issuer || _.clientId !== client.clientId)
  }

type Fields = { readonly [key: string]: unknown }

const fieldsOf = (u: unknown): Fields | undefined =>
  typeof u === "object" && u !== null && !Array.isArray(u) ? u as Fields : undefined

const isText = (u: unknown): u is string => typeof u === "string" && u !== ""
const textOf = (u: unknown): string | undefined => (isText(u) ? u : undefined)
const numberOf = (u: unknown): number | undefined => (typeof u === "number" && Number.isFinite(u) ? u : undefined)
const secretOf = (u: unknown): Secret | undefined => (isText(u) ? Redacted.make(u) : undefined)
const textsOf = (u: unknown): ReadonlyArray<string> | undefined =>
  Array.isArray(u) && u.every((_) => typeof _ === "string") ? u : undefined

const isUrl = (u: unknown): u is string => isText(u) && URL.canParse(u)
/** Also nothing, but not something else. */
const isUrlOrNothing = (u: unknown): boolean => u === undefined || u === null || isUrl(u)

const kinds: ReadonlySet<unknown> = new Set(["given", "document", "registered"])

const clientOf = (u: unknown): Client | undefined => {
  const _ = fieldsOf(u)
  if (_ === undefined || !isText(_.issuer) || !isText(_.clientId) || !kinds.has(_.kind)) return undefined
  return {
    issuer: _.issuer,
    kind: _.kind as Client["kind"],
    clientId: _.clientId,
    clientSecret: secretOf(_.clientSecret),
    expiresAt: numberOf(_.expiresAt),
    method: textOf(_.method),
    redirectUri: textOf(_.redirectUri)
  }
}

const authorityOf = (u: unknown): Authority | undefined => {
  const _ = fieldsOf(u)
  if (_ === undefined || !isText(_.issuer) || !isUrl(_.tokenEndpoint)) return undefined
  if (!isUrlOrNothing(_.authorizationEndpoint) || !isUrlOrNothing(_.registrationEndpoint)) return undefined
  return {
    issuer: _.issuer,
    authorizationEndpoint: textOf(_.authorizationEndpoint),
    tokenEndpoint: _.tokenEndpoint,
    registrationEndpoint: textOf(_.registrationEndpoint),
    methods: textsOf(_.methods),
    scopes: textsOf(_.scopes),
    documents: _.documents === true,
    sendsIssuer: _.sendsIssuer === true,
    pkce: typeof _.pkce === "boolean" ? _.pkce : undefined,
    proofs: textsOf(_.proofs)
  }
}

const tokensOf = (u: unknown): Tokens | undefined => {
  const _ = fieldsOf(u)
  const access = secretOf(_?.access)
  const authority = authorityOf(_?.authority)
  const client = clientOf(_?.client)
  if (_ === undefined || access === undefined || authority === undefined || client === undefined) return undefined
  if (!bearerToken.test(Redacted.value(access))) return undefined
  const key = Dpop.keyOf(_.key)
  if (_.key !== undefined && key === undefined) return undefined
  return {
    access,
    refresh: secretOf(_.refresh),
    expiresAt: numberOf(_.expiresAt),
    skew: numberOf(_.skew) ?? 0,
    scopes: textsOf(_.scopes) ?? [],
    authority,
    client,
    resource: textOf(_.resource),
    key,
    proof: proofOf(_.proof)
  }
}

const digest = /^[\w-]{22,64}$/

const proofOf = (u: unknown): Proof | undefined => {
  const { hash, salt } = fieldsOf(u) ?? {}
  return isText(hash) && isText(salt) && digest.test(hash) && digest.test(salt) ? { salt, hash } : undefined
}

const bindings: ReadonlyArray<Dpop.Binding> = ["none", "offered", "required"]

const pendingOf = (u: unknown): Pending | undefined => {
  const _ = fieldsOf(u)
  const verifier = secretOf(_?.verifier)
  const authority = authorityOf(_?.authority)
  const client = clientOf(_?.client)
  if (_ === undefined || verifier === undefined || authority === undefined || client === undefined) return undefined
  if (!isText(_.url) || !isText(_.state) || !isText(_.redirectUri)) return undefined
  return {
    url: _.url,
    state: _.state,
    verifier,
    redirectUri: _.redirectUri,
    scopes: textsOf(_.scopes) ?? [],
    authority,
    client,
    resource: textOf(_.resource),
    binding: bindings.find((known) => known === _.binding) ?? "none",
    since: numberOf(_.since) ?? 0
  }
}
