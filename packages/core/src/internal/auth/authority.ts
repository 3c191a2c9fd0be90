/**
 * What an authorization server says about itself (RFC 8414, OpenID Connect Discovery).
 *
 * Owns: where that document is looked for, that it is its own, and that its endpoints can be used.
 * May not touch: clients, tokens.
 */
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import { withoutNulls } from "../protocol/json.js"
import * as Reasons from "./reasons.js"
import { objectOf, type Requests } from "./requests.js"
import * as Scopes from "./scopes.js"
import * as Urls from "./urls.js"

export interface Authority {
  /** As it is written there: it is compared as a text. */
  readonly issuer: string
  readonly authorizationEndpoint: string | undefined
  readonly tokenEndpoint: string
  readonly registrationEndpoint: string | undefined
  /** How clients may show who they are. */
  readonly methods: ReadonlyArray<string> | undefined
  readonly scopes: ReadonlyArray<string> | undefined
  /** A URL of a client's metadata will do as its id. */
  readonly documents: boolean
  /** It sends `iss` to the callback. */
  readonly sendsIssuer: boolean
  /** Whether a code is redeemed only by who asked for it; nothing where it does not say. */
  readonly pkce: boolean | undefined
  /** With which algorithms it takes proofs of a key (RFC 9449); nothing where it does not say. */
  readonly proofs: ReadonlyArray<string> | undefined
}

const what = "the metadata of the authorization server"
const millis = 10_000
const oauth = "/.well-known/oauth-authorization-server"
const openid = "/.well-known/openid-configuration"

/** Of the server that the resource has named. */
export const discover = (
  requests: Requests,
  server: URL,
  issuer: string
): Effect.Effect<Authority, McpError.McpError> =>
  Effect.gen(function*() {
    const { server: name } = requests
    const url = Urls.allowed(issuer, server)
    if (url === undefined) {
      return yield* Effect.fail(Reasons.unauthorized(name, insecure("authorization server", issuer)))
    }
    const path = Urls.pathOf(url)
    const places = [`${oauth}${path}`, `${openid}${path}`, ...(path === "" ? [] : [`${path}${openid}`])]
    const document = yield* firstOf(requests, places.map((_) => new URL(`${url.origin}${_}`)))
    if (document === undefined) {
      return yield* Effect.fail(
        Reasons.unauthorized(name, `its authorization server ${McpError.displayUrl(issuer)} publishes no metadata`)
      )
    }
    return yield* read(name, server, document, (_) => _ === issuer, issuer)
  })

/**
 * Of a server that names none, as revision 2025-03-26 of the protocol had it: its own origin is the authorization server,
 * whose endpoints have usual names. They are guessed only where the server is known to want tokens. That revision demands
 * PKCE of every server, and does not know how one would say so.
 */
export const discoverOwn = (
  requests: Requests,
  server: URL,
  mayGuess: boolean
): Effect.Effect<Authority | undefined, McpError.McpError> =>
  Effect.gen(function*() {
    const { origin } = server
    const document = yield* firstOf(requests, [new URL(`${origin}${oauth}`)])
    if (document !== undefined) {
      const own = yield* read(requests.server, server, document, (_) => _ === origin || _ === `${origin}/`, origin)
      return { ...own, pkce: own.pkce ?? true }
    }
    if (!mayGuess) return undefined
    if (Urls.allowed(origin, server) === undefined) {
      return yield* Effect.fail(Reasons.unauthorized(requests.server, insecure("authorization server", origin)))
    }
    return {
      issuer: origin,
      authorizationEndpoint: `${origin}/authorize`,
      tokenEndpoint: `${origin}/token`,
      registrationEndpoint: `${origin}/register`,
      methods: undefined,
      scopes: undefined,
      documents: false,
      sendsIssuer: false,
      pkce: true,
      proofs: undefined
    }
  })

const firstOf = (requests: Requests, places: ReadonlyArray<URL>) =>
  Effect.gen(function*() {
    for (const url of places) {
      const answer = yield* requests.follow({ method: "GET", url, what, millis })
      if (Reasons.isTroubled(answer.status)) {
        return yield* Effect.fail(Reasons.troubled(requests.server, what, url, answer.status, undefined))
      }
      const document = answer.status === 200 ? objectOf(answer.body) : undefined
      if (typeof document?.issuer === "string") return withoutNulls(document)
    }
    return undefined
  })

const read = (
  name: string,
  server: URL,
  document: { readonly [key: string]: unknown },
  isIssuer: (issuer: string) => boolean,
  expected: string
): Effect.Effect<Authority, McpError.McpError> => {
  const fail = (detail: string) => Effect.fail(Reasons.unauthorized(name, detail))
  const issuer = document.issuer as string
  if (!isIssuer(issuer)) {
    return fail(
      `the metadata of the authorization server ${McpError.displayUrl(expected)} is that of another one, ${
        McpError.displayUrl(issuer)
      }, so it is not used`
    )
  }
  const pkce = document.code_challenge_methods_supported
  if (document.token_endpoint === undefined) {
    return fail(`the authorization server ${McpError.displayUrl(issuer)} has no token endpoint`)
  }
  for (const field of ["authorization_endpoint", "token_endpoint", "registration_endpoint"] as const) {
    if (document[field] !== undefined && Urls.allowed(document[field], server) === undefined) {
      return fail(insecure(field, document[field]))
    }
  }
  return Effect.succeed({
    issuer,
    authorizationEndpoint: document.authorization_endpoint as string | undefined,
    tokenEndpoint: document.token_endpoint as string,
    registrationEndpoint: document.registration_endpoint as string | undefined,
    methods: textsOf(document.token_endpoint_auth_methods_supported),
    scopes: Scopes.ofList(document.scopes_supported),
    documents: document.client_id_metadata_document_supported === true,
    sendsIssuer: document.authorization_response_iss_parameter_supported === true,
    pkce: pkce === undefined ? undefined : Array.isArray(pkce) && pkce.includes("S256"),
    proofs: textsOf(document.dpop_signing_alg_values_supported)
  })
}

const textsOf = (list: unknown): ReadonlyArray<string> | undefined =>
  Array.isArray(list) ? list.filter((_) => typeof _ === "string" && _.length <= 64).slice(0, 16) : undefined

const insecure = (field: string, url: unknown): string =>
  `its ${field} ${
    McpError.displayUrl(typeof url === "string" ? url.slice(0, 1024) : "")
  } can't be used: it must be an https:// URL (of this machine or a private address only for a server at such a place)`
